// Running processes, on Linux. Elsewhere none are found, and nothing is measured.
import { readdirSync, readFileSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";

const isLinux = process.platform === "linux";

/** Linux counts CPU in hundredths of a second for programs (proc(5), `sysconf(_SC_CLK_TCK)`). */
const TICKS_PER_SECOND = 100;

/** How long killed processes are waited for. */
const GONE_MS = 5_000;

/** Positions of fields behind the name in /proc/PID/stat, which may hold spaces and parentheses itself. */
const GROUP = 2;
const CPU = [11, 12, 13, 14];

/** The other processes that were started with this environment variable, by themselves or by an ancestor: `{ pid, command }`. */
export function processesWith(variable, value) {
  const wanted = `${variable}=${value}`;
  const found = allPids().filter((pid) => pid !== process.pid && fileOf(pid, "environ").split("\0").includes(wanted));
  return found.map((pid) => ({ pid, command: fileOf(pid, "cmdline").replaceAll("\0", " ").trim() }));
}

/** The ids of the processes of this name that a process has started itself. */
export function childrenOf(parent, name) {
  return allPids().filter((pid) => {
    const status = fileOf(pid, "status");
    return field(status, "PPid") === String(parent) && field(status, "Name") === name;
  });
}

/** The CPU that a process group has used so far, in seconds; `null` where it cannot be measured. */
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

/** The memory that a process holds `before`, in bytes; `end` returns the `peak` since then. `null` where it cannot be measured. */
export async function residentMemory(pid) {
  if (!isLinux) return null;
  const bytes = async (name) => Number.parseInt(field(await readFile(`/proc/${pid}/status`, "utf8"), name), 10) * 1024;
  // Forgets the peak so far (proc(5), clear_refs).
  await writeFile(`/proc/${pid}/clear_refs`, "5");
  return { before: await bytes("VmRSS"), end: async () => ({ peak: await bytes("VmHWM") }) };
}

/** Kills the other processes that were started with this environment variable. Nothing else goes on until none is left. */
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
    // It has ended meanwhile.
  }
}

function allPids() {
  return isLinux ? readdirSync("/proc").filter((entry) => /^\d+$/.test(entry)).map(Number) : [];
}

/** A file about a process; empty when the process has ended. */
function fileOf(pid, name) {
  try {
    return readFileSync(`/proc/${pid}/${name}`, "utf8");
  } catch {
    return "";
  }
}

const field = (status, name) => status.match(new RegExp(`^${name}:\\s+(.+)$`, "m"))?.[1];
