// npm packages, and the Node that wrangler needs.
import { spawn } from "node:child_process";
import { existsSync, statSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";

import { exe, isWindows, npmFile, root } from "./paths.mjs";
import { run } from "./run.mjs";
import { step } from "./step.mjs";

/** The minimum version that wrangler accepts. */
const NEEDED_NODE = [22, 12];

/** The newer Node that is installed as an npm package. */
export const packagedNode = npmFile("node", "bin", exe("node"));

/** Installs all npm packages of the project. */
export const ensureNpmPackages = () => ensure("installing npm packages", packagedNode, []);

/** Installs the npm packages of the examples, the `dependencies`, which are a twentieth of all; more may be there already. */
export const ensureExamplePackages = () => ensure("installing the npm packages of the examples", npmFile("openpgp"), ["--omit=dev"]);

async function ensure(title, last, options) {
  if (packagesAreCurrent(last)) return;
  await step(title, (log) => npm(["ci", "--no-audit", "--no-fund", ...options], { log }));
}

/**
 * Installs a package that is not a dependency of the project into `directory`, under the packaged Node,
 * without scripts and optional dependencies.
 */
export function npmInstall(name, directory, log) {
  const quick = ["--omit=optional", "--ignore-scripts", "--no-audit", "--no-fund"];
  const env = { ...process.env, PATH: [dirname(packagedNode), process.env.PATH].join(delimiter) };
  return npm(["install", "--prefix", directory, ...quick, name], { cwd: directory, env, log });
}

/** npm writes its own lock file last, so that file shows a complete installation. `wanted` is only in one that has all wanted packages. */
function packagesAreCurrent(wanted) {
  const installed = modified(npmFile(".package-lock.json"));
  return installed > 0 && installed >= modified(`${root}/package-lock.json`) && existsSync(wanted);
}

const modified = (file) => statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0;

/**
 * Runs the npm that runs this script, or else the one on PATH (on Windows that is a script, which cannot
 * be started as a program).
 */
export function npm(args, options) {
  const own = process.env.npm_execpath?.endsWith("npm-cli.js") ? [process.execPath, process.env.npm_execpath] : isWindows ? ["cmd", "/c", "npm"] : ["npm"];
  return run(own[0], [...own.slice(1), ...args], options);
}

const isNewEnough = (version) => {
  const [major, minor] = version.split(".").map(Number);
  return major > NEEDED_NODE[0] || (major === NEEDED_NODE[0] && minor >= NEEDED_NODE[1]);
};

/** Returns the Node that runs wrangler. */
export const nodeForWrangler = () => (isNewEnough(process.versions.node) ? process.execPath : packagedNode);

/**
 * Runs the calling script again under the packaged Node if the current one is too old for wrangler. Returns
 * only if that is not necessary.
 */
export async function continueUnderNewNode() {
  if (!isNewEnough(process.versions.node)) await continueUnder(packagedNode);
}

/** Runs the calling script again under a Node, with further variables, and ends with it. */
export async function continueUnder(node, variables = {}) {
  const env = { ...process.env, ...variables };
  const child = spawn(node, process.argv.slice(1), { env, stdio: ["inherit", "inherit", "inherit", "ipc"] });
  // Ctrl-C reaches the child directly, and the child decides when to end. Other signals are passed on.
  process.on("SIGINT", () => {});
  process.on("SIGTERM", () => child.kill("SIGTERM"));
  const code = await new Promise((done) => child.on("exit", (status) => done(status ?? 1)));
  process.exit(code);
}
