// Modules of a repository with many of them: published by one `terrace publish modules`, installed by the real clients.
import assert from "node:assert/strict";
import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";

import { HOST, usingModule, withEachClient } from "../support/client.mjs";
import { run, unlessOnPath } from "../support/programs.mjs";
import { useRegistry } from "../support/registry.mjs";
import { scratch } from "../support/scratch.mjs";
import { before, describe, test } from "../support/testing.mjs";

/** Two modules that call a third one beside them. */
const FILES = {
  "modules/vpc/main.tf": 'module "common" {\n  source = "../common"\n}\n\noutput "says" {\n  value = "vpc ${module.common.says}"\n}\n',
  "modules/dns/main.tf": 'output "says" {\n  value = "dns"\n}\n',
  "modules/common/main.tf": 'output "says" {\n  value = "common"\n}\n',
};

describe("a repository with many modules", { skip: unlessOnPath("git") }, () => {
  const registry = useRegistry({ mode: "presigned" });
  const directory = scratch();

  async function git(...args) {
    const identity = ["-c", "user.name=Test", "-c", "user.email=test@example.com", "-c", "commit.gpgsign=false"];
    const { code, output } = await run("git", ["-C", directory, ...identity, ...args]);
    assert.equal(code, 0, output);
  }

  async function terrace(...args) {
    const env = { ...process.env, TERRACE_URL: registry.url, TERRACE_TOKEN: registry.secrets.adminToken };
    const { code, stdout, output } = await run("terrace", ["--json", ...args], { env });
    return { code, answer: stdout.length > 0 ? JSON.parse(stdout) : null, output };
  }

  const publish = ["publish", "modules", directory, "--address", "acme/{name}/aws"];

  before(async () => {
    for (const [name, text] of Object.entries(FILES)) {
      const path = join(directory, name);
      await mkdir(dirname(path), { recursive: true });
      await writeFile(path, text);
    }
    await git("init", "--quiet");
    await git("add", "--all");
    await git("commit", "--quiet", "--message", "modules");
    await git("tag", "v1.0.0");
    // The first reader of an empty registry builds its catalogue, and others at that moment wait half a minute.
    await registry.json("/api/v1/namespaces");
    const { code, output } = await terrace(...publish);
    assert.equal(code, 0, output);
  });

  test("another run changes nothing", async () => {
    const { code, answer, output } = await terrace(...publish);
    assert.equal(code, 0, output);
    assert.deepEqual(answer.versions.map((it) => it.status), ["unchanged", "unchanged", "unchanged"]);
  });

  withEachClient((client) => {
    for (const [name, says] of [["vpc", "vpc common"], ["dns", "dns"]]) {
      test(`module ${name} is installed with the modules that it calls`, async (t) => {
        const work = await client.workspace(t, registry, { "main.tf": usingModule(`${HOST}/acme/${name}/aws`, "1.0.0") });
        await work.runs("init");
        assert.equal((await work.outputs()).says, says);
      });
    }
  });
});
