// Programs that may be on this machine or not, and running them.
import { execFile } from "node:child_process";

import { isOnPath } from "../../../scripts/lib/run.mjs";

export { isOnPath };

const PATIENCE_MS = 120_000;
const OUTPUT_BYTES = 64 * 1024 * 1024;

/** What `npm test` found out about programs that it could not bring, by their names. */
const REASONS = JSON.parse(process.env.TERRACE_TEST_ABSENT ?? "{}");

/** The `skip` option of a test that needs a program: false, or why it is skipped. */
export const unlessOnPath = (name) => (isOnPath(name) ? false : whyAbsent(name));

/** The reason that a program is not here; `otherwise` where it is not known. */
export const whyAbsent = (name, otherwise = `${name} is not on PATH`) => REASONS[name] ?? otherwise;

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
