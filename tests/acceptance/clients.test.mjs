// Real clients against a deployed registry. `npm run acceptance -- URL` names it, and the prefix of the namespaces to write to.
import assert from "node:assert/strict";
import { join } from "node:path";

import { sha256 } from "../../scripts/lib/sha256.mjs";
import { usingModule, usingProvider, withEachClient } from "../clients/support/client.mjs";
import { cacheIn, followLog } from "../clients/support/deployed-log.mjs";
import { deployedRegistry } from "../clients/support/registry.mjs";
import { ELSEWHERE, HERE, module, provider, saying } from "../clients/support/releases.mjs";
import { scratch } from "../clients/support/scratch.mjs";
import { before, cleanupOf, describe, test } from "../clients/support/testing.mjs";
import { createToken } from "../clients/support/tokens.mjs";

/** How long a change may need to be seen everywhere (docs/configuration.md), in milliseconds, with a reserve for the network. */
const SEEN_MS = 60_000 + 30_000;

/** The pause between two looks, in milliseconds. */
const PAUSE_MS = 2_000;

/** The time of a purge, of which the platform says "instantly", with a reserve for requests on their way. */
const PURGED_MS = 10_000;

const { TERRACE_TEST_URL: url, TERRACE_TEST_TOKEN: adminToken, TERRACE_TEST_PREFIX: prefix, TERRACE_TEST_WORKER: worker } = process.env;

const unlessLogged = worker ? false : "only the log of the Worker shows it: --worker NAME follows it";

/** The size of the module that is downloaded repeatedly. */
const CACHED_BYTES = 1024 * 1024;

/** The size of the module that shows how long archives take: random bytes, which no compression makes smaller. */
const LARGE_BYTES = 20 * 1024 * 1024;

if (!url) test("no registry was given", { skip: "npm run acceptance names it" }, () => {});
else describe("the deployed registry", acceptance);

