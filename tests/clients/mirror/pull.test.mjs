// Pull-through in workerd, with the real clients: packages of another registry are fetched on demand.
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

import { until } from "../../../scripts/lib/wait.mjs";
import { sha256, zip } from "../support/archives.mjs";
import { networkMirror, onlyLinux, usingProvider, withEachClient } from "../support/client.mjs";
import { openFront } from "../support/front.mjs";
import { inBothModes, isNative, useRegistry } from "../support/registry.mjs";
import { HERE, packaged, provider, signedProvider } from "../support/releases.mjs";
import { scratch } from "../support/scratch.mjs";
import { after, before, describe, test } from "../support/testing.mjs";

/** The origin's hostname in source addresses, and in the names of its providers here. */
const ORIGIN = "origin.example.com";

/** The maximum time that a client waits for a pull, in milliseconds. */
const PATIENCE_MS = 9_500;

/** The size of a zip that 32 clients download at once: a debug build of `terrace serve` takes long for a larger one. */
const CROWDED_BYTES = isNative ? 2_000_000 : 20_000_000;

/** Starts an origin behind a front that can alter its answers, and a registry that pulls from it. */
function usePull(mode = "presigned", vars = {}) {
  const directory = scratch();
  const found = { directory, front: null, key: null };
  found.origin = useRegistry({ mode: "worker" });
  before(async () => {
    found.front = await openFront(found.origin.url, join(directory, "front"));
    found.key = await found.origin.trusts("acme");
  });
  after(() => found.front?.stop());
  found.registry = useRegistry(() => ({
    mode,
    https: true,
    trusts: found.front.ca,
    vars: { TERRACE_PULL_THROUGH: `${ORIGIN}/acme/*`, TERRACE_PULL_ORIGINS: `${ORIGIN}=${found.front.url}`, ...vars },
  }));
  return found;
}

const list = (type) => `/mirror/${ORIGIN}/acme/${type}/index.json`;
const packages = (type, version) => `/mirror/${ORIGIN}/acme/${type}/${version}.json`;

async function bytesOf(url) {
  const response = await fetch(url);
  return { status: response.status, digest: sha256(Buffer.from(await response.arrayBuffer())) };
}

/** Waits until a package is served from this registry's own storage. */
async function isStored(registry, type, version) {
  const url = await until(async () => {
    const { archives } = await registry.json(packages(type, version));
    return !archives[HERE].url.includes("/pull/") && archives[HERE].url;
  }, { ms: PATIENCE_MS, pause: 200 });
  assert.ok(url, "it is not stored");
  return url;
}

inBothModes((mode) => {
  const pull = usePull(mode);

  withEachClient((client) => {
    const type = `hello-${client.name}`;

    test("providers are installed through the registry, and again without the origin and with the origin's lock file", { skip: onlyLinux }, async (t) => {
      const { front, key, origin, registry } = pull;
      await origin.publishes(...["1.0.0", "1.1.0", "2.0.0"].map((version) => provider({ address: `acme/${type}`, version, key })));
      const config = networkMirror(registry);
      const files = { "main.tf": usingProvider(`${ORIGIN}/acme/${type}`, "~> 1.0") };
      const work = await client.workspace(t, registry, files, { config });
      const { said } = await work.runs("init");
      assert.match(said, new RegExp(`${type} v1\\.1\\.0`));
      await work.remove(".terraform");
      await work.runs("init", "-lockfile=readonly");
      await isStored(registry, type, "1.1.0");

      // This is the lock file of the origin's users: zh hashes, from SHA256SUMS.
      const { body } = await provider({ address: `acme/${type}`, version: "1.1.0", key });
      const hashes = body.packages.map(({ sha256 }) => `    "zh:${sha256}",\n`).join("");
      const locked = `provider "${ORIGIN}/acme/${type}" {\n  version     = "1.1.0"\n  constraints = "~> 1.0"\n  hashes = [\n${hashes}  ]\n}\n`;
      const answers = front.answers;
      front.answers = (_, response) => response.socket.destroy() && true;
      t.after(() => (front.answers = answers));
      const again = await client.workspace(t, registry, { ...files, ".terraform.lock.hcl": locked }, { config });
      await again.runs("init");
    });
  });
});

