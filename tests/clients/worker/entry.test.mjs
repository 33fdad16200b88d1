// The Worker's entry with a scripted machine and Worker: how it reads from KV, what it passes on, and what it does under faults.
import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

import { root } from "../../../scripts/lib/paths.mjs";
import { scratch } from "../support/scratch.mjs";
import { test } from "../support/testing.mjs";

/** Imitates the module that worker-build creates: an exception from its class means that the instance is broken. */
const WASM = `
export const told = { broken: [], asked: [] };
export const machine = {};
const call = (name) => (...args) => machine[name](...args);
export const Machine = { start: call("start"), begin: call("begin"), finish: call("finish"), finish_several: call("finish_several"), resume: call("resume") };
const failed = (error) => {
  told.broken.push(error.message);
  throw error;
};
export default class Worker {
  constructor(context, env) {
    Object.assign(this, { env, ctx: context });
    const get = (target, name) => {
      const value = target[name];
      if (typeof value !== "function") return value;
      if (value.constructor !== Function) return async (...args) => value.apply(target, args).catch(failed);
      return (...args) => {
        try {
          return value.apply(target, args);
        } catch (error) {
          return failed(error);
        }
      };
    };
    return new Proxy(this, { get });
  }
}
Worker.prototype.fetch = async function (request) {
  told.asked.push({ method: request.method, variable: this.env.VARIABLE });
  return new Response("the whole registry");
};
`;

/** Imports the entry and the module with this source from a directory, in Node, which has no modules of the platform. */
async function importEntry(directory, source) {
  const entry = await readFile(join(root, "src", "platform", "entry.js"), "utf8");
  const files = {
    "index.mjs": entry.replace('"cloudflare:workers"', '"./workers.js"'),
    "workers.js": "export class WorkerEntrypoint {}",
    "wasm.js": source,
    "package.json": '{"type":"module"}',
  };
  for (const [name, text] of Object.entries(files)) await writeFile(join(directory, name), text);
  const load = (name) => import(pathToFileURL(join(directory, name)).href);
  const [{ default: worker }, wasm] = [await load("index.mjs"), await load("wasm.js")];
  return { worker, wasm };
}

const READ = `r${JSON.stringify({ ticket: 7, key: "key", options: { type: "stream", cacheTtl: 30 }, takes_range: false })}`;
const CONTINUE = "c7";
const FETCH = "f";
const answer = (text, headers = { "x-by": "entry" }) => `a${JSON.stringify({ status: 200, headers, body: "text" })}\n\n{}\n${text}`;

/** A KV binding with numbered reads; a missing value has no metadata. */
function bindings(found = (n) => ({ value: "text", metadata: { n } })) {
  let n = 0;
  const INDICES = { getWithMetadata: async () => found((n += 1)) };
  return { INDICES, VARIABLE: "a variable", reads: () => n };
}

const CONTEXT = {};

async function entry(t, machine) {
  const { worker, wasm } = await importEntry(scratch(t, { quick: true }), WASM);
  Object.assign(wasm.machine, { start: () => false, resume: async () => new Response("resumed") }, machine);
  const ask = async (env, method = "GET") => {
    const response = await worker.fetch(new Request("https://registry.test/", { method }), env, CONTEXT);
    return response.text();
  };
  return { ask, told: wasm.told };
}

const panics = () => {
  throw new Error("unreachable");
};

const ASKED = { method: "GET", variable: "a variable" };

for (const [what, machine, { found, broken, method }] of [
  ["a request that breaks the machine", { begin: panics }, { broken: ["unreachable"] }],
  ["a request that breaks the machine after a read", { begin: () => READ, finish: panics }, { broken: ["unreachable"] }],
  ["a read whose slot was reused", { begin: () => READ, finish: () => FETCH }, { broken: [] }],
  ["a read of KV that fails", { begin: () => READ }, { found: () => Promise.reject(new Error("KV GET failed: 500")) }],
  ["a request that cannot be driven", { begin: () => FETCH }, { broken: [] }],
  ["an invalid answer", { begin: () => answer("", { etag: "a\nb" }).replace("\n\n{}", "\na line\n") }, {}],
  ...["PUT", "POST", "DELETE", "OPTIONS"].map((method) => [`a request by ${method}, which reaches no machine,`, { begin: panics }, { method, broken: [] }]),
]) {
  test(`${what} is answered by the whole registry, once`, async (t) => {
    const { ask, told } = await entry(t, machine);
    const log = t.mock.method(console, "log");
    assert.equal(await ask(bindings(found), method), "the whole registry");
    assert.deepEqual(told.asked, [{ ...ASKED, ...(method && { method }) }]);
    if (broken) assert.deepEqual(told.broken, broken);
    assert.equal(log.mock.callCount(), 0);
  });
}

