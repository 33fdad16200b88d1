// Reproducible random numbers: a test prints the seed that it used.
import { randomInt } from "node:crypto";

/** Returns the seed in `TERRACE_SEED`, or a new one. */
export const seedOfThisRun = () => Number(process.env.TERRACE_SEED ?? randomInt(2 ** 32));

/** Returns a generator of numbers from 0 to below 1 (mulberry32). */
export function seededRandom(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
