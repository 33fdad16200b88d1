// Temporary directories.
import { temporaryDirectory } from "../../../scripts/lib/cleanup.mjs";
import { cleanupOf } from "./testing.mjs";

/** A new directory, until the test `t` ends, or else the suite that is being defined; `options` as of `temporaryDirectory`. */
export const scratch = (t, options) => temporaryDirectory(cleanupOf(t), options);
