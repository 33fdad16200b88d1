// A lost KV namespace: its indices follow from the documents in R2.
import assert from "node:assert/strict";
import { readFile, rm } from "node:fs/promises";
import { join } from "node:path";

import { newSecrets } from "../../../scripts/server.mjs";
import { answers, fill } from "../support/administered.mjs";
import { registryOf } from "../support/registry.mjs";
import { scratch } from "../support/scratch.mjs";
import { test } from "../support/testing.mjs";

test("a lost KV namespace is rebuilt by the cron, and by a reindex", async (t) => {
  const stateDir = scratch(t);
  const secrets = newSecrets();
  // One step of the cron then repairs all facts; the next one is due minutes later.
  const vars = { TERRACE_REPAIR_OPERATIONS: "800" };
  const starts = () => registryOf(t, { stateDir, secrets, vars });
  let registry = await starts();
  const losesIndices = async () => {
    await registry.stop();
    await rm(join(stateDir, "state", "v3", "kv"), { recursive: true });
    return starts();
  };
  await fill(registry);
  const wanted = await answers(registry);
  // The index of revocations does not exist yet: the first read creates it. The merged catalogue waits for its
  // turn.
  const whole = await registry.report(["admin", "reindex"]);
  assert.deepEqual(whole.rewritten.filter((name) => !["revocations", "merged-catalog/1"].includes(name)), []);

  registry = await losesIndices();
  const { rewritten } = await registry.report(["admin", "reindex"]);
  t.diagnostic(`${rewritten.length} indices rebuilt`);
  assert.ok(rewritten.length > 10);
  assert.deepEqual(await answers(registry), wanted);
  assert.deepEqual((await registry.report(["admin", "reindex"])).rewritten, []);

  registry = await losesIndices();
  const isDone = async () => /repair: .*; complete/.test(await readFile(registry.logFile, "utf8"));
  for (let step = 1; !(await isDone()); step += 1) {
    assert.ok(step < 20, "the cron does not finish");
    const response = await registry.request("/cdn-cgi/handler/scheduled");
    assert.equal(response.status, 200, await response.text());
  }
  assert.deepEqual((await registry.report(["admin", "reindex"])).rewritten, []);
  assert.deepEqual(await answers(registry), wanted);
  assert.match(await readFile(registry.logFile, "utf8"), /repair: \d+ checked, \d+ rewritten/);
});
