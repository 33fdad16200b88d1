// Archives, created in memory, as those of releases are.
export { sha256, tarGz, zip } from "../../../scripts/lib/archives.mjs";
