// Archives, created in memory, as those of releases are.
export { tarGz, zip } from "../../../scripts/lib/archives.mjs";
export { sha256 } from "../../../scripts/lib/sha256.mjs";
