// Records the contents of each version, because a registry never accepts other bytes for a published version.

import { mkdir, readFile, rename, writeFile } from "node:fs/promises";
import { dirname } from "node:path";

const FIRST_VERSION = "0.1.0";

/** Reads the ledger, or starts a new one. Its answers are recorded when it is saved. */
export async function openVersionLedger(file) {
  const releases = await readJson(file, {});

  return {
    /** Returns the version for these contents: the last one if they are the same, otherwise the next patch version. */
    releaseOf(name, fingerprint) {
      const last = releases[name];
      if (last?.fingerprint === fingerprint) return { version: last.version, isNew: false };
      const version = last ? nextPatch(last.version) : FIRST_VERSION;
      releases[name] = { version, fingerprint };
      return { version, isNew: true };
    },

    async save() {
      await mkdir(dirname(file), { recursive: true });
      await writeFile(`${file}.new`, `${JSON.stringify(releases, null, 2)}\n`);
      await rename(`${file}.new`, file);
    },
  };
}

function nextPatch(version) {
  const [major, minor, patch] = version.split(".").map(Number);
  return `${major}.${minor}.${patch + 1}`;
}

async function readJson(file, otherwise) {
  try {
    return JSON.parse(await readFile(file, "utf8"));
  } catch (error) {
    if (error.code === "ENOENT") return otherwise;
    throw error;
  }
}