describe("concurrent clients", () => {
  const pull = usePull();

  test("32 concurrent clients cause one fetch of each document and zip", async () => {
    const { origin, registry, front, key } = pull;
    const type = "crowd";
    const program = zip({ [`terraform-provider-${type}_v1.0.0`]: randomBytes(CROWDED_BYTES) }, 0o755);
    const zips = [packaged(`terraform-provider-${type}_1.0.0_${HERE}.zip`, HERE, program)];
    await origin.publishes(signedProvider({ address: `acme/${type}`, version: "1.0.0", key, zips }));
    front.asked.length = 0;

    const crowd = (ask) => Promise.all(Array.from({ length: 32 }, ask));
    for (const { versions } of await crowd(() => registry.json(list(type)))) assert.deepEqual(versions, { "1.0.0": {} });
    assert.equal(front.count("/versions"), 1);
    const urls = (await crowd(() => registry.json(packages(type, "1.0.0")))).map(({ archives }) => archives[HERE].url);
    assert.equal(front.count("/download/"), 1);
    assert.equal(front.count(".sig"), 1);
    const answers = await Promise.all(urls.map(bytesOf));
    for (const answer of answers) assert.deepEqual(answer, { status: 200, digest: sha256(program) });
    assert.equal(front.count(".zip"), 1);
    assert.equal((await bytesOf(await isStored(registry, type, "1.0.0"))).digest, sha256(program));
  });

  test("a zip is stored completely after its client has disconnected", async () => {
    const { origin, registry, front, key } = pull;
    const type = "left";
    const program = zip({ [`terraform-provider-${type}_v1.0.0`]: randomBytes(20_000_000) }, 0o755);
    const zips = [packaged(`terraform-provider-${type}_1.0.0_${HERE}.zip`, HERE, program)];
    await origin.publishes(signedProvider({ address: `acme/${type}`, version: "1.0.0", key, zips }));
    const { archives } = await registry.json(packages(type, "1.0.0"));
    const client = new AbortController();
    const response = await fetch(archives[HERE].url, { signal: client.signal });
    await response.body.getReader().read();
    client.abort();
    assert.equal((await bytesOf(await isStored(registry, type, "1.0.0"))).digest, sha256(program));
    assert.equal(front.asked.filter((path) => path.includes(sha256(program))).length, 1);
  });
});

describe("a pulled package of the edge", () => {
  const pull = usePull("presigned", { TERRACE_DOWNLOADS: "edge" });

  test("comes from the origin once, and then through the cached entrypoint", async () => {
    const { origin, registry, front, key } = pull;
    const release = provider({ address: "acme/near", version: "1.0.0", key, platforms: [HERE] });
    await origin.publishes(release);
    const [digest] = (await release).archives.keys();
    const { archives } = await registry.json(packages("near", "1.0.0"));
    assert.ok(archives[HERE].url.startsWith(`${registry.url}/pull/`), archives[HERE].url);
    assert.deepEqual(await bytesOf(archives[HERE].url), { status: 200, digest });
    const url = await isStored(registry, "near", "1.0.0");
    assert.ok(url.startsWith(`${registry.url}/archives/`), url);
    const fetched = front.count(".zip");
    assert.deepEqual(await bytesOf(url), { status: 200, digest });
    assert.deepEqual(await bytesOf(archives[HERE].url), { status: 200, digest }, "the first URL leads to the stored package");
    assert.equal(front.count(".zip"), fetched);
  });
});

describe("a hostile origin", () => {
  const pull = usePull();
  let versions = 0;

  /** Publishes a new provider for each test, because a failed one is not retried for a while. */
  async function published() {
    const type = `hostile${(versions += 1)}`;
    const release = await provider({ address: `acme/${type}`, version: "1.0.0", key: pull.key });
    await pull.origin.publishes(release);
    return { type, release };
  }

  /** Lets the origin answer requests until the end of the test. */
  function originAnswers(t, answers) {
    pull.front.answers = answers;
    t.after(() => (pull.front.answers = () => false));
  }

  for (const [what, location, told] of [
    ["a cloud's metadata", "https://169.254.169.254/latest/meta-data/", /public internet/],
    ["itself, again and again", "/.well-known/terraform.json", /more than 5 redirects/],
  ]) {
    test(`a redirect to ${what} is not followed`, async (t) => {
      const { type } = await published();
      originAnswers(t, (_, response) => response.writeHead(302, { location }).end() && true);
      const response = await pull.registry.request(list(type));
      assert.equal(response.status, 502);
      assert.match(await response.text(), told);
    });
  }

  test("an origin that does not answer is given up before clients give up", async (t) => {
    const { type } = await published();
    originAnswers(t, () => true);
    const started = Date.now();
    const response = await pull.registry.request(packages(type, "1.0.0"));
    assert.equal(response.status, 502);
    assert.ok(Date.now() - started < PATIENCE_MS);
    assert.match(await response.text(), /no response within \d+ seconds/);
  });

  for (const [what, headers, spoils] of [
    ["whose connection breaks", null, (response) => response.socket.destroy()],
    ["that ends early", { "content-length": 1000 }, (response) => response.write(randomBytes(500), () => response.socket.destroy())],
    ["without a length", {}, (response) => response.end(randomBytes(500))],
  ]) {
    test(`a zip ${what} is not kept, and known documents are served`, async (t) => {
      const { type, release } = await published();
      const { archives } = await pull.registry.json(packages(type, "1.0.0"));
      originAnswers(t, (path, response) => {
        if (!path.endsWith(".zip")) return false;
        if (headers) response.writeHead(200, { "content-type": "application/zip", ...headers });
        spoils(response);
        return true;
      });
      const response = await fetch(archives[HERE].url);
      const body = await response.arrayBuffer().then(Buffer.from, () => null);
      const right = release.body.packages.find(({ os, arch }) => `${os}_${arch}` === HERE);
      assert.ok(body === null || response.status === 502 || sha256(body) !== right.sha256);
      await sleep(500);
      const again = await pull.registry.json(packages(type, "1.0.0"));
      assert.match(again.archives[HERE].url, /\/pull\//);
      assert.equal((await fetch(again.archives[HERE].url)).status, 502);
    });
  }
});
