// OCI Distribution with the library of OpenTofu and ORAS: exactly their requests, in every test run, even if
// they are not installed. The program is tests/clients/oras-go.
import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { sha256, zip } from "../support/archives.mjs";
import { usingProvider, withEachClient } from "../support/client.mjs";
import { onlyLinux, unlessUsable, useTlsRegistry } from "../support/oci.mjs";
import { run, runs } from "../support/programs.mjs";
import { inBothModes } from "../support/registry.mjs";
import { ELSEWHERE, HERE, mirrored, module, provider, saying } from "../support/releases.mjs";
import { scratch } from "../support/scratch.mjs";
import { newKey } from "../support/signing.mjs";
import { before, describe, test } from "../support/testing.mjs";

const PROGRAM = "oras-go-client";
const skip = unlessUsable(PROGRAM);

/** An unreachable registry, so everything installed under this name comes from here. */
const ORIGIN = "origin.invalid";

/** The version that the tests push. */
const VERSION = "4.0.6";

/** Runs the program with this password, or anonymously. */
function client(registry, password) {
  const { SSL_CERT_FILE } = registry.env;
  const env = { ...process.env, SSL_CERT_FILE, REGISTRY_PASSWORD: password };
  const args = ([command, ...rest]) => [command, registry.host, ...rest];
  return {
    runs: async (...words) => JSON.parse((await runs(PROGRAM, args(words), { env })).stdout),
    fails: async (...words) => {
      const { code, output } = await run(PROGRAM, args(words), { env });
      assert.equal(code, 1, output);
      return output;
    },
  };
}

/**
 * Returns the requests without the parts that differ between runs: the addresses of archives, the names of
 * uploads, and digests.
 */
const shape = (requests) =>
  requests.map((request) =>
    request
      .replace(/^(\w+) (?!\/v2\/).* (\d+)$/, "$1 archive $2")
      .replace(/(\/uploads\/)[^?\s]+/, "$1ID")
      .replace(/^(\S+ \/v2\/)\S*\/((tags|manifests|blobs|referrers)\/)/, "$1…/$2")
      .replace(/sha256(:|%3A)[0-9a-f]{64}/g, "sha256$1…"),
  );

/** Returns the requests without those that only fetch a token. */
const answered = (requests) => shape(requests).filter((request) => !/ 401$|^GET \/v2\/token/.test(request));

const zipOf = ({ body, archives }, platform) =>
  archives.get(body.packages.find(({ os, arch }) => `${os}_${arch}` === platform).sha256);

describe("installing as OpenTofu does", { skip }, () => {
  inBothModes((mode) => {
    const directory = scratch();
    const registry = useTlsRegistry(mode);
    const published = {};
    before(async () => {
      const key = await newKey(directory);
      await registry.trusts("acme", key);
      published.hosted = await provider({ address: "acme/hello", version: "1.2.0+b.1", key });
      published.mirrored = await mirrored(ORIGIN, key, provider({ address: "acme/widget", version: "1.0.0", key }));
      published.module = module({ address: "acme/greeting/local", version: "1.0.0", files: saying("hello") });
      await registry.publishes(...Object.values(published));
    });

    for (const [what, repository, tag, mirror] of [
      ["hosted", "providers/acme/hello", "1.2.0_b.1", "127.0.0.1/acme/hello/1.2.0+b.1.json"],
      ["mirrored", `providers/${ORIGIN}/acme/widget`, "1.0.0", `${ORIGIN}/acme/widget/1.0.0.json`],
    ]) {
      test(`a ${what} provider is downloaded byte for byte as published, for each platform (6.1, 6.3, 6.5, 6.6, 6.9)`, async () => {
        for (const platform of [HERE, ELSEWHERE]) {
          const file = join(directory, `${what}-${platform}.zip`);
          const { seen, requests } = await client(registry).runs("provider", repository, tag, platform, file);
          assert.deepEqual(seen.tags, [tag]);
          assert.deepEqual(await readFile(file), zipOf(published[what], platform));
          const { archives } = await registry.json(`/mirror/${mirror}`);
          assert.ok(archives[platform].hashes.includes(seen.blob.replace("sha256:", "zh:")));
          assert.deepEqual(shape(requests), [
            "GET /v2/ 200",
            "GET /v2/…/tags/list 200",
            `HEAD /v2/…/manifests/${tag} 200`,
            "GET /v2/…/manifests/sha256:… 200",
            "GET /v2/…/manifests/sha256:… 200",
            "GET /v2/…/blobs/sha256:… 307",
            "GET archive 200",
          ]);
        }
      });
    }

    test("a module is downloaded byte for byte as published, by its tag and by its digest (6.7)", async () => {
      const repository = "modules/acme/greeting/local";
      const file = join(directory, "module.zip");
      const [bytes] = published.module.archives.values();
      const byTag = await client(registry).runs("module", repository, "1.0.0", file);
      assert.deepEqual(await readFile(file), bytes);
      assert.deepEqual(shape(byTag.requests), [
        "GET /v2/ 200",
        "HEAD /v2/…/manifests/1.0.0 200",
        "GET /v2/…/manifests/sha256:… 200",
        "GET /v2/…/blobs/sha256:… 307",
        "GET archive 200",
      ]);
      await writeFile(file, "");
      const byDigest = await client(registry).runs("module", repository, byTag.seen.digest, file);
      assert.deepEqual(await readFile(file), bytes);
      assert.equal(byDigest.seen.digest, byTag.seen.digest);
    });

    test("a missing repository or tag is answered in a form that OpenTofu treats as missing (6.4)", async () => {
      const file = join(directory, "nothing.zip");
      const { fails } = client(registry);
      assert.match(await fails("provider", "providers/acme/nothing", "1.0.0", HERE, file), /404: name unknown/);
      assert.match(await fails("provider", "providers/acme/hello", "9.0.0", HERE, file), /not found/);
      assert.match(await fails("module", "modules/acme/nothing/local", "1.0.0", file), /not found/);
    });
  });
});