for (const [what, machine, { reads, value }] of [
  ["a request that needs another step", { begin: () => CONTINUE }, { reads: 0, value: null }],
  ["a read that needs another step", { begin: () => READ, finish: () => CONTINUE }, { reads: 1, value: "text" }],
]) {
  test(`${what} is resumed with its ticket and the value of KV, which is not read again`, async (t) => {
    const resumed = [];
    const { ask, told } = await entry(t, { ...machine, resume: async (...args) => resumed.push(args) && new Response("resumed") });
    const env = bindings();
    assert.equal(await ask(env, "HEAD"), "resumed");
    assert.equal(resumed[0][0].method, "HEAD");
    assert.deepEqual(resumed[0].slice(1), [env, CONTEXT, 7, value]);
    assert.equal(env.reads(), reads);
    assert.deepEqual(told, { broken: [], asked: [] });
  });
}

test("an instance that breaks while a request is resumed is replaced, and the request is not repeated", async (t) => {
  const { ask, told } = await entry(t, { begin: () => CONTINUE, resume: panics });
  await assert.rejects(ask(bindings()), { message: "unreachable" });
  assert.deepEqual(told, { broken: ["unreachable"], asked: [] });
});

for (const metadata of [null, { n: 1 }]) {
  test(`a value that KV does not have is not requested again, and ${metadata ? "its metadata are ignored" : "has no metadata"}`, async (t) => {
    const tickets = [];
    const { ask } = await entry(t, { begin: () => READ, finish: (...args) => tickets.push(args.slice(0, 3)) && CONTINUE });
    const env = bindings(() => ({ value: null, metadata }));
    assert.equal(await ask(env), "resumed");
    assert.deepEqual(tickets, [[7, "null", undefined]]);
    assert.equal(env.reads(), 1);
  });
}

test("the first request of an instance starts its reads, and no later request starts them again", async (t) => {
  const env = bindings();
  const calls = [];
  const { ask } = await entry(t, {
    start: (given) => calls.push("start") && given === env && calls.length === 2,
    begin: () => (calls.push("begin") < 3 ? FETCH : answer("of the machine")),
  });
  assert.equal(await ask(env), "of the machine");
  assert.deepEqual(calls, ["begin", "start", "begin"]);
  assert.equal(await ask(env), "of the machine");
  assert.deepEqual(calls.slice(3), ["begin"]);
});

test("a download is answered even if it cannot be counted", async (t) => {
  const { ask } = await entry(t, { begin: () => answer("an\nanswer") });
  const DOWNLOADS = { writeDataPoint: panics };
  assert.equal(await ask({ ...bindings(), DOWNLOADS }), "an\nanswer");
});

const OPTIONS = { type: "text", cacheTtl: 30 };

/** The entry whose machine reads from KV. It notes the operations of KV, which find `found`, and the calls that finish them. */
async function reading(t, key, found) {
  const [reads, finished] = [[], []];
  const finish = (name) => (...call) => finished.push([name, ...call]) && answer("done");
  const begin = () => `r${JSON.stringify({ ticket: 7, key, options: OPTIONS, takes_range: false })}`;
  const { ask } = await entry(t, { begin, finish: finish("finish"), finish_several: finish("finish_several") });
  assert.equal(await ask({ INDICES: { getWithMetadata: async (...read) => reads.push(read) && found } }), "done");
  assert.deepEqual(reads, [[key, OPTIONS]]);
  return finished[0];
}

test("one key is read by one operation, and its bytes and metadata are passed on", async (t) => {
  const value = new TextEncoder().encode("text").buffer;
  const [name, ticket, metadata, bytes] = await reading(t, "one", { value, metadata: { etag: "e" } });
  assert.deepEqual([name, ticket, metadata, [...bytes]], ["finish", 7, '{"etag":"e"}', [...new Uint8Array(value)]]);
});

test("several keys are read by one operation, and passed on in their order with nulls for an absent one", async (t) => {
  const [three, one] = [{ value: "3", metadata: { etag: "3" } }, { value: "1", metadata: null }];
  const [name, ticket, found] = await reading(t, ["one", "two", "three"], new Map([["three", three], ["one", one]]));
  assert.deepEqual([name, ticket, JSON.parse(found)], ["finish_several", 7, [["1", null], [null, null], ["3", { etag: "3" }]]]);
});
