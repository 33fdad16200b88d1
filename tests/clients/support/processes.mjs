// What Linux tells about processes. Elsewhere nothing is known, and nothing is measured.
import { readdir, readFile, writeFile } from "node:fs/promises";

const isLinux = process.platform === "linux";

/** The ids of the processes of this name that a process has started itself. */
export async function childrenOf(parent, name) {
  if (!isLinux) return [];
  const found = [];
  for (const pid of (await readdir("/proc")).filter((entry) => /^\d+$/.test(entry))) {
    const status = await readFile(`/proc/${pid}/status`, "utf8").catch(() => "");
    if (field(status, "PPid") === String(parent) && field(status, "Name") === name) found.push(Number(pid));
  }
  return found;
}

/** What a process holds in memory `before`, in bytes; `end` tells the `peak` since then. `null` where it cannot be known. */
export async function residentMemory(pid) {
  if (!isLinux) return null;
  const bytes = async (name) => Number.parseInt(field(await readFile(`/proc/${pid}/status`, "utf8"), name), 10) * 1024;
  // Forgets the peak so far (proc(5), clear_refs).
  await writeFile(`/proc/${pid}/clear_refs`, "5");
  return { before: await bytes("VmRSS"), end: async () => ({ peak: await bytes("VmHWM") }) };
}

const field = (status, name) => status.match(new RegExp(`^${name}:\\s+(.+)$`, "m"))?.[1];