describe("pushing as ORAS does", { skip }, () => {
  inBothModes((mode) => {
    const registry = useTlsRegistry(mode);
    const me = () => client(registry, registry.secrets.adminToken);

    /** Creates a directory of zips named by their platform; returns it and their bytes. */
    async function downloads(t, type) {
      const directory = scratch(t);
      const zips = {};
      for (const platform of [HERE, ELSEWHERE]) {
        zips[platform] = zip({ [`terraform-provider-${type}_v${VERSION}`]: `#!/bin/sh\n# ${type} for ${platform}\n` }, 0o755);
        await writeFile(join(directory, `${platform}.zip`), zips[platform]);
      }
      return { directory, zips };
    }

    /** Pushes a provider to a repository that the registry treats as one of the public registry. */
    async function push(t, type) {
      const { directory, zips } = await downloads(t, type);
      const repository = `opentofu-providers/pushed/${type}`;
      return { repository, zips, ...(await me().runs("push", repository, VERSION, directory)) };
    }

    test("a provider is pushed with the requests of the library (11.1, 11.2, 11.4, 11.6, 11.8)", async (t) => {
      const { requests } = await push(t, "tls");
      const sent = shape(requests);
      const count = (text) => sent.filter((request) => request === text).length;
      const [zips, configs, targets] = [2, 2, 2];
      assert.equal(count("HEAD /v2/…/manifests/sha256:… 404"), targets + 1, sent.join("\n"));
      assert.equal(count("HEAD /v2/…/blobs/sha256:… 404"), zips + configs);
      assert.equal(count("POST /v2/…/blobs/uploads/ 202"), zips + configs);
      assert.equal(count("PUT /v2/…/blobs/uploads/ID?digest=sha256%3A… 201"), zips + configs);
      assert.equal(count("PUT /v2/…/manifests/sha256:… 201"), targets);
      assert.equal(sent.at(-1), `PUT /v2/…/manifests/${VERSION} 201`);
    });

    test("a second push of the same provider sends no blob", async (t) => {
      const first = await push(t, "again");
      const second = await push(t, "again");
      assert.equal(second.seen.digest, first.seen.digest);
      assert.deepEqual(answered(second.requests).filter((request) => /POST|PUT .*blobs/.test(request)), []);
    });

    test("a pushed provider is pulled byte for byte, and is in the network mirror", async (t) => {
      const { repository, zips, seen } = await push(t, "whole");
      const file = join(scratch(t), "pulled.zip");
      const names = [repository, "providers/registry.opentofu.org/pushed/whole"];
      for (const [somebody, name] of [client(registry), me()].flatMap((somebody) => names.map((name) => [somebody, name]))) {
        for (const [platform, bytes] of Object.entries(zips)) {
          const pulled = await somebody.runs("provider", name, VERSION, platform, file);
          assert.deepEqual(await readFile(file), bytes);
          assert.deepEqual(pulled.seen.tags, [VERSION]);
          if (name === repository) assert.equal(pulled.seen.digest, seen.digest);
        }
      }
      const mirror = "/mirror/registry.opentofu.org/pushed/whole";
      assert.deepEqual(await registry.json(`${mirror}/index.json`), { versions: { [VERSION]: {} } });
      const { archives } = await registry.json(`${mirror}/${VERSION}.json`);
      assert.deepEqual(Object.keys(archives).sort(), Object.keys(zips).sort());
      for (const [platform, { url, hashes }] of Object.entries(archives)) {
        assert.deepEqual(hashes, [`zh:${sha256(zips[platform])}`]);
        const response = await fetch(new URL(url, `${registry.url}${mirror}/`));
        assert.deepEqual(Buffer.from(await response.arrayBuffer()), zips[platform]);
      }
    });

    withEachClient((installer) => {
      test("a pushed provider is installed from the network mirror", { skip: onlyLinux }, async (t) => {
        const type = `by-${installer.name}`;
        await push(t, type);
        const config = `provider_installation {\n  network_mirror {\n    url = "${registry.url}/mirror/"\n  }\n}\n`;
        const files = { "main.tf": usingProvider(`registry.opentofu.org/pushed/${type}`, VERSION) };
        const options = { config, env: { SSL_CERT_FILE: registry.env.SSL_CERT_FILE } };
        const found = await installer.workspace(t, registry, files, options);
        assert.match((await found.runs("init")).said, new RegExp(`Installed \\S*pushed/${type} v${VERSION}`));
      });
    });

    test("blobs of another repository are mounted instead of sent (11.5)", async (t) => {
      const { repository, seen } = await push(t, "mounted");
      const copied = await me().runs("mount", repository, "copies/mounted", VERSION);
      assert.deepEqual(copied.seen, { digest: seen.digest, mounted: 4, copied: 0 });
      const posts = answered(copied.requests).filter((request) => request.startsWith("POST"));
      assert.deepEqual(posts, Array(4).fill(`POST /v2/…/blobs/uploads/?mount=sha256:…&from=${repository} 201`));
    });

    test("blobs of published packages are mounted instead of sent (11.5)", async (t) => {
      await push(t, "published");
      const published = "providers/registry.opentofu.org/pushed/published";
      const copied = await me().runs("mount", published, "copies/published", VERSION);
      assert.equal(copied.seen.copied, 0);
      const posts = answered(copied.requests).filter((request) => request.startsWith("POST"));
      assert.ok(posts.length >= 2, JSON.stringify(posts));
      assert.deepEqual(posts, posts.map(() => `POST /v2/…/blobs/uploads/?mount=sha256:…&from=${published} 201`));
    });

    test("referrers of a manifest are discovered, filtered and deleted, without a tag (11.6, 11.7)", async (t) => {
      const { repository, seen: subject } = await push(t, "noted");
      const { seen, requests } = await me().runs("refer", repository, VERSION);
      const note = seen.referrer;
      assert.deepEqual(seen, { subject: subject.digest, referrer: note, all: [note], ofType: [note], ofOther: [], deleted: [] });
      const asked = shape(requests);
      assert.ok(asked.includes("GET /v2/…/referrers/sha256:… 200"), asked.join("\n"));
      assert.deepEqual(asked.filter((request) => request.includes("manifests/sha256-")), []);
    });

    test("manifests and blobs are deleted", async () => {
      const { requests } = await me().runs("delete", "team/deleted", "latest");
      assert.deepEqual(answered(requests).slice(-4), [
        "DELETE /v2/…/manifests/sha256:… 202",
        "HEAD /v2/…/manifests/sha256:… 404",
        "DELETE /v2/…/blobs/sha256:… 202",
        "HEAD /v2/…/blobs/sha256:… 404",
      ]);
      assert.match(await client(registry).fails("module", "team/deleted", "latest", "unused"), /not found/);
    });

    test("a missing or wrong token is refused with the reason (6.10)", async (t) => {
      const { directory } = await downloads(t, "refused");
      const push = ["push", "opentofu-providers/pushed/refused", VERSION, directory];
      assert.match(await client(registry).fails(...push), /401|credential/);
      assert.match(await client(registry, "a-wrong-password").fails(...push), /401/);
      await client(registry).fails("module", "opentofu-providers/pushed/refused", VERSION, "unused");
    });
  });
});
