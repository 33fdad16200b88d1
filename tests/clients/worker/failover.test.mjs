// An outage of the main bucket: the copies, the change to the second bucket, and installations by real clients meanwhile. The
// faults of R2 are injected into the binding of the Worker, and those of the S3 endpoints into their connections.
import assert from "node:assert/strict";
import { join } from "node:path";

import { openForwarder } from "../../../scripts/lib/local-s3.mjs";
import { startGateway } from "../support/stores.mjs";
import { HOST, installedClients, usingModule, usingProvider } from "../support/client.mjs";
import { unlessOnPath } from "../support/programs.mjs";
import { MODES } from "../support/registry.mjs";
import { module, provider, saying } from "../support/releases.mjs";
import { presignedUrl } from "../support/s3.mjs";
import { scratch } from "../support/scratch.mjs";
import { before, cleanupOf, describe, test } from "../support/testing.mjs";
import { WatchedRegistry } from "../support/watched.mjs";

/** In milliseconds: the time within which a change takes effect everywhere, as docs/outage.md states it, and a pause. */
const EFFECT_MS = 60_000;
const PAUSE_MS = 500;

const BUCKET = "copies";

/** It verifies signatures and the checksums of uploads. */
const reason = unlessOnPath("versitygw");

/** Forwards connections to the port that `target` returns; `heads` are the heads of the requests. */
async function openEndpoint(cleanup, target) {
  const heads = [];
  const forwarder = await openForwarder(cleanup, target, (chunk) => {
    const [head] = chunk.toString("latin1").split("\r\n\r\n", 1);
    if (/^[A-Z]+ \S+ HTTP\/1\.1\r\n/.test(head)) heads.push(head.toLowerCase());
  });
  return { ...forwarder, heads };
}

/** A registry with two buckets. */
class Registry extends WatchedRegistry {
  #vars;

  constructor(mode, logs) {
    const vars = {};
    super({ mode, vars });
    this.#vars = vars;
    Object.assign(this, { mode, logs });
  }

  async start(cleanup) {
    const gateway = await startGateway(cleanup, { buckets: [BUCKET], log: join(this.logs, "gateway.log") });
    this.main = await openEndpoint(cleanup, () => Number(new URL(this.url).port));
    this.second = await openEndpoint(cleanup, () => Number(new URL(gateway.endpoint).port));
    this.copies = { ...gateway, endpoint: `http://127.0.0.1:${this.second.port}`, bucket: BUCKET };
    Object.assign(this.#vars, {
      ...(this.mode === "presigned" && { TERRACE_S3_ENDPOINT: `http://localhost:${this.main.port}/cdn-cgi/local/r2/s3` }),
      TERRACE_S3_FALLBACK_ENDPOINT: this.copies.endpoint,
      TERRACE_S3_FALLBACK_BUCKET: BUCKET,
      TERRACE_S3_FALLBACK_REGION: gateway.region,
      TERRACE_S3_FALLBACK_ACCESS_KEY_ID: gateway.accessKeyId,
      TERRACE_S3_FALLBACK_SECRET_ACCESS_KEY: gateway.secretAccessKey,
    });
    await super.start(cleanup);
  }

  /** Begins the outage of the main bucket: neither its binding nor its endpoint answers. */
  async breaks() {
    await this.setR2Down(true);
    await this.main.stop();
  }

  async isRepaired() {
    await this.main.start();
    await this.setR2Down(false);
  }

  /** Returns the status of an archive in the second bucket. */
  async copyOf(digest) {
    const url = presignedUrl(this.copies, { method: "HEAD", key: `archives/${digest}.zip` });
    return (await fetch(url, { method: "HEAD" })).status;
  }

  async serves(bucket) {
    const { failover } = await this.report(["admin", "failover", bucket === "fallback" ? "on" : "off", "--reason", "a test"]);
    assert.equal(failover.serving, bucket);
  }

  /** Runs the scheduled event until the two buckets have been compared completely, and nothing is missing. */
  async compares() {
    await this.store([{ key: "failover/copy", text: "{}" }]);
    for (let runs = 0; runs < 60; runs += 1) {
      await this.runScheduled();
      const { copy } = (await this.report(["admin", "failover", "status"])).failover;
      if (copy?.compared && copy.missing === 0) return;
    }
    assert.fail("no comparison was completed");
  }

  async location() {
    return (await this.json("/v1/modules/acme/vpc/aws/1.0.0/download")).location;
  }

  /** Waits until downloads come from this bucket, at most for the stated time. Returns the time in milliseconds. */
  async follows(bucket) {
    const copies = `${this.copies.endpoint}/${BUCKET}/`;
    const began = Date.now();
    for (;;) {
      const location = await this.location();
      if (location.startsWith(copies) === (bucket === "fallback")) return Date.now() - began;
      assert.ok(Date.now() - began < EFFECT_MS, `downloads do not come from the ${bucket} bucket: ${location.split("?")[0]}`);
      await new Promise((done) => setTimeout(done, PAUSE_MS));
    }
  }
}

