// The CPU time of processes, in nanoseconds. Only Linux reports it precisely enough for short rounds.
import { readdirSync, readFileSync } from "node:fs";

const TICK_NS = 10_000_000;

/** Measures the CPU time of these processes from now on. */
export class Meter {
  #pids;
  #before;

  constructor(pids, before = pids.map(cpuOf)) {
    this.#pids = pids;
    this.#before = before;
  }

  /** Measures the CPU time of this process since its start. */
  static ofAll(pid) {
    return new Meter([pid], [{ exactly: 0, roughly: 0 }]);
  }

  /** Returns the total of all processes; `null` if it cannot be read. */
  used() {
    const after = this.#pids.map(cpuOf);
    if (after.length === 0 || [...after, ...this.#before].includes(null)) return null;
    return after.reduce((sum, cpu, at) => sum + since(this.#before[at], cpu), 0);
  }
}

/** The precise counter of a thread disappears when the thread ends; the process keeps the total in ticks. */
function since(before, after) {
  const [exactly, roughly] = [after.exactly - before.exactly, after.roughly - before.roughly];
  return roughly - exactly > 2 * TICK_NS ? roughly : exactly;
}

function cpuOf(pid) {
  try {
    const threads = readdirSync(`/proc/${pid}/task`);
    const exactly = threads.reduce((sum, thread) => sum + Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, "utf8").split(" ")[0]), 0);
    const [user, system] = statOf(pid).slice(11, 13).map(Number);
    return { exactly, roughly: (user + system) * TICK_NS };
  } catch {
    return null;
  }
}

/** Returns a process and all its descendants. */
export function familyOf(pid) {
  const parents = readdirSync("/proc").filter((name) => /^\d+$/.test(name)).map((name) => [Number(name), parentOf(name)]);
  const family = [pid];
  for (const member of family) family.push(...parents.filter(([, parent]) => parent === member).map(([child]) => child));
  return family;
}

function parentOf(pid) {
  try {
    return Number(statOf(pid)[1]);
  } catch {
    return null;
  }
}

/** Returns the fields of a process from its state on. The name before them may contain any character. */
const statOf = (pid) => {
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  return stat.slice(stat.lastIndexOf(")") + 2).split(" ");
};
