// Random numbers that can be had again: a test prints the seed it used.
import { randomInt } from "node:crypto";

/** The seed that `TERRACE_SEED` says, or a new one. */
export const seedOfThisRun = () => Number(process.env.TERRACE_SEED ?? randomInt(2 ** 32));

/** Numbers from 0 to below 1 (mulberry32). */
export function seededRandom(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
