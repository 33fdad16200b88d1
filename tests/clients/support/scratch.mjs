// Temporary directories.
import { mkdtempSync, rmSync, statfsSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after } from "node:test";

const IN_MEMORY = "/dev/shm";
const ENOUGH_MEMORY = 256 * 1024 * 1024;

/**
 * A new directory, until the test `t` ends, or else the suite that is being defined.
 *
 * - `quick`: it will get thousands of small writes, each of which a disk would be waited for.
 */
export function scratch(t = { after }, { quick = false } = {}) {
  const directory = mkdtempSync(join(quick ? quickest() : tmpdir(), "terrace-"));
  t.after(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

function quickest() {
  try {
    const { bavail, bsize } = statfsSync(IN_MEMORY);
    return bavail * bsize > ENOUGH_MEMORY ? IN_MEMORY : tmpdir();
  } catch {
    return tmpdir();
  }
}
