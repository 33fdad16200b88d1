// Processes of the tests, on Linux. On other systems none are found, and nothing is measured.
import { readdirSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";

import { fileOf } from "../../../scripts/lib/processes.mjs";

const isLinux = process.platform === "linux";

const field = (status, name) => status.match(new RegExp(`^${name}:\\s+(.+)$`, "m"))?.[1];

/** Returns the ids of the child processes with this name. */
export function childrenOf(parent, name) {
  const all = isLinux ? readdirSync("/proc").filter((entry) => /^\d+$/.test(entry)).map(Number) : [];
  return all.filter((pid) => {
    const status = fileOf(pid, "status");
    return field(status, "PPid") === String(parent) && field(status, "Name") === name;
  });
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
