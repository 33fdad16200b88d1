// The CPU that a process has used, in nanoseconds. Linux alone tells that as finely as short rounds need it.
import { readdirSync, readFileSync } from "node:fs";

/** Of all its threads together; `null` where nobody can tell. */
export function cpuOf(pid) {
  try {
    const tasks = readdirSync(`/proc/${pid}/task`);
    return tasks.reduce((sum, task) => sum + Number(readFileSync(`/proc/${pid}/task/${task}/schedstat`, "utf8").split(" ")[0]), 0);
  } catch {
    return null;
  }
}
