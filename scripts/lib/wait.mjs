// Waits for what another program does.
import { setTimeout as sleep } from "node:timers/promises";

/**
 * Repeats `look` until it returns a value, for at most `ms`. Returns `undefined` after that, and when the program has ended whose
 * `ended` is given. A failed look counts as none.
 */
export async function until(look, { ms = 30_000, pause = 50, ended } = {}) {
  let hasEnded = false;
  ended?.then(() => (hasEnded = true));
  for (const last = Date.now() + ms; Date.now() < last && !hasEnded; await sleep(pause)) {
    const found = await Promise.resolve(look()).catch(() => null);
    if (found) return found;
  }
}
