// Optional programs on this machine, and functions to run programs.
import { execFile } from "node:child_process";

import { isOnPath } from "../../../scripts/lib/run.mjs";

export { isOnPath };

const PATIENCE_MS = 120_000;
const OUTPUT_BYTES = 64 * 1024 * 1024;

/** The reasons why `npm test` could not install programs, by their names. */
const REASONS = JSON.parse(process.env.TERRACE_TEST_ABSENT ?? "{}");

/** The `skip` option of a test that needs a program: false, or the reason why it is skipped. */
export const unlessOnPath = (name) => (isOnPath(name) ? false : whyAbsent(name));

/** Returns the reason why a program is missing; `otherwise` if it is unknown. */
export const whyAbsent = (name, otherwise = `${name} is not on PATH`) => REASONS[name] ?? otherwise;

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
