// The Worker's entry over a machine of the test: how it reads from KV, and what it passes on.
import assert from "node:assert/strict";

import { temporaryDirectory } from "../../scripts/lib/cleanup.mjs";
import { importEntry } from "../clients/support/entry.mjs";
import { cleanupOf, test } from "../clients/support/testing.mjs";

/** The entry whose machine answers `begin` with the read, and notes the calls that finish it. */
async function entryOver(t, read) {
  const source = `
    export const finished = [];
    const answer = (...call) => (finished.push(call), 'a{"status":200,"headers":{"etag":"e"},"body":"text"}\\n\\n\\ndone');
    export const Machine = {
      start: () => false,
      begin: () => ${JSON.stringify(`r${JSON.stringify(read)}`)},
      finish: (...call) => answer("finish", ...call),
      finish_several: (...call) => answer("finish_several", ...call),
      resume: () => assert.fail("nothing has to be resumed"),
    };
    export default class Worker {}`;
  const { worker: entry, wasm } = await importEntry(temporaryDirectory(cleanupOf(t)), source);
  return { entry, finished: wasm.finished };
}

/** A namespace that notes each read and answers it by `found`. */
function namespace(found) {
  const reads = [];
  return { reads, getWithMetadata: async (...read) => (reads.push(read), found) };
}

const options = { type: "text", cacheTtl: 30 };
const get = (entry, INDICES) => entry.fetch(new Request("https://registry.test/any"), { INDICES }, {});

test("one key is read by one operation, and its bytes and metadata are passed on", async (t) => {
  const { entry, finished } = await entryOver(t, { ticket: 7, key: "one", options, takes_range: false });
  const value = new TextEncoder().encode("text").buffer;
  const indices = namespace({ value, metadata: { etag: "e" } });
  const response = await get(entry, indices);
  assert.equal(await response.text(), "done");
  assert.deepEqual(indices.reads, [["one", options]]);
  const [name, ticket, metadata, bytes] = finished[0];
  assert.deepEqual([name, ticket, metadata, [...bytes]], ["finish", 7, '{"etag":"e"}', [...new Uint8Array(value)]]);
});

test("several keys are read by one operation, and passed on in their order with nulls for an absent one", async (t) => {
  const key = ["one", "two", "three"];
  const { entry, finished } = await entryOver(t, { ticket: 7, key, options, takes_range: false });
  const [three, one] = [{ value: "3", metadata: { etag: "3" } }, { value: "1", metadata: null }];
  const indices = namespace(new Map([["three", three], ["one", one]]));
  const response = await get(entry, indices);
  assert.equal(await response.text(), "done");
  assert.deepEqual(indices.reads, [[key, options]]);
  const [name, ticket, found] = finished[0];
  assert.deepEqual([name, ticket, JSON.parse(found)], ["finish_several", 7, [["1", null], [null, null], ["3", { etag: "3" }]]]);
});
