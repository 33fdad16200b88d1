// `terrace serve` in several processes over one object store: nothing is lost, and each sees the changes of the others.
import assert from "node:assert/strict";
import { join } from "node:path";

import { startNativeServer } from "../../../scripts/native-server.mjs";
import { sha256 } from "./archives.mjs";
import { counts } from "./counts.mjs";
import { Registry } from "./registry.mjs";
import { module, saying } from "./releases.mjs";
import { scratch } from "./scratch.mjs";
import { before, cleanupOf, test } from "./testing.mjs";

const PROCESSES = 4;

/** The publishers of each process. All of them append to one audit log, so the work grows with the square of their number. */
const PUBLISHERS = Number(process.env.TERRACE_PUBLISHERS ?? 4);
const BUCKET = "registry";

/** In seconds: the time between two looks for the changes of others, and the maximum time until a change is seen. */
const POLL = 1;
const SEEN = 20;

/**
 * Defines the tests of the suite that is being defined. `start` starts a store with an empty bucket, as `startGateway` of
 * `stores.mjs` does; `scheme` is that of its URL. `presigns` states whether archives have URLs of the store.
 */
export function defineSharedStore(start, { scheme = "s3", presigns = true } = {}) {
  const registries = [];
  const cleanup = cleanupOf();
  const directory = scratch();
  let store;

  before(async () => {
    store = await start(cleanup, { buckets: [BUCKET], log: join(directory, "store.log") });
    const options = { store: `${scheme}://${BUCKET}/team`, storeEnv: store.env, args: ["--poll", String(POLL), "--threads", "2"] };
    const first = await startNativeServer(cleanup, options);
    const others = Array.from({ length: PROCESSES - 1 }, () => startNativeServer(cleanup, { ...options, secrets: first.secrets }));
    for (const server of [first, ...(await Promise.all(others))]) registries.push(Object.assign(new Registry(), server));
  });

  test("a version that one process publishes is listed by the others, and gone everywhere when one revokes it", async () => {
    const [a, b] = registries;
    for (const registry of registries) assert.deepEqual(await versions(registry, "acme/vpc/aws"), []);
    await a.publishes(release("acme/vpc/aws", "1.0.0"));
    await seen(() => versions(b, "acme/vpc/aws"), ["1.0.0"]);
    const download = await b.request("/v1/modules/acme/vpc/aws/1.0.0/download");
    assert.equal(download.status, 200);
    await b.publishes(release("acme/vpc/aws", "1.1.0"));
    for (const registry of registries) await seen(() => versions(registry, "acme/vpc/aws"), ["1.0.0", "1.1.0"]);
    const body = JSON.stringify({ state: "revoked", reason: "it deletes the wrong network" });
    const { status } = await a.admin("PUT", "/admin/v1/modules/acme/vpc/aws/1.0.0/status", body);
    assert.equal(status, 200);
    for (const registry of registries) {
      await seen(() => versions(registry, "acme/vpc/aws"), ["1.1.0"]);
      await seen(async () => (await registry.request("/v1/modules/acme/vpc/aws/1.0.0/download")).status, 410);
    }
    for (const registry of registries) await seen(() => found(registry, "vpc"), ["acme/vpc/aws"]);
  });

  const testIfSigned = presigns ? test : () => {};

  testIfSigned("archives are downloaded from the store, by URLs that it checks", async () => {
    const [a, b] = registries;
    const published = release("acme/url/aws", "1.0.0");
    await a.publishes(published);
    const response = await b.request("/v1/modules/acme/url/aws/1.0.0/download");
    const url = new URL(response.headers.get("x-terraform-get"), b.url);
    assert.equal(url.origin, store.endpoint);
    assert.match(url.pathname, new RegExp(`^/${BUCKET}/team/archives/`));
    const bytes = Buffer.from(await (await fetch(url)).arrayBuffer());
    assert.ok(published.archives.has(sha256(bytes)));
  });

  test(`${PROCESSES * PUBLISHERS} versions that ${PROCESSES} processes publish at once are all listed once`, async () => {
    const numbers = Array.from({ length: PROCESSES * PUBLISHERS }, (_, number) => number);
    const releases = numbers.map((number) => release("acme/crowd/aws", `1.${number}.0`));
    const published = numbers.map((number) => registries[number % PROCESSES].publish(releases[number]));
    const statuses = (await Promise.all(published)).map(({ status }) => status);
    assert.deepEqual(counts(statuses), { 201: numbers.length });
    const all = numbers.map((number) => `1.${number}.0`);
    for (const registry of registries) await seen(() => versions(registry, "acme/crowd/aws"), all);
  });

  test("one of many publishers of different bytes as one version wins, whichever process they use", async () => {
    const releases = Array.from({ length: PROCESSES * PUBLISHERS }, (_, number) => release("acme/race/aws", "1.0.0", number));
    const published = releases.map((release, number) => registries[number % PROCESSES].publish(release));
    const statuses = (await Promise.all(published)).map(({ status }) => status);
    assert.deepEqual(counts(statuses), { 201: 1, 409: releases.length - 1 });
    const winner = releases[statuses.indexOf(201)];
    for (const registry of registries) {
      await seen(() => versions(registry, "acme/race/aws"), ["1.0.0"]);
      const response = await registry.request("/v1/modules/acme/race/aws/1.0.0/download");
      const bytes = Buffer.from(await (await fetch(new URL(response.headers.get("x-terraform-get"), registry.url))).arrayBuffer());
      assert.ok(winner.archives.has(sha256(bytes)));
    }
  });

  test("a process that starts later serves the same registry, and streams archives if that is its setting", async () => {
    const [{ secrets }] = registries;
    const late = await startNativeServer(cleanup, { store: `${scheme}://${BUCKET}/team`, storeEnv: store.env, args: ["--stream-archives", "--poll", "0"], secrets });
    const registry = Object.assign(new Registry(), late);
    assert.deepEqual(await versions(registry, "acme/vpc/aws"), ["1.1.0"]);
    assert.deepEqual(await found(registry, "vpc"), ["acme/vpc/aws"]);
    const response = await registry.request("/v1/modules/acme/vpc/aws/1.1.0/download");
    const url = new URL(response.headers.get("x-terraform-get"), registry.url);
    assert.equal(url.origin, registry.url);
    assert.equal((await fetch(url)).status, 200);
    await registry.publishes(release("acme/late/aws", "1.0.0"));
  });
}

/** Returns a module's release. `variant` makes other bytes. */
const release = (address, version, variant = "") => module({ address, version, files: saying(`${address} ${version} ${variant}`), format: "tar.gz" });

async function versions(registry, address) {
  const response = await registry.request(`/v1/modules/${address}/versions`);
  if (response.status === 404) return [];
  assert.equal(response.status, 200);
  const { modules } = await response.json();
  return modules[0].versions.map(({ version }) => version);
}

async function found(registry, text) {
  const response = await registry.request(`/v1/modules/search?q=${text}`);
  if (response.status !== 200) return response.status;
  const { modules } = await response.json();
  return modules.map(({ namespace, name, provider }) => `${namespace}/${name}/${provider}`);
}

/** Waits until a value is the expected one. */
async function seen(look, expected) {
  for (const until = Date.now() + SEEN * 1_000; ; ) {
    const value = await look();
    try {
      return assert.deepEqual(value, expected);
    } catch (error) {
      if (Date.now() > until) throw error;
    }
    await new Promise((done) => setTimeout(done, 200));
  }
}
