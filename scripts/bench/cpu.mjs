// The CPU time of a process, in nanoseconds. Only Linux reports it precisely enough for short rounds.
import { readdirSync, readFileSync } from "node:fs";

const TICK_NS = 10_000_000;

/** Measures the CPU time of a process from now on. */
export class Meter {
  #pid;
  #before;

  constructor(pid, before = cpuOf(pid)) {
    this.#pid = pid;
    this.#before = before;
  }

  /** Measures the CPU time of this process since its start. */
  static ofAll(pid) {
    return new Meter(pid, { exactly: 0, roughly: 0 });
  }

  /** Returns the total. The precise counter of a thread disappears when the thread ends; the process keeps the total in ticks. */
  used() {
    const after = cpuOf(this.#pid);
    const [exactly, roughly] = [after.exactly - this.#before.exactly, after.roughly - this.#before.roughly];
    return roughly - exactly > 2 * TICK_NS ? roughly : exactly;
  }
}

function cpuOf(pid) {
  const threads = readdirSync(`/proc/${pid}/task`);
  const exactly = threads.reduce((sum, thread) => sum + Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, "utf8").split(" ")[0]), 0);
  // The name before these fields may contain any character.
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  const [user, system] = stat.slice(stat.lastIndexOf(")") + 2).split(" ").slice(11, 13).map(Number);
  return { exactly, roughly: (user + system) * TICK_NS };
}
