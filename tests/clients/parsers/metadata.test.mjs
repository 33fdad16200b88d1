// The details of modules: compares those that Terrace extracts with those of terraform-config-inspect, and the lines of
// errors with those that terraform reports. The modules are in crates/terrace-metadata/tests/fixtures.
import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { join } from "node:path";

import { exe, root } from "../../../scripts/lib/paths.mjs";
import { run as mustRun } from "../../../scripts/lib/run.mjs";
import { run, runs, unlessOnPath } from "../support/programs.mjs";
import { scratch } from "../support/scratch.mjs";
import { before, describe, test } from "../support/testing.mjs";

const FIXTURES = join(root, "crates", "terrace-metadata", "tests", "fixtures");
const DESCRIBE = join(process.env.CARGO_TARGET_DIR ?? join(root, "target"), "debug", "examples", exe("describe"));
const INSPECT = "terraform-config-inspect";

/** Modules that the other tool reads differently, and why. */
const DIFFERENT = {
  overrides: "terraform-config-inspect replaces whole blocks, and Terraform merges them",
};

/** Errors whose line is that of the start of the open part; Terraform names the line at which it notices. */
const EARLIER = new Set(["open-heredoc", "open-list"]);

const modules = (folder) => readdirSync(join(FIXTURES, folder)).toSorted();
const sorted = (entries) => entries.toSorted((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1));

/** Returns the details of a module. */
async function details(folder, name) {
  const { stdout } = await runs(DESCRIBE, [join(FIXTURES, folder, name)]);
  return JSON.parse(stdout).contents.module;
}

/** Returns the details by terraform-config-inspect, whose exit code says whether there are errors. */
async function inspected(directory) {
  const { stdout } = await run(INSPECT, ["--json", directory]);
  return JSON.parse(stdout);
}

/** The parts of our details that the other tool knows, in a comparable form. */
function ours(part) {
  const resources = (mode) => sorted((part.resources ?? []).filter((it) => it.mode === mode).map((it) => [it.type, it.name, it.provider]));
  return {
    inputs: (part.inputs ?? []).map((it) => [
      it.name,
      it.type ?? "",
      it.description ?? "",
      it.deprecated ?? "",
      it.is_sensitive ?? false,
      it.default === undefined,
    ]),
    outputs: (part.outputs ?? []).map((it) => [it.name, it.description ?? "", it.deprecated ?? "", it.is_sensitive ?? false]),
    managed: resources("managed"),
    data: resources("data"),
    // The other tool knows no ephemeral resources, and so not the providers that only they imply.
    providers: (part.providers ?? []).map((it) => [it.name, it.source ?? "", it.versions ?? [], it.aliases ?? []]),
    versions: part.required_versions ?? [],
    calls: (part.calls ?? []).map((it) => [it.name, it.source, it.version ?? ""]),
    errors: part.errors ?? [],
  };
}

function theirs(module) {
  const each = (object, read) => sorted(Object.entries(object ?? {}).map(([name, it]) => [name, ...read(it)]));
  const resources = (object) => sorted(Object.values(object).map((it) => [it.type, it.name, it.provider.name]));
  const aliases = (it) => (it.aliases ?? []).map((alias) => `${alias.name}.${alias.alias}`);
  return {
    inputs: each(module.variables, (it) => [it.type ?? "", it.description ?? "", it.deprecated ?? "", it.sensitive ?? false, it.required]),
    outputs: each(module.outputs, (it) => [it.description ?? "", it.deprecated ?? "", it.sensitive ?? false]),
    managed: resources(module.managed_resources),
    data: resources(module.data_resources),
    providers: each(module.required_providers, (it) => [it.source ?? "", it.version_constraints ?? [], aliases(it)]),
    versions: module.required_core ?? [],
    calls: each(module.module_calls, (it) => [it.source, it.version ?? ""]),
    errors: (module.diagnostics ?? []).map((it) => it.summary),
  };
}

describe("the details of modules", () => {
  before(() => mustRun("cargo", ["build", "--quiet", "--workspace", "--features", "terrace-cli/object-store", "--example", "describe"]));

  test("details match those of terraform-config-inspect", { skip: unlessOnPath(INSPECT) }, async (t) => {
    const names = modules("modules").filter((name) => !(name in DIFFERENT));
    assert.ok(names.length >= 20, `only ${names.length} modules were compared`);
    let parts = 0;
    for (const name of names) {
      const found = await details("modules", name);
      const all = [["", found.root], ...(found.submodules ?? []).map((it) => [`modules/${it.name}`, it.part])];
      for (const [directory, part] of [...all, ...(found.examples ?? []).map((it) => [`examples/${it.name}`, it.part])]) {
        assert.deepEqual(ours(part), theirs(await inspected(join(FIXTURES, "modules", name, directory))), `${name}/${directory}`);
        parts += 1;
      }
    }
    t.diagnostic(`${names.length} modules with ${parts} directories`);
  });

  test("errors have the lines that terraform reports", { skip: unlessOnPath("terraform") }, async (t) => {
    const home = scratch(t);
    const env = { ...process.env, TF_CLI_CONFIG_FILE: join(home, "none"), TF_DATA_DIR: home };
    const names = modules("broken");
    assert.ok(names.length >= 15, `only ${names.length} modules were compared`);
    for (const name of names) {
      const { stdout } = await run("terraform", ["validate", "-json"], { cwd: join(FIXTURES, "broken", name), env });
      const [{ range }] = JSON.parse(stdout).diagnostics;
      const [file, line] = (await details("broken", name)).root.errors[0].split(":");
      if (EARLIER.has(name)) assert.ok(Number(line) < range.start.line, name);
      else assert.deepEqual([file, Number(line)], [range.filename, range.start.line], name);
    }
  });
});
