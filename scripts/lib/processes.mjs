// Running processes, on Linux. On other systems no processes are found, and nothing is measured.
import { readdirSync, readFileSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";

const isLinux = process.platform === "linux";

/** Linux reports CPU time to programs in hundredths of a second (proc(5), `sysconf(_SC_CLK_TCK)`). */
const TICKS_PER_SECOND = 100;

/** The maximum time to wait for killed processes. */
const GONE_MS = 5_000;

/** The positions of fields in /proc/PID/stat after the name, which may itself contain spaces and parentheses. */
const GROUP = 2;
const CPU = [11, 12, 13, 14];

/** Returns the other processes that they or their ancestors started with this environment variable: `{ pid, command }`. */
export function processesWith(variable, value) {
  const wanted = `${variable}=${value}`;
  const found = allPids().filter((pid) => pid !== process.pid && fileOf(pid, "environ").split("\0").includes(wanted));
  return found.map((pid) => ({ pid, command: fileOf(pid, "cmdline").replaceAll("\0", " ").trim() }));
}

/** Returns the ids of the child processes with this name. */
export function childrenOf(parent, name) {
  return allPids().filter((pid) => {
    const status = fileOf(pid, "status");
    return field(status, "PPid") === String(parent) && field(status, "Name") === name;
  });
}

/** Returns the CPU time of a process group so far, in seconds; `null` if it cannot be measured. */
export function cpuOfGroup(group) {
  if (!isLinux) return null;
  let ticks = 0;
  for (const pid of allPids()) {
    const stat = fileOf(pid, "stat");
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    if (Number(fields[GROUP]) !== group) continue;
    ticks += CPU.reduce((sum, field) => sum + Number(fields[field]), 0);
  }
  return ticks / TICKS_PER_SECOND;
}

/**
 * Returns the memory that a process holds `before`, in bytes; `end` returns the `peak` since then. `null` if
 * it cannot be measured.
 */
export async function residentMemory(pid) {
  if (!isLinux) return null;
  const bytes = async (name) => Number.parseInt(field(await readFile(`/proc/${pid}/status`, "utf8"), name), 10) * 1024;
  // Resets the peak (proc(5), clear_refs).
  await writeFile(`/proc/${pid}/clear_refs`, "5");
  return { before: await bytes("VmRSS"), end: async () => ({ peak: await bytes("VmHWM") }) };
}

/** Kills the other processes that were started with this environment variable. Blocks this process until none is left. */
export function killAllWith(variable, value) {
  for (const until = Date.now() + GONE_MS; Date.now() < until; ) {
    const found = processesWith(variable, value);
    if (found.length === 0) return;
    for (const { pid } of found) kill(pid);
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 20);
  }
}

function kill(pid) {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // It has ended in the meantime.
  }
}

function allPids() {
  return isLinux ? readdirSync("/proc").filter((entry) => /^\d+$/.test(entry)).map(Number) : [];
}

/** Returns a file about a process; empty if the process has ended. */
function fileOf(pid, name) {
  try {
    return readFileSync(`/proc/${pid}/${name}`, "utf8");
  } catch {
    return "";
  }
}

const field = (status, name) => status.match(new RegExp(`^${name}:\\s+(.+)$`, "m"))?.[1];
