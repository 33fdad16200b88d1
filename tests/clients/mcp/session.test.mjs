// A session of an assistant: from "use our VPC module" to a configuration that Terraform accepts, with the answers of tools
// alone.
import assert from "node:assert/strict";
import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";

import { cli } from "../../../scripts/build.mjs";
import { HOST, withEachClient } from "../support/client.mjs";
import { uses } from "../support/mcp.mjs";
import { runs } from "../support/programs.mjs";
import { useRegistry } from "../support/registry.mjs";
import { scratch } from "../support/scratch.mjs";
import { before, describe, test } from "../support/testing.mjs";

const FILES = {
  "README.md": "# VPC\n\nThe network of the company: every account has one.\n",
  "variables.tf": `variable "cidr" {
  type        = string
  description = "The range of addresses."

  validation {
    condition     = can(cidrhost(var.cidr, 0))
    error_message = "cidr is not a range."
  }
}

variable "zones" {
  type        = list(string)
  description = "The zones, at least two."

  validation {
    condition     = length(var.zones) >= 2
    error_message = "zones has fewer than two."
  }
}

variable "tags" {
  type    = map(string)
  default = {}
}
`,
  "outputs.tf": 'output "id" {\n  value = "vpc-${var.cidr}"\n}\n',
  "examples/simple/main.tf": 'module "vpc" {\n  source = "../.."\n  cidr   = "10.0.0.0/16"\n  zones  = ["a", "b"]\n}\n',
};

/** Returns the values of the arguments in the first block of an example, by name. */
function valuesIn(example) {
  const lines = [...example.matchAll(/^ {2}(\w+)\s*=\s*(.+)$/gm)];
  return Object.fromEntries(lines.map(([, name, value]) => [name, value]));
}

/** Does what an assistant does when its user says "use our VPC module". Returns the configuration. */
async function session(target) {
  const { results } = await uses(target, "search", { query: "vpc", kind: "module" });
  const { snippet, documents, details } = await uses(target, "get_module", { address: results[0].address });
  const { inputs, outputs } = details.module.root;
  const example = documents.find(({ name }) => name === "simple/main.tf").path;
  const { text } = await uses(target, "get_docs", { address: details.address, version: details.version, document: example });
  const values = valuesIn(text);
  let code = snippet;
  for (const { name } of inputs.filter((input) => input.default === undefined)) {
    assert.ok(values[name], `the example has no value of ${name}: ${text}`);
    code = code.replace(new RegExp(`^( +${name} += ).*$`, "m"), `$1${values[name]}`);
  }
  const [output] = outputs;
  const call = /^module "(.+)" \{/.exec(code)[1];
  return `${code}\noutput "${output.name}" {\n  value = module.${call}.${output.name}\n}\n`;
}

describe("a session", () => {
  const registry = useRegistry({ vars: { TERRACE_HOSTNAMES: HOST } });
  const directory = scratch();

  before(async () => {
    for (const [name, text] of Object.entries(FILES)) {
      await mkdir(dirname(join(directory, name)), { recursive: true });
      await writeFile(join(directory, name), text);
    }
    const env = { ...process.env, ...registry.env, TERRACE_URL: registry.url, TERRACE_TOKEN: registry.secrets.adminToken };
    const args = ["publish", "module", directory, "--address", "acme/vpc/aws", "--version", "1.4.0", "--no-source"];
    await runs(cli, args, { env });
    await runs(cli, ["admin", "reindex"], { env });
  });

  withEachClient((client) => {
    test("an assistant writes a configuration that is valid, with the answers of tools alone", async (t) => {
      const written = await session({ url: `${registry.url}/mcp`, host: HOST });
      assert.ok(written.includes(`"${HOST}/acme/vpc/aws"`), written);
      assert.ok(written.includes('version = "~> 1.4"'), written);
      const work = await client.workspace(t, registry, { "main.tf": written });
      await work.runs("init");
      const { stdout } = await work.runs("validate", "-json");
      assert.equal(JSON.parse(stdout).valid, true, stdout);
      assert.deepEqual(await work.outputs(), { id: "vpc-10.0.0.0/16" });
    });
  });
});
