// Starts other programs; no other module does.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { accessSync, constants as access, createWriteStream } from "node:fs";
import { mkdir } from "node:fs/promises";
import { delimiter, dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

import { exe, isWindows, root } from "./paths.mjs";

/** A program that could not be started or did not succeed; `output` is its output. */
export class CommandFailed extends Error {
  constructor(message, output, { code, logFile } = {}) {
    super(message);
    Object.assign(this, { code, output, logFile });
  }
}

/** Returns the last line of a failed program's output, or the error message. */
export const lastLine = (error) => error.output?.trimEnd().split("\n").at(-1) || error.message;

/** The functions that end the running programs, one for each. */
const kills = new Set();

/** Ends all running programs at once. */
export const endAll = () => kills.forEach((kill) => kill());

/**
 * Runs a program to its end and returns its output.
 *
 * - `log`: a file that keeps the output; without it, the output is only kept in memory.
 * - `check`: reject if the exit code is not 0 (the default);
 * - `timeout`: end it after this many milliseconds.
 */
export async function run(command, args, { cwd = root, env = process.env, log, check = true, timeout } = {}) {
  const commandLine = [command, ...args].join(" ");
  const file = log && (await openLog(log, commandLine));
  const [chunks, stdout] = [[], []];
  const keep = (chunk) => {
    chunks.push(chunk);
    file?.write(chunk);
  };
  const code = await new Promise((done) => {
    const child = spawn(command, args, { cwd, env: withoutColour(env), stdio: ["ignore", "pipe", "pipe"], timeout });
    const kill = () => child.kill("SIGKILL");
    kills.add(kill);
    child.stdout.on("data", (chunk) => (stdout.push(chunk), keep(chunk)));
    child.stderr.on("data", keep);
    child.on("error", (error) => (keep(Buffer.from(`${error.message}\n`)), done(null)));
    child.on("close", (status, signal) => (kills.delete(kill), done(status ?? (signal ? 128 : null))));
  });
  file?.end();
  const output = Buffer.concat(chunks).toString();
  if (check && code !== 0) {
    throw new CommandFailed(`\`${commandLine}\` ${code === null ? "could not be run" : `failed with exit code ${code}`}`, output, { code, logFile: log });
  }
  return { code, output, stdout: Buffer.concat(stdout).toString() };
}

/** Runs a program that may ask questions in this terminal; returns its exit code. */
export async function runInTerminal(command, args) {
  const [code] = await once(spawn(command, args, { cwd: root, stdio: "inherit" }), "exit");
  return code ?? 128;
}

/** Returns a program's standard output, trimmed; `null` if the program is missing or fails. */
export async function ask(command, args, options = {}) {
  const { code, stdout } = await run(command, args, { ...options, check: false });
  return code === 0 ? stdout.trim() : null;
}

/** Returns the path of the program of this name on PATH, if there is one. */
export const onPath = (name) => process.env.PATH.split(delimiter).map((directory) => join(directory, exe(name))).find(isProgram);

/** Returns whether a program of this name is on PATH. */
export const isOnPath = (name) => onPath(name) !== undefined;

function isProgram(file) {
  try {
    accessSync(file, access.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** Starts a Node program that runs until `stop` or the end of this process, even if that is killed; see `serveProgram`. */
export async function serve(node, args, options) {
  const preload = ["--import", new URL("end-with-parent.mjs", import.meta.url).href];
  return serveProgram(node, [...preload, ...args], { ...options, stdio: ["ignore", "pipe", "pipe", "ipc"] });
}

/** In milliseconds: the time for a process group to end by itself, and the maximum time to wait for one that was killed. */
const PATIENCE_MS = 5_000;
const GONE_MS = 2_000;

/**
 * Starts a program that runs until `stop` or the end of this process. It has its own process group, so
 * that its children end with it. `stop` waits until no process of the group is left, and `logged` resolves
 * when all output is in the log.
 */
export async function serveProgram(command, args, { cwd = root, env = process.env, log, stdio = ["ignore", "pipe", "pipe"] }) {
  const file = await openLog(log, [command, ...args].join(" "));
  const child = spawn(command, args, { cwd, env: withoutColour(env), stdio, detached: !isWindows });
  for (const output of [child.stdout, child.stderr]) {
    output.pipe(file, { end: false });
    // A program must not block because its log cannot be written.
    file.on("error", () => output.resume());
  }
  const logged = new Promise((done) => child.on("close", () => file.end(done)));
  const ended = new Promise((done) => {
    child.on("error", (error) => (file.write(`${error.message}\n`), done(null)));
    child.on("exit", (code) => done(code));
  });

  // An empty group is never signalled: its id may already belong to another group.
  let isEmpty = !child.pid;
  const signal = (name) => {
    try {
      isEmpty ||= isWindows ? !child.kill(name) : !process.kill(-child.pid, name);
    } catch {
      isEmpty = true;
    }
    return !isEmpty;
  };
  const kill = () => signal("SIGKILL");
  kills.add(kill);
  const gone = ended.then(async () => {
    kills.delete(kill);
    // The other processes of the group serve no purpose now, and would continue to write.
    for (const until = Date.now() + GONE_MS; kill() && Date.now() < until; ) await sleep(20);
    isEmpty = true;
  });
  const stop = async () => {
    signal("SIGTERM");
    const late = setTimeout(kill, PATIENCE_MS);
    await gone;
    clearTimeout(late);
  };
  return { child, ended, logged, stop };
}

/** Output goes into files and is parsed by programs. */
function withoutColour({ FORCE_COLOR, CLICOLOR_FORCE, ...env }) {
  return { ...env, NO_COLOR: "1", CARGO_TERM_COLOR: "never" };
}

async function openLog(log, commandLine) {
  await mkdir(dirname(log), { recursive: true });
  const file = createWriteStream(log, { flags: "a" });
  // Such as a full disk: the work goes on, and its own errors are reported.
  file.on("error", (error) => console.error(`${log} ends here, it cannot be written: ${error.message}`));
  file.write(`$ ${commandLine}\n`);
  return file;
}
