// Packages for the tests of the pages: with documentation, several versions, and every status.
import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";

import { mirrored, module, provider, saying } from "./releases.mjs";

export const PROVIDER = "acme/widget";
export const MODULE = "acme/network/aws";

/** The reasons of the statuses, which pages show. */
const REASONS = {
  deprecated: "use acme/network/aws instead",
  withdrawn: "it was built from the wrong commit",
  revoked: "it deletes networks",
};

/** The documentation of the provider. */
const DOCUMENTS = {
  "docs/index.md": `---
page_title: "widget Provider"
description: |-
  Manages widgets.
---

# widget Provider

Manages widgets. Read the [guide](guides/start.md), or about [widget_part](resources/part.md).

\`\`\`terraform
provider "widget" {
  region = "eu" # the nearest
}
\`\`\`

| name | meaning |
|---|---|
| a column | with \`code\`, and a_very_long_name_that_does_not_fit_into_a_narrow_column_of_a_telephone_and_must_scroll |

![a picture](https://pictures.example/widget.png)
`,
  "docs/resources/part.md": `---
page_title: "widget_part Resource"
subcategory: "Parts"
---

# widget_part

~> **Note** A part belongs to one widget.

## Example

\`\`\`terraform
resource "widget_part" "example" {
  name = "cog"
}
\`\`\`

## Argument Reference

- \`name\` - (Required) The name.
`,
  "docs/resources/gear.md": "---\nsubcategory: Parts\n---\n# widget_gear\n\nTurns.\n",
  "docs/data-sources/part.md": "# widget_part\n\nFinds a part.\n",
  "docs/functions/turn.md": "# turn\n\nTurns a widget.\n",
  "docs/guides/start.md": "---\npage_title: First steps\n---\n# First steps\n\n1. Write\n2. Plan\n3. Apply\n",
};

/** Returns the files of a module; later versions have more inputs. */
function moduleFiles(inputs) {
  const variables = inputs.map((name) => `variable "${name}" {\n  type        = string\n  description = "The ${name}."\n}\n`);
  return {
    "README.md": "# Network\n\nA **network** with [endpoints](modules/endpoints).\n\n- [x] one\n- [ ] two\n\n```terraform\nmodule \"network\" {}\n```\n",
    "main.tf": 'terraform {\n  required_version = ">= 1.3"\n}\n\nmodule "endpoints" {\n  source = "./modules/endpoints"\n}\n',
    "variables.tf": `${variables.join("\n")}\nvariable "size" {\n  type        = number\n  default     = 3\n  description = "How many."\n}\n`,
    "outputs.tf": 'output "says" {\n  value       = "a network of ${var.name}"\n  description = "What it is."\n}\n',
    "modules/endpoints/README.md": "# Endpoints\n\nOnly the endpoints.\n",
    "modules/endpoints/outputs.tf": Array.from({ length: 13 }, (_, at) => `output "address_${at}" {\n  value = ${at}\n}\n`).join("\n"),
    "modules/endpoints/main.tf": 'variable "zone" {\n  type    = string\n  default = "a"\n}\n\noutput "zone" {\n  value = var.zone\n}\n',
    "examples/simple/README.md": "# Simple\n\nThe smallest network.\n",
    "examples/simple/main.tf": 'module "network" {\n  source = "../.."\n  name   = "simple"\n}\n',
  };
}

/** Writes files below `directory`. */
async function writeAll(directory, files) {
  for (const [name, text] of Object.entries(files)) {
    await mkdir(dirname(join(directory, name)), { recursive: true });
    await writeFile(join(directory, name), text);
  }
}

