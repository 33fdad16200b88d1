// Modules of one registry, mirrored with those that they call, and installed from there under their own addresses while the
// registry and its repositories are gone.
import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { cli } from "../../../scripts/build.mjs";
import { tarGz } from "../support/archives.mjs";
import { onlyLinux, withEachClient, withOldTerraform } from "../support/client.mjs";
import { Repository, serveGit } from "../support/git-server.mjs";
import { run } from "../support/programs.mjs";
import { useRegistry } from "../support/registry.mjs";
import { scratch } from "../support/scratch.mjs";
import { after, before, describe, test } from "../support/testing.mjs";
import { serveTls } from "../support/tls-server.mjs";

const ORIGIN = "registry.opentofu.org";
const PUBLIC = [ORIGIN, "registry.terraform.io"];

const says = (value) => `output "says" {\n  value = ${value}\n}\n`;
const call = (name, source, version) => `module "${name}" {\n  source = "${source}"\n${version ? `  version = "${version}"\n` : ""}}\n`;

/** A configuration that uses the outer module as its author wrote it: without a hostname. */
const CONFIGURATION = { "main.tf": call("outer", "acme/outer/null", "~> 1.0") + says("module.outer.says") };

describe("modules of another registry", () => {
  const directory = scratch();
  const mirrors = { public: useRegistry({ https: true }), private: useRegistry({ https: true, vars: { TERRACE_ACCESS: "private" } }) };
  const locations = {};
  let origin;
  let authorities;

  const answer = (request, response) => {
    const path = new URL(request.url, "https://localhost").pathname;
    if (path.startsWith("/git/")) return serveGit(join(directory, "git"), request, response);
    if (path === "/base.tar.gz") return response.end(tarGz({ "base-1/main.tf": says('"base"') }));
    const json = (document) => response.setHeader("content-type", "application/json").end(JSON.stringify(document));
    if (path === "/.well-known/terraform.json") return json({ "modules.v1": "/v1/modules/" });
    const [, name, version] = path.match(/^\/v1\/modules\/acme\/(\w+)\/null\/(?:([\d.]+)\/download|versions)$/) ?? [];
    if (!locations[name]) return response.writeHead(404).end();
    if (!version) return json({ modules: [{ versions: [{ version: "1.0.0" }] }] });
    return response.writeHead(204, { "x-terraform-get": locations[name] }).end();
  };

  before(async () => {
    origin = await serveTls(join(directory, "tls"), answer);
    const files = [origin.ca, ...Object.values(mirrors).map(({ env }) => env.SSL_CERT_FILE)];
    authorities = join(directory, "authorities.pem");
    await writeFile(authorities, (await Promise.all(files.map((file) => readFile(file, "utf8")))).join("\n"));
    const at = (name) => `git::${origin.url}/git/${name}.git?ref=v1.0.0`;
    Object.assign(locations, { base: `${origin.url}/base.tar.gz//base-1`, inner: at("inner").replace("?", "//module?"), outer: at("outer") });
    await new Repository(join(directory, "git"), "inner").commits({ "module/main.tf": call("base", "acme/base/null", "1.0.0") + says('"inner ${module.base.says}"') }, "v1.0.0");
    const outer = { "main.tf": call("inner", "acme/inner/null", "~> 1.0") + says('"outer ${module.inner.says}"'), "modules/extra/main.tf": call("git", at("inner")) };
    await new Repository(join(directory, "git"), "outer").commits(outer, "v1.0.0");
  });
  after(() => origin?.stop());

  /** Runs `terrace mirror …` and returns its exit code, its report and the registry's audit log. */
  async function runsMirror(mirror, ...args) {
    // Git trusts what the command trusts.
    const { GIT_SSL_CAINFO: _, ...inherited } = process.env;
    const env = { ...inherited, ...mirror.env, SSL_CERT_FILE: authorities };
    const { code, stdout, output } = await run(cli, ["mirror", ...args, "--json"], { env });
    assert.match(stdout.toString(), /^\{/, output);
    const audit = await run(cli, ["admin", "audit", "--json"], { env });
    return { code, report: JSON.parse(stdout.toString()), audit: audit.stdout.toString() };
  }

  const withOrigin = () => ["--origin", `${ORIGIN}=${origin.url}`];
  const statuses = ({ report }) => report.versions.map(({ address, version, status }) => `${address.replace(`${ORIGIN}/acme/`, "")} ${version} ${status}`);

  async function configured(t) {
    const place = scratch(t);
    await writeFile(join(place, "main.tf"), CONFIGURATION["main.tf"]);
    return place;
  }

  for (const [title, mirror] of Object.entries(mirrors)) {
    test(`sync mirrors the called modules once into a ${title} registry`, { skip: onlyLinux }, async (t) => {
      const place = await configured(t);
      const first = await runsMirror(mirror, "sync", place, ...withOrigin());
      assert.equal(first.code, 0, JSON.stringify(first.report));
      assert.deepEqual(statuses(first), ["base/null 1.0.0 created", "inner/null 1.0.0 created", "outer/null 1.0.0 created"]);
      assert.match(first.report.versions[2].elsewhere.join(), /modules\/extra\/main\.tf:2: git::https/);

      const second = await runsMirror(mirror, "sync", place, ...withOrigin());
      assert.deepEqual(statuses(second), ["base/null 1.0.0 unchanged", "inner/null 1.0.0 unchanged", "outer/null 1.0.0 unchanged"]);
      assert.equal(second.audit, first.audit);
    });
  }

  test("a moved tag is refused with both commits, and the stored version stays", { skip: onlyLinux }, async (t) => {
    const inner = new Repository(join(directory, "git"), "inner");
    const before = await inner.git("rev-parse", "HEAD");
    const moved = await inner.commits({ "module/evil.tf": says('"evil"') }, "v1.0.0");
    const synced = await runsMirror(mirrors.public, "sync", await configured(t), ...withOrigin());
    assert.equal(synced.code, 4, JSON.stringify(synced.report));
    assert.deepEqual(statuses(synced), ["inner/null 1.0.0 conflict", "outer/null 1.0.0 unchanged"]);
    const reason = synced.report.versions[0].errors.join();
    assert.ok(reason.includes(before) && reason.includes(moved), reason);
    assert.ok(!synced.audit.includes(moved));
  });

  test("the origin is gone from now on", async () => {
    await origin.stop();
    await assert.rejects(fetch(origin.url));
  });

  /** The configuration of a client whose public registries are a mirror; `token` is for both. */
  const inPlace = (mirror, token) => {
    const host = (name) => `host "${name}" {\n  services = {\n    "modules.v1" = "${mirror.url}/origins/${ORIGIN}/v1/modules/"\n  }\n}\n`;
    const credentials = (name) => (token ? `credentials "${name}" {\n  token = "${token}"\n}\n` : "");
    return { config: PUBLIC.map((name) => host(name) + credentials(name)).join(""), env: { SSL_CERT_FILE: authorities } };
  };

  const define = (client) => {
    for (const [title, mirror] of Object.entries(mirrors)) {
      test(`the modules are installed from a ${title} registry under their own addresses`, { skip: onlyLinux }, async (t) => {
        const work = await client.workspace(t, mirror, CONFIGURATION, inPlace(mirror, title === "private" && mirror.secrets.adminToken));
        await work.runs("init");
        assert.equal((await work.outputs()).says, "outer inner base");
        if (title === "private") {
          const without = await client.workspace(t, mirror, CONFIGURATION, inPlace(mirror));
          await without.fails("init");
        }
      });
    }
  };
  withEachClient(define);
  withOldTerraform(define);
});
