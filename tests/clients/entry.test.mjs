// The Worker's entry where something goes wrong, beside a machine and a Worker that do as they are told.
import assert from "node:assert/strict";
import { copyFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

import { root } from "../../scripts/lib/paths.mjs";
import { scratch } from "./support/scratch.mjs";
import { test } from "./support/testing.mjs";

/** Like the module that worker-build makes: what its class throws tells that the instance is broken. */
const WASM = `
export const told = { broken: [], asked: [] };
export const machine = {};
const call = (name) => (...args) => machine[name](...args);
export const Machine = { start: call("start"), begin: call("begin"), finish: call("finish") };
export default class Worker {
  constructor(context, env) {
    this.env = env;
    return new Proxy(this, {
      get: (target, name) => (...args) => {
        try {
          return target[name](...args);
        } catch (error) {
          told.broken.push(error.message);
          throw error;
        }
      },
    });
  }
  async fetch(request) {
    const options = { type: "arrayBuffer", cacheTtl: 30 };
    const keys = ["key", "key", "other"];
    const read = [];
    for (const key of request.method === "GET" ? keys : []) {
      read.push(await this.env.INDICES.getWithMetadata(key, options).then(({ metadata }) => metadata?.n ?? null, () => "failed"));
    }
    told.asked.push({ method: request.method, read, variable: this.env.VARIABLE });
    return new Response("the whole registry");
  }
}
`;

const TO_READ = JSON.stringify({ ticket: 7, key: "key", options: { type: "stream", cacheTtl: 30 }, takes_range: false });
const answer = (text) => `${JSON.stringify({ status: 200, headers: { "x-by": "entry" }, body: "text" })}\n\n{}\n${text}`;

/** Reads of KV that are numbered; what is not there has no metadata. */
function bindings(found = (n) => ({ value: "text", metadata: { n } })) {
  let n = 0;
  const INDICES = { getWithMetadata: async () => found((n += 1)) };
  return { INDICES, VARIABLE: "a variable", reads: () => n };
}

async function entry(t, machine) {
  const directory = scratch(t, { quick: true });
  await copyFile(join(root, "src", "platform", "entry.js"), join(directory, "index.mjs"));
  await writeFile(join(directory, "wasm.js"), WASM);
  await writeFile(join(directory, "package.json"), '{"type":"module"}');
  const load = (name) => import(pathToFileURL(join(directory, name)).href);
  const [{ default: worker }, wasm] = [await load("index.mjs"), await load("wasm.js")];
  Object.assign(wasm.machine, { start: () => false }, machine);
  const ask = async (env, method = "GET") => {
    const response = await worker.fetch(new Request("https://registry.test/", { method }), env, {});
    return response.text();
  };
  return { ask, told: wasm.told };
}

const panics = () => {
  throw new Error("unreachable");
};

test("a request that breaks the machine is answered by the registry, which is told to replace it", async (t) => {
  const { ask, told } = await entry(t, { begin: panics });
  assert.equal(await ask(bindings()), "the whole registry");
  assert.deepEqual(told.broken, ["unreachable"]);
});

test("what was read before the machine broke is not read again", async (t) => {
  const { ask, told } = await entry(t, { begin: () => TO_READ, finish: panics });
  const env = bindings();
  assert.equal(await ask(env), "the whole registry");
  assert.deepEqual(told.broken, ["unreachable"]);
  assert.deepEqual(told.asked, [{ method: "GET", read: [1, 2, 3], variable: "a variable" }]);
  assert.equal(env.reads(), 3);
});

test("what KV does not have is not asked for again, and the machine lets go what has waited for it", async (t) => {
  const tickets = [];
  const finish = (ticket, metadata, value) => tickets.push([ticket, metadata, value]) && "";
  const { ask, told } = await entry(t, { begin: () => TO_READ, finish });
  const env = bindings(() => ({ value: null, metadata: null }));
  assert.equal(await ask(env), "the whole registry");
  assert.deepEqual(told, { broken: [], asked: [{ method: "GET", read: [null, null, null], variable: "a variable" }] });
  assert.deepEqual(tickets, [[7, "null", undefined]]);
  assert.equal(env.reads(), 3);
});

test("metadata without a value is nothing", async (t) => {
  const told = [];
  const { ask } = await entry(t, { begin: () => TO_READ, finish: (_, metadata) => told.push(metadata) && "" });
  assert.equal(await ask(bindings((n) => ({ value: null, metadata: { n } }))), "the whole registry");
  assert.deepEqual(told, ["null"]);
});

test("where KV fails the registry asks it once more", async (t) => {
  const { ask, told } = await entry(t, { begin: () => TO_READ });
  const env = bindings((n) => (n === 1 ? Promise.reject(new Error("KV GET failed: 500")) : { value: "", metadata: { n } }));
  assert.equal(await ask(env), "the whole registry");
  assert.deepEqual(told.asked[0].read, [2, 3, 4]);
});

test("the first request of an instance lets it drive reads, and no other asks twice", async (t) => {
  const env = bindings();
  const calls = [];
  const { ask, told } = await entry(t, {
    start: (given) => calls.push("start") && given === env && calls.length === 2,
    begin: () => (calls.push("begin") < 3 ? "" : answer("of the machine")),
  });
  assert.equal(await ask(env), "of the machine");
  assert.deepEqual(calls, ["begin", "start", "begin"]);
  assert.equal(await ask(env), "of the machine");
  assert.deepEqual(calls.slice(3), ["begin"]);
  assert.deepEqual(told, { broken: [], asked: [] });
});

test("what cannot be driven is for the registry", async (t) => {
  let begun = 0;
  const { ask } = await entry(t, { begin: () => ((begun += 1), "") });
  assert.equal(await ask(bindings()), "the whole registry");
  assert.equal(begun, 1);
});

test("what changes something does not get to the machine", async (t) => {
  const { ask, told } = await entry(t, { begin: panics });
  for (const method of ["PUT", "POST", "DELETE", "OPTIONS"]) assert.equal(await ask(bindings(), method), "the whole registry");
  assert.deepEqual(told.broken, []);
});

test("an answer that cannot be sent is the registry's to give, and is not written down", async (t) => {
  const { ask } = await entry(t, { begin: () => `${JSON.stringify({ status: 200, headers: { etag: "a\nb" }, body: "text" })}\na line\n\n` });
  const log = t.mock.method(console, "log");
  assert.equal(await ask(bindings()), "the whole registry");
  assert.equal(log.mock.callCount(), 0);
});

test("a download is answered even when it cannot be counted", async (t) => {
  const { ask } = await entry(t, { begin: () => answer("an\nanswer") });
  const DOWNLOADS = { writeDataPoint: panics };
  assert.equal(await ask({ ...bindings(), DOWNLOADS }), "an\nanswer");
});