/** Publishes all packages; `directory` is for their files and the signing key. */
export async function publishCatalogue(registry, directory) {
  const terrace = (...args) => registry.terrace(args, { cwd: directory });
  const key = await registry.trusts("acme");
  await registry.publishes(
    provider({ address: PROVIDER, version: "1.0.0", key }),
    provider({ address: PROVIDER, version: "1.0.1", key }),
    provider({ address: PROVIDER, version: "1.1.0", key }),
    provider({ address: PROVIDER, version: "2.0.0-rc.1", key }),
    mirrored("origin.example", key, provider({ address: PROVIDER, version: "1.0.0", key })),
    module({ address: "acme/old/aws", version: "1.0.0", files: saying("old") }),
    module({ address: "globex/other/gcp", version: "0.1.0", files: saying("other") }),
  );
  await writeAll(join(directory, "provider"), DOCUMENTS);
  for (const version of ["1.0.0", "1.1.0"]) await terrace("docs", "add", PROVIDER, version, "provider");
  for (const [version, inputs] of Object.entries({ "1.0.0": ["name"], "1.2.0": ["name", "owner"], "1.3.0": ["name", "owner"] })) {
    await writeAll(join(directory, version), moduleFiles(inputs));
    await terrace("publish", "module", version, "--address", MODULE, "--version", version, "--no-source");
  }
  await says(registry, "modules/acme/old/aws", "deprecated");
  await says(registry, `modules/${MODULE}/1.3.0`, "revoked");
  await says(registry, `providers/${PROVIDER}/1.0.1`, "withdrawn");
  // The catalogue of all owners is rebuilt at most once a minute, or by this command.
  await terrace("admin", "reindex");
}

/** Gives a package or a version a status. */
async function says(registry, subject, state) {
  const body = JSON.stringify({ state, reason: REASONS[state] });
  const { status, answer } = await registry.admin("PUT", `/admin/v1/${subject}/status`, body);
  if (status !== 200) throw new Error(`the status of ${subject} is not set: ${JSON.stringify(answer)}`);
}

/** One page of each kind: its path, and its status if it is no success. */
export const PAGES = {
  "the start page": { path: "/", shows: "globex" },
  "the list of modules": { path: "/browse/modules", shows: "network" },
  "the list of providers": { path: "/browse/providers", shows: "widget" },
  "the page about assistants": { path: "/assistants", shows: "claude mcp add" },
  "a namespace": { path: "/namespaces/acme", shows: "network" },
  "a version of a provider": { path: `/providers/${PROVIDER}/1.1.0` },
  "an older version of a provider": { path: `/providers/${PROVIDER}/1.0.0` },
  "a withdrawn version": { path: `/providers/${PROVIDER}/1.0.1`, shows: REASONS.withdrawn },
  "a version without documentation": { path: `/providers/${PROVIDER}/2.0.0-rc.1` },
  "a mirrored provider": { path: `/mirrored/origin.example/${PROVIDER}/1.0.0` },
  "the first document of a provider": { path: `/providers/${PROVIDER}/1.1.0/docs` },
  "a document": { path: `/providers/${PROVIDER}/1.1.0/docs/resources/part` },
  "a guide": { path: `/providers/${PROVIDER}/1.1.0/docs/guides/start` },
  "a module": { path: `/modules/${MODULE}/1.2.0` },
  "a deprecated module": { path: "/modules/acme/old/aws/1.0.0", shows: REASONS.deprecated },
  "a revoked version": { path: `/modules/${MODULE}/1.3.0`, shows: REASONS.revoked },
  "a submodule": { path: `/modules/${MODULE}/1.2.0/submodules/endpoints` },
  "an example": { path: `/modules/${MODULE}/1.2.0/examples/simple` },
  "the versions of a module": { path: `/modules/${MODULE}/versions`, shows: "revoked" },
  "what uses a provider": { path: `/providers/${PROVIDER}/used-by` },
  "the choice of two versions": { path: `/modules/${MODULE}/compare` },
  "a comparison of two versions of a module": { path: `/modules/${MODULE}/compare/1.0.0...1.2.0`, shows: "owner" },
  "a comparison of two versions of a provider": { path: `/providers/${PROVIDER}/compare/1.0.0...1.1.0` },
  "a search with results": { path: "/search?q=widget", shows: "widget" },
  "a search without results": { path: "/search?q=nobodyhasthisname" },
  "a page that does not exist": { path: "/nothing/here", status: 404 },
  "a package that does not exist": { path: "/modules/acme/nothing/aws/1.0.0", status: 404 },
};
