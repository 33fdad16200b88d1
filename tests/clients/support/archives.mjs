// Archives, created in memory: those that releases consist of, too.
export { sha256, tarGz, zip } from "../../../scripts/lib/archives.mjs";
