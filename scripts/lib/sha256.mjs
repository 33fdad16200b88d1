// Digests. Scripts that run before the packages of npm are installed use this, and not archives.mjs.
import { createHash } from "node:crypto";

export const sha256 = (bytes) => createHash("sha256").update(bytes).digest("hex");
