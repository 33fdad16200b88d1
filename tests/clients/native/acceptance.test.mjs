// `npm run acceptance` against a registry that it reaches only over the network.
import assert from "node:assert/strict";
import { readdir } from "node:fs/promises";
import { join } from "node:path";

import { root } from "../../../scripts/lib/paths.mjs";
import { useRegistry } from "../support/registry.mjs";
import { run, runs, unlessOnPath } from "../support/programs.mjs";
import { describe, test } from "../support/testing.mjs";

/** The script gives the file to Node everywhere; Go reads the variable only on Linux. */
const skip = unlessOnPath("terraform") || (process.platform === "linux" ? false : "SSL_CERT_FILE works on Linux only");

const SCRIPT = join(root, "scripts", "acceptance.mjs");

const acceptance = (command, { url, env }, ...args) =>
  command(process.execPath, [SCRIPT, url, ...args], { env: { ...process.env, ...env } });

for (const [title, vars] of Object.entries({ public: {}, private: { TERRACE_ACCESS: "private" } })) {
  describe(`a ${title} registry`, () => {
    const registry = useRegistry({ https: true, vars });

    test("passes the tests with real clients, in a namespace of their own", { skip }, async () => {
      const { output } = await acceptance(runs, registry, "--yes", "--only", "clients");
      assert.match(output, /\n {2}measured: published in \d+ ms, downloaded in \d+ ms\n/);
      const [, prefix] = output.match(/into namespaces that begin with (acceptance\w+)\./);
      assert.match(output, /\n[1-9]\d* passed, 0 failed, \d+ skipped\nEverything that was published is in namespaces/);
      const releases = await readdir(join(registry.data, "facts", "releases"), { recursive: true });
      const versions = releases.filter((name) => name.endsWith(".json"));
      assert.ok(versions.length >= 4, versions.join(", "));
      assert.deepEqual(versions.filter((name) => !name.includes(`/${prefix}`)), []);
    });
  });
}

describe("the command line", () => {
  const registry = useRegistry();

  test("sends nothing without consent", async () => {
    const { code, output } = await acceptance(run, registry);
    assert.equal(code, 1);
    assert.match(output, /publishes up to 182 versions .*nothing was sent: repeat the command with --yes/s);
    const { answer } = await registry.admin("GET", "/admin/v1/audit");
    assert.equal(answer.newest, 0, JSON.stringify(answer));
  });

  test("names the mistake in an address, a token or a part", async () => {
    const fails = async (args, env = {}) => {
      const { code, output } = await run(process.execPath, [SCRIPT, ...args], { env: { ...process.env, ...registry.env, ...env } });
      assert.equal(code, 1, output);
      return output;
    };
    const host = registry.host;
    for (const secret of [`http://u:hunter2hunter2@${host}`, `u:hunter2hunter2@${host}`, `${registry.url}/?token=hunter2hunter2`]) {
      const output = await fails([secret]);
      assert.match(output, /has a user, a password or a query/);
      assert.doesNotMatch(output, /hunter2/);
    }
    const broken = await fails([registry.url, "--yes"], { TERRACE_TOKEN: "a-token-with\nhunter2hunter2" });
    assert.match(broken, /TERRACE_TOKEN has a line break/);
    assert.doesNotMatch(broken, /hunter2/);
    for (const [args, env, told] of [
      [["registry.example.com"], {}, /usage: TERRACE_TOKEN=… npm run acceptance -- URL/],
      [[`${registry.url}/v1`], {}, /\/v1 is not the URL of a registry, such as https:/],
      [["http://registry.example.com"], {}, /http:\/\/registry\.example\.com would get the admin token without TLS/],
      [[registry.url, "--only", "all"], {}, /--only all: the parts are http and clients/],
      [[registry.url], { TERRACE_TOKEN: "" }, /TERRACE_TOKEN is not set/],
      [[registry.url, "--yes"], { TERRACE_TOKEN: "a-wrong-token-of-16" }, /answers 401 to a publish/],
      [["http://127.0.0.1:9", "--yes"], {}, /http:\/\/127\.0\.0\.1:9 does not answer: /],
    ]) assert.match(await fails(args, env), told);
  });
});
