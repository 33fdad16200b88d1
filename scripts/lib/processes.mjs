// Running processes, on Linux. On other systems none are found.
import { readdirSync, readFileSync } from "node:fs";

/** Returns the other processes that they or their ancestors started with this environment variable: `{ pid, command }`. */
export function processesWith(variable, value) {
  const found = process.platform === "linux" ? readdirSync("/proc").filter((entry) => /^\d+$/.test(entry)).map(Number) : [];
  const isMarked = (pid) => pid !== process.pid && fileOf(pid, "environ").split("\0").includes(`${variable}=${value}`);
  return found.filter(isMarked).map((pid) => ({ pid, command: fileOf(pid, "cmdline").replaceAll("\0", " ").trim() }));
}

/** Kills the other processes that were started with this environment variable. */
export function killAllWith(variable, value) {
  for (const { pid } of processesWith(variable, value)) {
    try {
      process.kill(pid, "SIGKILL");
    } catch {
      // It has ended in the meantime.
    }
  }
}

/** Returns a file about a process; empty if the process has ended. */
export function fileOf(pid, name) {
  try {
    return readFileSync(`/proc/${pid}/${name}`, "utf8");
  } catch {
    return "";
  }
}
