// Temporary directories.
import { temporaryDirectory } from "../../../scripts/lib/cleanup.mjs";
import { cleanupOf } from "./testing.mjs";

/**
 * Creates a directory for the test `t`, or else for the suite that is being defined; `options` are those of
 * `temporaryDirectory`.
 */
export const scratch = (t, options) => temporaryDirectory(cleanupOf(t), options);
