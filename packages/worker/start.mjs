// The built registry on this machine, with an example provider and module, on simulated storage.
//
// `scripts/pack.mjs` bundles this module with its imports into `start/start.mjs` of the package.
import { chmod, copyFile, mkdir, readFile, writeFile } from "node:fs/promises";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

import { layOutExamples } from "../../examples/packaging/lay-out.mjs";
import { rsaKey } from "../../examples/packaging/rsa-key.mjs";
import { Cleanup } from "../../scripts/lib/cleanup.mjs";
import { writeClientFiles } from "../../scripts/lib/client-files.mjs";
import { endTogether, endWithParent } from "../../scripts/lib/lifetime.mjs";
import { isWindows, npmFile, root, stateDir } from "../../scripts/lib/paths.mjs";
import { adminOf, publishRelease } from "../../scripts/lib/publisher.mjs";
import { explain, main, say, step } from "../../scripts/lib/step.mjs";
import { portOf, requireFree, secretsIn, startServer } from "../../scripts/server.mjs";
import { moduleDocumentation, providerDocumentation } from "./documentation.mjs";
import { moduleRelease, providerRelease } from "./example.mjs";

const USAGE = `Runs a Terrace registry on this machine, with an example provider and module. Everything is in the directory .terrace.

  --no-examples  publish nothing
  PORT=8788      listen there instead of on 8787
`;

/** The directory of this bundle, which also has the examples. */
const HERE = fileURLToPath(new URL(".", import.meta.url));

/** wrangler's program, which exists if wrangler is installed. */
export const wrangler = npmFile("wrangler", "wrangler-dist", "cli.js");

/** The file of the example configuration, whose addresses have the default port. */
const CONSUMER = "main.tf";

export async function start(command) {
  const { values } = parseArgs({ options: { "no-examples": { type: "boolean" }, help: { type: "boolean", short: "h" } } });
  if (values.help) return say(USAGE);
  endWithParent();
  const cleanup = new Cleanup();
  await main(async () => {
    try {
      await run(cleanup, { command, examples: !values["no-examples"] });
    } catch (error) {
      explain(error);
      await cleanup.run();
      throw error;
    }
  });
}

async function run(cleanup, { command, examples }) {
  const port = portOf(process.env);
  await mkdir(stateDir, { recursive: true, mode: 0o700 });
  await chmod(stateDir, 0o700);
  // It has secrets, and may be in somebody's repository.
  await writeFile(join(stateDir, ".gitignore"), "*\n");
  await requireFree(port, command);
  const { version } = JSON.parse(await readFile(join(root, "package.json"), "utf8"));
  const secrets = await secretsIn(stateDir);
  // The key of the example takes seconds: it is made while the registry starts.
  const built = examples ? layOut() : null;
  built?.catch(() => {});
  const server = await step(`starting Terrace ${version}`, async () => startServer(cleanup, { port, stateDir, secrets, worker: await worker() }));
  endTogether(server, cleanup);
  if (examples) await step("publishing the examples", async () => publish(await built, server));
  await writeClientFiles(stateDir, server);
  if (examples) {
    await mkdir(join(stateDir, "example"), { recursive: true });
    await copyFile(join(HERE, CONSUMER), join(stateDir, "example", CONSUMER));
  }
  sayWhatNext(server, examples);
}

async function worker() {
  const { compatibility_date: compatibilityDate } = JSON.parse(await readFile(join(root, "requirements.json"), "utf8"));
  return { main: join(root, "index.js"), compatibilityDate };
}

async function layOut() {
  const bundle = await readFile(join(HERE, "provider.cjs"), "utf8");
  const key = await rsaKey(join(stateDir, "signing"), say);
  return layOutExamples({ stateDir, bundle, key, moduleDir: join(HERE, "module"), log: say });
}

/** Publishes the examples; published packages stay unchanged. */
async function publish(examples, { url, secrets }) {
  const admin = adminOf(url, secrets.adminToken);
  const keys = `/admin/v1/namespaces/${examples.namespace}/keys`;
  accepted(await admin("PUT", keys, await readFile(examples.publicKeyFile)), keys);
  const [provider, module] = [await providerRelease(examples), await moduleRelease(examples)];
  const documentation = [await providerDocumentation(provider, join(HERE, "docs")), await moduleDocumentation(module, examples.moduleDir)];
  for (const part of [provider, module, ...documentation]) accepted(await publishRelease(admin, part), part.path);
}

function accepted({ status, answer }, path) {
  if (status >= 300) throw new Error(`${path} answers ${status}: ${JSON.stringify(answer)}\nTo start over, remove the directory ${stateDir}`);
}

function sayWhatNext({ url }, examples) {
  const directory = relative(process.cwd(), stateDir);
  const configure = isWindows ? `$env:TF_CLI_CONFIG_FILE = "${join(stateDir, "terraformrc")}"` : `. ${directory}/env`;
  const use = examples ? [`cd ${join(directory, "example")}`, "terraform init", "terraform apply"] : [];
  const windows = "The example provider runs on Linux and macOS. On Windows, install it in WSL, or use the module alone.\n";
  say(`
Terrace runs at ${url} until you press Ctrl-C. Published packages stay in ${join(directory, "state")}.

${examples ? "Install the example provider and module from it, in another terminal" : "Use it in another terminal"}:

${[configure, ...use].map((line) => `    ${line}\n`).join("")}
${isWindows && examples ? windows : ""}To look around: ${url}/
`);
}