const versions = { vpc: saying("copied"), later: saying("later"), secret: saying("a secret"), left: saying("a secret that is left") };
const moduleOf = (name) => module({ address: `acme/${name}/aws`, version: "1.0.0", files: versions[name] });

const clients = installedClients();

/** Defines the tests for one mode of downloads. */
function define(mode) {
  const cleanup = cleanupOf();
  const registry = new Registry(mode, scratch());

  before(async () => {
    await registry.start(cleanup);
    const key = await registry.trusts("acme");
    await registry.publishes(provider({ address: "acme/widget", version: "1.0.0", key }));
    await registry.publishes(moduleOf("vpc"), moduleOf("secret"), moduleOf("left"));
  });

  const digestOf = async (publication) => (await publication).archives.keys().next().value;

  /** Runs the scheduled event until an archive has this status in the second bucket. The repair comes first. */
  async function copies(digest, status) {
    // A walk begins every five minutes. One that has not been completed continues in each run.
    await registry.store([{ key: "failover/copy", text: "{}" }]);
    for (let runs = 0; runs < 60 && (await registry.copyOf(digest)) !== status; runs += 1) await registry.runScheduled();
    assert.equal(await registry.copyOf(digest), status);
  }

  test("the command copies everything once, and nothing more", async () => {
    const counted = await registry.report(["admin", "replicate", "--dry-run"]);
    assert.ok(counted.missing > 0 && counted.missing === counted.stored, JSON.stringify(counted));
    const copied = await registry.report(["admin", "replicate"]);
    assert.deepEqual([copied.copied, copied.stored], [counted.missing, counted.stored]);
    assert.equal((await registry.report(["admin", "replicate"])).missing, 0);
    assert.equal((await registry.report(["admin", "verify"])).missing_in_fallback, 0);
  });

  test("the second bucket serves after the first complete comparison", async () => {
    await registry.report(["admin", "failover", "on", "--reason", "a test"], { code: 4 });
    await registry.compares();
    const { keeps_versions: keepsVersions } = (await registry.admin("GET", "/admin/v1/doctor")).answer.failover;
    assert.notEqual(keepsVersions, true);
  });

  test("the scheduled event copies later archives, and states their lengths", async () => {
    const later = moduleOf("later");
    await registry.publishes(later);
    registry.second.heads.length = 0;
    await copies(await digestOf(later), 200);
    const puts = registry.second.heads.filter((head) => head.startsWith("put "));
    assert.ok(puts.length > 0);
    for (const head of puts) assert.match(head, /\r\ncontent-length: [1-9]/);
  });

  test("an erased archive is removed from both buckets", async () => {
    const digest = await digestOf(moduleOf("secret"));
    assert.equal(await registry.copyOf(digest), 200);
    await registry.report(["admin", "erase", "acme/secret/aws@1.0.0", "--reason", "a leaked key", "--yes"]);
    assert.equal(await registry.copyOf(digest), 404);
    assert.equal((await registry.head(`archives/${digest}.zip`)).status, 404);
    const { erased, surplus } = await registry.report(["admin", "replicate"]);
    assert.deepEqual([erased, surplus], [[], []]);
  });

  test("an erasure that does not reach the second bucket warns, and the scheduled event completes it", async () => {
    const digest = await digestOf(moduleOf("left"));
    await registry.second.stop();
    const { warnings, left_in_fallback } = await registry.report(["admin", "erase", "acme/left/aws@1.0.0", "--reason", "a leaked key", "--yes"]);
    assert.ok(left_in_fallback.some((key) => key.startsWith("archives/")), String(left_in_fallback));
    assert.match(JSON.stringify(warnings), /second bucket may still have copies of erased archives/);
    await registry.second.start();
    assert.equal((await registry.head(`archives/${digest}.zip`)).status, 404);
    assert.equal(await registry.copyOf(digest), 200);
    await registry.report(["admin", "verify"], { code: 3 });
    await copies(digest, 404);
    await registry.report(["admin", "verify"]);
  });

  if (mode === "presigned") {
    test("an export takes archives from the second bucket while the endpoint of the main one does not answer", async (t) => {
      await registry.main.stop();
      t.after(() => registry.main.start());
      const { archives, warnings } = await registry.report(["admin", "export", join(scratch(t), "backup")]);
      assert.ok(archives > 0);
      assert.match(JSON.stringify(warnings), /comes from the second bucket/);
    });
  }

  const workspace = (t, client) =>
    client.workspace(t, registry, {
      "main.tf": usingModule(`${HOST}/acme/vpc/aws`, "1.0.0"),
      "provider.tf": usingProvider(`${HOST}/acme/widget`, "1.0.0"),
    });

  /** Each client installs. They share an outage, whose effect takes half a minute. */
  async function installs(t) {
    for (const client of clients) await (await workspace(t, client)).runs("init");
  }

  test("clients install during an outage after the change, and nothing diverges when the main bucket returns", async (t) => {
    const before = await registry.report(["admin", "verify"]);
    const old = new URL(await registry.location());
    await registry.breaks();
    for (const client of clients) await (await workspace(t, client)).fails("init");
    await registry.serves("fallback");
    const changed = Date.now();
    t.diagnostic(`followed after ${await registry.follows("fallback")} ms`);
    await installs(t);
    assert.ok(Date.now() - changed < EFFECT_MS, "clients install within the stated time");
    if (mode === "worker") {
      const redirected = await fetch(old, { redirect: "manual" });
      assert.equal(redirected.status, 302);
      assert.equal((await fetch(redirected.headers.get("location"))).status, 200);
      const head = await fetch(old, { method: "HEAD", redirect: "manual" });
      assert.equal((await fetch(head.headers.get("location"), { method: "HEAD" })).status, 200);
    }
    const refused = await registry.admin("PUT", "/admin/v1/modules/acme/new/aws/1.0.0", "{}");
    assert.equal(refused.status, 503, JSON.stringify(refused.answer));
    await registry.isRepaired();
    await registry.serves("main");
    await registry.follows("main");
    await installs(t);
    const after = await registry.report(["admin", "verify"]);
    assert.deepEqual([after.archives, after.missing_in_fallback], [before.archives, 0]);
    const { missing, erased, surplus } = await registry.report(["admin", "replicate"]);
    assert.deepEqual([missing, erased, surplus], [0, [], []]);
    for (const name of ["secret", "left"]) {
      const digest = await digestOf(moduleOf(name));
      assert.deepEqual([await registry.copyOf(digest), (await registry.head(`archives/${digest}.zip`)).status], [404, 404], name);
    }
  });
}

// The modes wait beside each other; the tests of each follow each other.
describe("an outage of the main bucket", { skip: reason, concurrency: true }, () => {
  for (const mode of MODES) describe(`with ${mode} URLs`, { concurrency: 1 }, () => define(mode));
});

if (reason) test("clients install from the second bucket during an outage", { skip: reason }, () => {});
