// `npm start`: from a fresh clone to a running registry with an example provider and module.
import { chmod, mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { parseArgs } from "node:util";

import { buildAll, cli, cliDir } from "./build.mjs";
import { Cleanup } from "./lib/cleanup.mjs";
import { shellExports, terraformConfig } from "./lib/client-files.mjs";
import { endTogether, endWithParent } from "./lib/lifetime.mjs";
import { secretsIn } from "./lib/local-secrets.mjs";
import { continueUnderNewNode } from "./lib/npm.mjs";
import { root, stateDir } from "./lib/paths.mjs";
import { run } from "./lib/run.mjs";
import { refuseSecond } from "./lib/running.mjs";
import { describeSettings, isPrivate, readSettings } from "./lib/settings.mjs";
import { explain, main, say, step } from "./lib/step.mjs";
import { portOf, requireFree, startServer } from "./server.mjs";
import { setup } from "./setup.mjs";

const USAGE = `npm start [-- --https] [-- --no-presign] [-- --no-examples] [-- --settings FILE] [-- --var NAME=VALUE]

  --https        serve TLS, with a certificate authority made for this checkout
  --no-presign   let the Worker sign and serve download URLs itself, as a registry without S3 keys does
  --no-examples  publish nothing, so that a copy can be imported into an empty registry
  --settings FILE, --var NAME=VALUE
                 run with the [vars] of another TOML file, such as one of examples/settings, and with this setting
  PORT=8788      listen there instead of on 8787
  TERRACE_…      a setting of the registry, such as TERRACE_ACCESS=private; wrangler.toml and .dev.vars are read too
`;

endWithParent();
await main(async () => {
  const options = readOptions();
  if (options.help) return say(USAGE);
  const cleanup = new Cleanup();
  try {
    await start(options, cleanup);
  } catch (error) {
    explain(error);
    await cleanup.run();
    throw error;
  }
});

async function start(options, cleanup) {
  await refuseSecond(stateDir);
  await requireFree(options.port, "npm start");
  await setup();
  await continueUnderNewNode();
  await mkdir(stateDir, { recursive: true });
  await chmod(stateDir, 0o700);
  const settings = await readSettings(options.given);
  for (const line of describeSettings(settings)) say(`  ${line}`);

  await buildAll();
  const examples = options.examples ? await buildExamples() : null;
  const { TERRACE_ADMIN_TOKEN: adminToken, ...vars } = settings.values;
  const own = await secretsIn(stateDir);
  const server = await startServer(cleanup, {
    ...options,
    stateDir,
    secrets: { ...own, adminToken: adminToken || own.adminToken },
    vars,
    say: (line) => say(`  ${line}`),
  });
  endTogether(server, cleanup);
  if (examples) await publish(examples, server);
  await writeClientFiles(server, isPrivate(vars));
  sayWhatNext(server, { ...options, isPrivate: isPrivate(vars) });
}

function readOptions() {
  const { values } = parseArgs({
    options: {
      https: { type: "boolean" },
      "no-presign": { type: "boolean" },
      "no-examples": { type: "boolean" },
      settings: { type: "string", multiple: true },
      var: { type: "string", multiple: true },
      help: { type: "boolean", short: "h" },
    },
  });
  const port = portOf(process.env);
  const { https = false, "no-presign": noPresign = false, "no-examples": noExamples = false, help } = values;
  const { settings: files = [], var: vars = [] } = values;
  return { port, https, presign: !noPresign, examples: !noExamples, help, given: { files, vars } };
}

async function buildExamples() {
  // Imported after `setup`, because it needs npm packages.
  const { buildExamples: build } = await import("../examples/build.mjs");
  return build({ stateDir, log: (line) => say(`  ${line}`) });
}

/** Publishes the examples through the command, like any publisher; published packages stay unchanged. */
async function publish({ namespace, publicKeyFile, providerDist, providerDocs, moduleDir, moduleAddress, moduleVersion }, server) {
  await step("publishing the examples", async (log) => {
    const options = { log, env: { ...process.env, ...server.env } };
    await run(cli, ["key", "add", namespace, publicKeyFile], options);
    const provider = run(cli, ["publish", "provider", providerDist, "--docs", providerDocs, "--namespace", namespace], options);
    await provider.catch((error) => {
      const hint =
        `If the key or the examples in ${stateDir} were deleted, or a copy of another checkout was imported, others are published: ` +
        "remove the whole directory to start over, or keep it and run npm start -- --no-examples";
      throw new Error(`${error.message}\n${hint}`);
    });
    await run(cli, ["publish", "module", moduleDir, "--address", moduleAddress, "--version", moduleVersion], options);
  });
}

async function writeClientFiles(server, isPrivate) {
  const terraformrc = join(stateDir, "terraformrc");
  const token = isPrivate ? server.secrets.adminToken : null;
  await writeFile(terraformrc, terraformConfig(server, { token }), { mode: 0o600 });
  const env = shellExports({ ...server.env, TF_CLI_CONFIG_FILE: terraformrc }, cliDir);
  await writeFile(join(stateDir, "env"), env, { mode: 0o600 });
}

function sayWhatNext({ url }, { https, examples, isPrivate }) {
  const notes = [
    https && "Terraform trusts the local certificate by SSL_CERT_FILE, on Linux; .terrace/env sets it.",
    isPrivate && "Reading needs a token: .terrace/env points terraform and tofu to one, in .terrace/terraformrc.",
  ];
  say(`
Terrace runs at ${url} until you press Ctrl-C. Published packages stay in .terrace/state.

${examples ? "Install the example provider and module from it, in another terminal" : "Use it in another terminal"}:

    cd ${root}
    . .terrace/env
${examples ? "    cd examples/consumer\n    terraform init\n    terraform apply\n" : ""}
Publish your own:

    terrace publish module ./vpc --address acme/vpc/aws --version 1.0.0
    terrace publish provider dist/ --namespace acme        # the output of GoReleaser

Check the registry, and the configuration of this machine:

    terrace doctor ${url}

The source address of that module is ${new URL(url).host}/acme/vpc/aws.
${notes.filter(Boolean).map((note) => `\n${note}\n`).join("")}`);
}
