// Versions in use and what uses a package: `terrace check`, whose SARIF the schema of OASIS accepts, and the warnings before a change.
import assert from "node:assert/strict";
import { mkdir, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";

import { useRegistry } from "../support/registry.mjs";
import { scratch } from "../support/scratch.mjs";
import { before, describe, test } from "../support/testing.mjs";

const ofSarif = createRequire(createRequire(import.meta.url).resolve("@microsoft/jest-sarif"));

describe("what is in use", () => {
  const registry = useRegistry({ mode: "presigned" });
  const directory = scratch();
  const work = join(directory, "work");

  async function write(files) {
    for (const [name, text] of Object.entries(files)) {
      await mkdir(dirname(join(directory, name)), { recursive: true });
      await writeFile(join(directory, name), text);
    }
  }

  const runs = async (...args) => (await registry.terrace(args, { cwd: work })).output;

  const publishes = (name, version, from = name) => runs("publish", "module", "--address", `acme/${name}/aws`, "--version", version, `../${from}`);

  const called = (address, version) => `module "x" {\n  source  = "${registry.host}/${address}"\n  version = "${version}"\n}\n`;

  before(async () => {
    await write({
      "vpc/main.tf": 'output "says" {\n  value = "vpc"\n}\n',
      "app/main.tf": called("acme/vpc/aws", "~> 1.0"),
      "next/main.tf": called("acme/vpc/aws", "~> 1.1"),
      "work/main.tf": called("acme/vpc/aws", "1.0.0"),
      "work/net/main.tf": called("acme/app/aws", "~> 1.0"),
    });
    // The first reader of an empty registry builds its catalogue, and others at that moment wait half a minute.
    await registry.json("/api/v1/namespaces");
    for (const version of ["1.0.0", "1.1.0"]) await publishes("vpc", version);
    await publishes("app", "1.0.0");
  });

  test("a deprecation, a revocation and an erasure name the modules that use the package", async () => {
    const reason = ["--reason", "use acme/net/aws"];
    const warns = /acme\/vpc\/aws is used by the newest versions of acme\/app\/aws/;
    assert.match(await runs("release", "revoke", "acme/vpc/aws@1.0.0", ...reason), warns);
    assert.match(await runs("admin", "erase", "acme/vpc/aws@1.1.0", ...reason), warns);
    await runs("release", "deprecate", "acme/app/aws", ...reason);
    assert.match(await runs("show", "acme/vpc/aws", "--used-by"), /acme\/app\/aws/);
    await runs("admin", "erase", "acme/app/aws", "--yes", ...reason);
    assert.match(await runs("show", "acme/vpc/aws", "--used-by"), /of no module that you may see/);
  });

  test("the SARIF of a check is valid", async () => {
    await publishes("app", "1.1.0", "next");
    await runs("release", "deprecate", "acme/app/aws", "--reason", "use acme/net/aws");
    const { stdout } = await registry.terrace(["check", "--sarif"], { cwd: work, code: 3 });
    const sarif = JSON.parse(stdout);
    assert.deepEqual(sarif.runs[0].results.map(({ ruleId }) => ruleId), ["revoked", "deprecated"]);
    const Ajv = ofSarif("ajv");
    const ajv = new Ajv({ schemaId: "auto", meta: ofSarif("ajv/lib/refs/json-schema-draft-04.json"), unknownFormats: "ignore" });
    const accepts = ajv.compile(ofSarif("./schemas/sarif-2.1.0-rtm.5.json"));
    assert.ok(accepts(sarif), JSON.stringify(accepts.errors));
    assert.ok(!accepts({ ...sarif, runs: [{ ...sarif.runs[0], tool: {} }] }));
  });
});
