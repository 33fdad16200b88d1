// An outage of the main bucket: the copies, the change to the second bucket, and installations by the real client meanwhile.
import assert from "node:assert/strict";
import { createServer, connect } from "node:net";
import { join } from "node:path";

import { cli } from "../../../scripts/build.mjs";
import { startS3, whyNoS3 } from "../../../scripts/lib/s3-server.mjs";
import { freePort } from "../../../scripts/server.mjs";
import { HOST, usingModule, usingProvider, withEachClient } from "../support/client.mjs";
import { run } from "../support/programs.mjs";
import { useRegistry } from "../support/registry.mjs";
import { module, provider, saying } from "../support/releases.mjs";
import { scratch } from "../support/scratch.mjs";
import { newKey } from "../support/signing.mjs";
import { before, cleanupOf, describe, test } from "../support/testing.mjs";

/** In milliseconds: the time within which a change takes effect everywhere, as docs/operating.md states it. */
const EFFECT_MS = 60_000;
const PAUSE_MS = 1_000;

const BUCKET = "copies";
const reason = await whyNoS3();

/** Runs `terrace` against a registry, and returns its report. */
async function does(registry, ...args) {
  const result = await run(cli, [...args, "--json"], { env: { ...process.env, ...registry.env } });
  assert.equal(result.code, 0, result.output);
  return JSON.parse(result.stdout.toString());
}

/** Forwards connections to the S3 endpoint of the registry, until it is stopped. */
async function openEndpoint(cleanup, target) {
  const sockets = new Set();
  const server = createServer((client) => {
    const upstream = connect(target, "127.0.0.1");
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on("error", () => socket.destroy());
      socket.on("close", () => sockets.delete(socket));
    }
    client.pipe(upstream).pipe(client);
  });
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  const { port } = server.address();
  const stop = () =>
    new Promise((done) => {
      server.close(done);
      sockets.forEach((socket) => socket.destroy());
    });
  const start = () => new Promise((done) => server.listen(port, "127.0.0.1", done));
  cleanup.add("stopping the endpoint of the bucket", () => (server.listening ? stop() : undefined));
  return { port, stop, start };
}

describe("an outage of the main bucket", { skip: reason ?? false }, () => {
  const cleanup = cleanupOf();
  const logs = scratch();
  const keyDirectory = scratch();
  let endpoint;
  let second;
  const registry = useRegistry(async () => {
    const port = await freePort();
    endpoint = await openEndpoint(cleanup, port);
    second = await startS3(cleanup, { buckets: [BUCKET], log: join(logs, "s3.log") });
    const vars = {
      TERRACE_S3_ENDPOINT: `http://localhost:${endpoint.port}/cdn-cgi/local/r2/s3`,
      TERRACE_S3_FALLBACK_ENDPOINT: second.endpoint,
      TERRACE_S3_FALLBACK_BUCKET: BUCKET,
      TERRACE_S3_FALLBACK_REGION: second.region,
      TERRACE_S3_FALLBACK_ACCESS_KEY_ID: second.accessKeyId,
      TERRACE_S3_FALLBACK_SECRET_ACCESS_KEY: second.secretAccessKey,
    };
    return { port, vars };
  });
  const erased = module({ address: "acme/secret/aws", version: "1.0.0", files: saying("a secret") });

  before(async () => {
    const key = await newKey(keyDirectory);
    await registry.trusts("acme", key);
    await registry.publishes(provider({ address: "acme/widget", version: "1.0.0", key }));
    await registry.publishes(module({ address: "acme/vpc/aws", version: "1.0.0", files: saying("copied") }), erased);
  });

  /** Returns the status of an archive in the second bucket: moto needs no signature. */
  const copyOf = async (digest) => (await fetch(`${second.endpoint}/${BUCKET}/archives/${digest}.zip`)).status;

  test("the command copies everything once, and nothing more", async () => {
    const counted = await does(registry, "admin", "replicate", "--dry-run");
    assert.ok(counted.missing > 0 && counted.missing === counted.stored);
    const copied = await does(registry, "admin", "replicate");
    assert.deepEqual([copied.missing, copied.stored], [counted.missing, counted.stored]);
    assert.equal((await does(registry, "admin", "replicate")).missing, 0);
    assert.equal((await does(registry, "admin", "verify")).missing_in_fallback, 0);
  });

  test("the scheduled run copies what is published later, without its bytes in the command", async () => {
    const later = module({ address: "acme/later/aws", version: "1.0.0", files: saying("later") });
    await registry.publishes(later);
    const [[digest]] = later.archives;
    // The repair comes first. The first walk of the copy continues in each run that has nothing else to do.
    for (let run = 0; run < 30 && (await copyOf(digest)) !== 200; run += 1) {
      const { status } = await registry.request("/cdn-cgi/handler/scheduled");
      assert.equal(status, 200);
    }
    assert.equal(await copyOf(digest), 200);
  });

  test("an erased archive is removed from both buckets", async () => {
    const [[digest]] = erased.archives;
    assert.equal(await copyOf(digest), 200);
    await does(registry, "admin", "erase", "acme/secret/aws@1.0.0", "--reason", "a leaked key", "--yes");
    assert.equal(await copyOf(digest), 404);
    assert.equal((await registry.head(`archives/${digest}.zip`)).status, 404);
    assert.deepEqual((await does(registry, "admin", "replicate")).surplus, []);
  });

  withEachClient((client) => {
    const installs = async (t) => {
      const work = await client.workspace(t, registry, {
        "main.tf": usingModule(`${HOST}/acme/vpc/aws`, "1.0.0"),
        "provider.tf": usingProvider(`${HOST}/acme/widget`, "1.0.0"),
      });
      return work;
    };

    test("the client installs within a minute of the change, and again from the main bucket", async (t) => {
      await endpoint.stop();
      await (await installs(t)).fails("init");
      const changed = Date.now();
      const { failover } = await does(registry, "admin", "failover", "on", "--reason", "the bucket is down");
      assert.equal(failover.serving, "fallback");
      await followed("127.0.0.1", changed);
      await (await installs(t)).runs("init");
      const refused = await registry.publish(module({ address: "acme/new/aws", version: "1.0.0", files: saying("new") }));
      assert.equal(refused.status, 503);
      await endpoint.start();
      await does(registry, "admin", "failover", "off", "--reason", "the bucket is back");
      await followed("localhost", Date.now());
      await (await installs(t)).runs("init");
      assert.equal((await does(registry, "admin", "verify")).missing_in_fallback, 0);
    });
  });

  /** Waits until downloads lead to this host, at most for the stated time. */
  async function followed(host, since) {
    for (;;) {
      const { location } = await registry.json("/v1/modules/acme/vpc/aws/1.0.0/download");
      if (new URL(location).hostname === host) return;
      assert.ok(Date.now() - since < EFFECT_MS, `downloads do not lead to ${host}: ${location}`);
      await new Promise((done) => setTimeout(done, PAUSE_MS));
    }
  }
});

if (reason) test("a client installs from the second bucket during an outage", { skip: reason }, () => {});
