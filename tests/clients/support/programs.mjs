// Programs on this machine, and functions to run programs. All tests find those of `npm run clients`, and the command.
import { execFile } from "node:child_process";
import { delimiter } from "node:path";

import { cliDir } from "../../../scripts/build.mjs";
import { cachedDirectories, find, whyAbsent } from "../../../scripts/lib/clients.mjs";
import { isOnPath } from "../../../scripts/lib/run.mjs";

export { find, isOnPath };

process.env.PATH = [cliDir, ...cachedDirectories(), process.env.PATH].join(delimiter);

const PATIENCE_MS = 120_000;
const OUTPUT_BYTES = 64 * 1024 * 1024;

/** The `skip` option of a test that needs a program or a package: false, or the reason why it is skipped. Without terraform, tests fail. */
export function unlessOnPath(name) {
  const reason = whyAbsent(name);
  if (reason && name === "terraform") throw new Error("terraform is not on PATH, and the tests with clients require it");
  return reason;
}

/** Runs a program to its end, or kills it after the time limit. `output` is its complete output. */
export function run(command, args, { cwd, env, input } = {}) {
  return new Promise((done) => {
    const options = { cwd, env, encoding: "buffer", timeout: PATIENCE_MS, killSignal: "SIGKILL", maxBuffer: OUTPUT_BYTES };
    const child = execFile(command, args, options, (error, stdout, stderr) => {
      const code = error === null ? 0 : (child.exitCode ?? error.code ?? error.message);
      done({ command: [command, ...args].join(" "), code, stdout, output: Buffer.concat([stdout, stderr]).toString() });
    });
    child.stdin.on("error", () => {});
    child.stdin.end(input);
  });
}

/** Runs a program that must succeed. */
export async function runs(command, args, options) {
  const result = await run(command, args, options);
  if (result.code !== 0) throw new Error(`\`${result.command}\` failed with ${result.code}:\n${result.output}`);
  return result;
}
