// Processes of the tests, on Linux. On other systems none are found.
import { readdirSync, readFileSync } from "node:fs";

/** Returns the ids of the child processes with this name. */
export function childrenOf(parent, name) {
  const all = process.platform === "linux" ? readdirSync("/proc").filter((entry) => /^\d+$/.test(entry)) : [];
  return all.filter((pid) => new RegExp(`^Name:\\s+${name}$[^]*^PPid:\\s+${parent}$`, "m").test(statusOf(pid))).map(Number);
}

/** Returns what the system says about a process; nothing if it has ended. */
function statusOf(pid) {
  try {
    return readFileSync(`/proc/${pid}/status`, "utf8");
  } catch {
    return "";
  }
}
