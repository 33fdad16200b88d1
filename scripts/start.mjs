// `npm start`: from a fresh clone to a running registry with an example provider and module.
import { chmod, mkdir } from "node:fs/promises";
import { parseArgs } from "node:util";

import { buildAll, buildCli, cli, cliDir } from "./build.mjs";
import { Cleanup } from "./lib/cleanup.mjs";
import { writeClientFiles } from "./lib/client-files.mjs";
import { endTogether, endWithParent } from "./lib/lifetime.mjs";
import { continueUnderNewNode, ensureExamplePackages } from "./lib/npm.mjs";
import { root, stateDir } from "./lib/paths.mjs";
import { endAll, run } from "./lib/run.mjs";
import { requireRust } from "./lib/rust.mjs";
import { isPrivate, readSettings } from "./lib/settings.mjs";
import { explain, main, say, step } from "./lib/step.mjs";
import { startNativeServer } from "./native-server.mjs";
import { portOf, requireFree, secretsIn, startServer } from "./server.mjs";
import { setup } from "./setup.mjs";

const USAGE = `npm start [-- --https] [-- --no-examples] [-- --settings FILE] [-- --var NAME=VALUE] [-- --worker [--no-presign]]

  --https        serve TLS, with a certificate authority made for this checkout
  --no-examples  publish nothing, so that a copy can be imported into an empty registry
  --settings FILE, --var NAME=VALUE
                 run with the [vars] of another TOML file, such as one of examples/settings, and with this setting
  --worker       run the same registry as a Worker in workerd, with packages of its own: the first time, this builds a compiler's
                 target and two tools
  --no-presign   let the Worker sign and serve download URLs itself, as a registry without S3 keys does
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
    endAll();
    await cleanup.run();
    throw error;
  }
});

async function start(options, cleanup) {
  await requireFree(options.port, "npm start");
  if (options.worker) {
    await setup();
    await continueUnderNewNode();
  } else {
    await requireRust();
    await ensureExamplePackages();
  }
  await mkdir(stateDir, { recursive: true });
  await chmod(stateDir, 0o700);
  const settings = await readSettings(options.given);
  for (const line of settings.lines) say(`  ${line}`);
  const [examples] = await Promise.all([options.examples ? buildExamples() : null, options.worker ? buildAll() : buildCli()]);
  const { TERRACE_ADMIN_TOKEN: adminToken, ...vars } = settings.values;
  const own = await secretsIn(stateDir);
  const serve = options.worker ? startServer : startNativeServer;
  const server = await serve(cleanup, { ...options, stateDir, secrets: { ...own, adminToken: adminToken || own.adminToken }, vars });
  endTogether(server, cleanup);
  if (examples) await publish(examples, server);
  const token = isPrivate(vars) ? server.secrets.adminToken : null;
  await writeClientFiles(stateDir, server, { token, directory: cliDir });
  sayWhatNext(server, { ...options, isPrivate: isPrivate(vars) });
}

function readOptions() {
  const { values } = parseArgs({
    options: {
      https: { type: "boolean" },
      worker: { type: "boolean" },
      "no-presign": { type: "boolean" },
      "no-examples": { type: "boolean" },
      settings: { type: "string", multiple: true },
      var: { type: "string", multiple: true },
      help: { type: "boolean", short: "h" },
    },
  });
  const port = portOf(process.env);
  const { https = false, worker = false, "no-presign": noPresign = false, "no-examples": noExamples = false, help } = values;
  const { settings: files = [], var: vars = [] } = values;
  if (noPresign && !worker) throw new Error("--no-presign is for --worker: without it, the registry always serves download URLs itself");
  return { port, https, worker, presign: !noPresign, examples: !noExamples, help, given: { files, vars } };
}

async function buildExamples() {
  // Imported only now, because it needs npm packages.
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

function sayWhatNext({ url }, { https, worker, examples, isPrivate }) {
  const notes = [
    https && "Terraform trusts the local certificate by SSL_CERT_FILE, on Linux; .terrace/env sets it.",
    !worker && "This is the native host. The same registry as a Worker, in workerd: npm start -- --worker",
    isPrivate && "Reading needs a token: .terrace/env points terraform and tofu to one, in .terrace/terraformrc.",
  ];
  say(`
Terrace runs at ${url} until you press Ctrl-C. Published packages stay in ${worker ? ".terrace/state" : ".terrace/registry"}.

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
