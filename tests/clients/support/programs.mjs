// Programs that may be on this machine or not, and running them.
import { execFile } from "node:child_process";
import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";

import { exe } from "../../../scripts/lib/paths.mjs";

const PATIENCE_MS = 120_000;
const OUTPUT_BYTES = 64 * 1024 * 1024;

export const isOnPath = (name) => process.env.PATH.split(delimiter).some((directory) => isProgram(join(directory, exe(name))));

function isProgram(file) {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** The `skip` option of a test that needs a program: false, or why it is skipped. */
export const unlessOnPath = (name) => (isOnPath(name) ? false : `${name} is not on PATH`);

/** Runs a program to its end, and ends it when that takes too long. `output` is all that it printed. */
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

/** The same for a program that has to succeed. */
export async function runs(command, args, options) {
  const result = await run(command, args, options);
  if (result.code !== 0) throw new Error(`\`${result.command}\` failed with ${result.code}:\n${result.output}`);
  return result;
}