function acceptance() {
  const namespace = `${prefix}clients${Date.now().toString(36)}`;
  const [PROVIDER, MODULE] = [`${namespace}/hello`, `${namespace}/greeting/aws`];
  const host = new URL(url).host;
  let registry, release, readToken;

  /** The header with which this registry can be read, whether or not it is private. */
  const reading = () => ({ authorization: `Bearer ${readToken}` });

  const read = async (path) => registry.request(path, { headers: reading() });

  /** The download of the provider for this platform: its URLs are signed, and nothing else is needed to use them. */
  const download = async () => {
    const [os, arch] = HERE.split("_");
    const response = await read(`/v1/providers/${PROVIDER}/1.0.0/download/${os}/${arch}`);
    assert.equal(response.status, 200, await response.clone().text());
    return response.json();
  };

  before(async () => {
    registry = await deployedRegistry(url, adminToken);
    readToken = (await createToken(registry, "read")).token;
    const key = await registry.trusts(namespace);
    release = await provider({ address: PROVIDER, version: "1.0.0", key });
    await registry.publishes(release, module({ address: MODULE, version: "1.0.0", files: saying("hello") }));
  }, "publishing");

  test("shows a published version at once, and lists it within a minute", async (t) => {
    const started = Date.now();
    const found = await read(`/v1/modules/${MODULE}/1.0.0/download`);
    assert.ok(found.ok, `${found.status}: ${await found.text()}`);
    const lists = async (version) => JSON.stringify(await (await read(`/v1/modules/${MODULE}/versions`)).json()).includes(`"${version}"`);
    await lists("1.0.0");
    // A list that this data centre has cached before the publish may be seen until it expires.
    await registry.publishes(module({ address: MODULE, version: "1.0.1", files: saying("again") }));
    const published = Date.now();
    while (!(await lists("1.0.1")) && Date.now() - published < SEEN_MS) await new Promise((done) => setTimeout(done, PAUSE_MS));
    assert.ok(await lists("1.0.1"), `not listed ${SEEN_MS / 1000} s after its publication`);
    t.diagnostic(`first version: ${published - started} ms for the reads and a publish; the next one was listed ${Date.now() - published} ms after its publication`);
  });

  test("serves archives from signed URLs without credentials: whole, in part, and by HEAD only if the length is true", async () => {
    const { download_url: location, shasum } = await download();
    const whole = await fetch(location);
    const bytes = Buffer.from(await whole.arrayBuffer());
    assert.deepEqual([whole.status, sha256(bytes)], [200, shasum]);
    assert.equal(whole.headers.get("content-encoding"), null);
    const part = await fetch(location, { headers: { range: "bytes=0-0" } });
    assert.deepEqual([part.status, (await part.arrayBuffer()).byteLength], [206, 1]);
    const head = await fetch(location, { method: "HEAD" });
    if (head.ok) assert.equal(head.headers.get("content-length"), String(bytes.length));
  });

  test("refuses a changed signature, and another method than that of the signed URL", async () => {
    const { download_url: location } = await download();
    const changed = new URL(location);
    const [name, signature] = [...changed.searchParams].at(-1) ?? ["path", changed.pathname];
    if (name === "path") changed.pathname = signature.replace(/.(?=[^/]*$)/, (c) => (c === "A" ? "B" : "A"));
    else changed.searchParams.set(name, signature.replace(/.$/, (c) => (c === "0" ? "1" : "0")));
    assert.ok((await fetch(changed)).status >= 400, "a changed signature");
    for (const method of ["PUT", "DELETE"]) {
      const body = method === "PUT" ? "overwritten" : undefined;
      assert.ok((await fetch(location, { method, body })).status >= 400, method);
    }
    assert.equal((await fetch(location)).status, 200);
  });

  /** The names of the modules that tests of the edge have published, and not erased. */
  const kept = new Set();

  /** Publishes a module and returns its archive, with a URL of it; `null` if archives do not come from the edge here. */
  async function onTheEdge(t, name) {
    const examined = await registry.admin("GET", "/admin/v1/doctor");
    if (examined.answer.archives !== "edge") {
      t.skip("the archives of this registry do not come from the edge: TERRACE_DOWNLOADS is not edge");
      return null;
    }
    const address = `${namespace}/${name}/aws`;
    const publication = module({ address, version: "1.0.0", files: { ...saying(name), "random.bin": randomBytes(CACHED_BYTES) } });
    const [[digest, archive]] = publication.archives;
    await registry.publishes(publication);
    kept.add(name);
    const found = await read(`/v1/modules/${address}/1.0.0/download`);
    const location = new URL(found.headers.get("x-terraform-get"), url);
    location.search = "";
    return { address, digest, archive, location };
  }

  /** Requests an archive, to its end. */
  async function downloaded(location) {
    const response = await fetch(location);
    const bytes = Buffer.from(await response.arrayBuffer());
    return { response, bytes };
  }

  /** Follows the log of the Worker; `null` if no Worker was named. */
  const logOf = (t) => worker && followLog(cleanupOf(t), { worker, file: join(scratch(t), "log"), request: () => read("/v1/modules/a/b/c/versions") });

  // No simulator has this cache.
  test("serves archives of the edge, whole and in parts, by their signatures", async (t) => {
    const found = await onTheEdge(t, "cached");
    if (!found) return;
    const { archive, location } = found;
    const times = [];
    for (let attempt = 0; attempt < 5; attempt += 1) {
      const started = Date.now();
      const { response, bytes } = await downloaded(location);
      assert.ok(archive.equals(bytes));
      assert.deepEqual([response.status, response.headers.get("cache-control")], [200, "no-store"]);
      assert.equal(response.headers.get("content-length"), String(archive.length));
      times.push(Date.now() - started);
    }
    t.diagnostic(`one archive five times: ${times.map((time) => `${time} ms`).join(", ")}`);
    const part = await fetch(location, { headers: { range: "bytes=10-19" } });
    assert.deepEqual([part.status, part.headers.get("content-range")], [206, `bytes 10-19/${archive.length}`]);
    assert.ok(archive.subarray(10, 20).equals(Buffer.from(await part.arrayBuffer())));
    const head = await fetch(location, { method: "HEAD" });
    assert.deepEqual([head.status, head.headers.get("content-length")], [200, String(archive.length)]);
    const forged = location.href.replace(/\/[0-9a-f]{64}\//, `/${"0".repeat(64)}/`);
    assert.equal((await fetch(forged)).status, 403, "a cached archive without its signature");
  });

  // The answer is the same with and without the cache: only the log of the Worker says which it was.
  test("answers a repeated download from the cache of the edge", { skip: unlessLogged }, async (t) => {
    const found = await onTheEdge(t, "repeated");
    if (!found) return;
    const linesOf = await logOf(t);
    const states = [];
    for (let attempt = 0; attempt < 5; attempt += 1) states.push(cacheIn(await linesOf((await downloaded(found.location)).response)));
    assert.equal(states[0], "miss", "the first download of an archive reads the bucket");
    assert.equal(states.at(-1), "hit", `the cache answered none of the last downloads: ${states.join(", ")}`);
    t.diagnostic(`the cache of five downloads: ${states.join(", ")}`);
  });

  // An isolate that does not know the erasure yet asks the cache, and one that knows it does not. So a refusal shows the purge if the
  // cache was asked, and otherwise the list of erased digests. Without the log, they look alike.
  test("refuses an erased archive, which the cache of the edge has no longer", async (t) => {
    const found = await onTheEdge(t, "erased");
    if (!found) return;
    const { address, digest, location } = found;
    const linesOf = await logOf(t);
    const asked = async () => {
      const { response } = await downloaded(location);
      // The log comes much later than the answer.
      const at = Date.now();
      return { status: response.status, cache: linesOf && cacheIn(await linesOf(response)), at };
    };
    for (let attempt = 0; attempt < 3; attempt += 1) assert.equal((await asked()).status, 200);
    const erasure = { package: address, version: "1.0.0", reason: "made by an acceptance run", archives: [`archives/${digest}.zip`] };
    const headers = { authorization: `Bearer ${adminToken}` };
    const erased = await registry.request("/admin/v1/erasures", { method: "POST", headers, body: JSON.stringify(erasure) });
    assert.equal(erased.status, 200, await erased.text());
    kept.delete("erased");
    const began = Date.now();
    if (linesOf) {
      const refusals = (await linesOf(erased)).filter((line) => line.startsWith("cache of archives:"));
      assert.deepEqual(refusals, [], "the platform refused the purge");
    }
    const seen = [];
    const isListed = ({ status, cache }) => status === 404 && cache === undefined;
    do {
      seen.push(await asked());
      if (!isListed(seen.at(-1))) await new Promise((done) => setTimeout(done, PAUSE_MS));
    } while (!isListed(seen.at(-1)) && Date.now() - began < SEEN_MS);
    const after = ({ at }) => `${at - began} ms after its erasure`;
    const served = seen.filter(({ status }) => status === 200).at(-1);
    assert.ok(isListed(seen.at(-1)), `the list of erased digests refuses nothing after ${SEEN_MS / 1000} s: ${JSON.stringify(seen)}`);
    assert.ok(!served || served.at - began < PURGED_MS, `the cache still had the erased archive ${served && after(served)}`);
    const purged = seen.find(({ status, cache }) => status === 404 && cache !== undefined);
    if (!linesOf) t.diagnostic(`the erased archive was refused ${after(seen.find(({ status }) => status === 404))}, by the purge or by the list`);
    else if (purged) t.diagnostic(`the purge was seen ${after(purged)}, and the list ${after(seen.at(-1))}`);
    else t.diagnostic(`the list was seen first, ${after(seen.at(-1))}; the platform accepted the purge`);
  });

  test("moves an archive of 20 MB both ways", async (t) => {
    const files = { ...saying("large"), "random.bin": randomBytes(LARGE_BYTES) };
    const publication = module({ address: `${namespace}/large/aws`, version: "1.0.0", files });
    const [started, [digest]] = [Date.now(), publication.archives.keys()];
    await registry.publishes(publication);
    const published = Date.now();
    const found = await read(`/v1/modules/${namespace}/large/aws/1.0.0/download`);
    const location = new URL(found.headers.get("x-terraform-get"), url);
    const bytes = Buffer.from(await (await fetch(location)).arrayBuffer());
    assert.equal(sha256(bytes), digest);
    t.diagnostic(`published in ${published - started} ms, downloaded in ${Date.now() - published} ms`);
  });

  withEachClient((client) => {
    const env = () => ({ [`TF_TOKEN_${host.replaceAll("-", "__").replaceAll(".", "_")}`]: readToken, ...caEnv() });
    const isStandardPort = !new URL(url).port;
    const config = () => `credentials "${host}" {\n  token = "${readToken}"\n}\n`;

    test("init finds the registry, installs a provider and a module, and again from the lock file", async (t) => {
      const files = { "provider.tf": usingProvider(`${host}/${PROVIDER}`, "1.0.0"), "module.tf": usingModule(`${host}/${MODULE}`, "1.0.0") };
      const work = await client.workspace(t, registry, files, { config: config(), env: env() });
      await work.runs("init");
      await work.runs("providers", "lock", `-platform=${HERE}`, `-platform=${ELSEWHERE}`);
      await work.remove(".terraform");
      await work.runs("init", "-lockfile=readonly");
      assert.match(await work.read(".terraform/modules/wanted/main.tf"), /hello/);
    });

    const skip = !isStandardPort && "the hostname of a mirrored provider has no port";
    test("init installs the same provider from the network mirror, and nothing from elsewhere", { skip }, async (t) => {
      const mirror = `provider_installation {\n  network_mirror {\n    url = "${new URL("/mirror/", url)}"\n  }\n}\n`;
      const files = { "provider.tf": usingProvider(`${host}/${PROVIDER}`, "1.0.0") };
      const work = await client.workspace(t, registry, files, { config: mirror + config(), env: env() });
      await work.runs("init");
    });
  });

  // The last test: published versions are never removed.
  test("marks the versions of this run as withdrawn", async () => {
    const body = JSON.stringify({ state: "withdrawn", reason: "made by an acceptance run" });
    const published = [[`providers/${PROVIDER}`, "1.0.0"], [`modules/${MODULE}`, "1.0.0"], [`modules/${MODULE}`, "1.0.1"]];
    for (const name of ["large", ...kept]) published.push([`modules/${namespace}/${name}/aws`, "1.0.0"]);
    for (const [path, version] of published) {
      const { status, answer } = await registry.admin("PUT", `/admin/v1/${path}/${version}/status`, body);
      assert.equal(status, 200, `${path}: ${status} ${JSON.stringify(answer)}`);
    }
  });
}

function randomBytes(length) {
  const bytes = Buffer.alloc(length);
  for (let at = 0; at < length; at += 65_536) crypto.getRandomValues(bytes.subarray(at, Math.min(at + 65_536, length)));
  return bytes;
}

/** A CA of one's own, if the environment names it: clients of tests run without this user's variables. */
function caEnv() {
  const { SSL_CERT_FILE } = process.env;
  return SSL_CERT_FILE ? { SSL_CERT_FILE } : {};
}
