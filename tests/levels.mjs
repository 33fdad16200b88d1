// The level of every test file, and the hosts on which it runs: the levels of CONTRIBUTING.md are plain data here.
//
// - `test`: `npm test` runs it, `more`: `npm run test:more`. A file of both runs on another host at the second level.
// - `own`: a command of its own runs it, because it needs a registry, or programs, that are named on the command line.
//
// On the native host each suite starts its own `terrace serve`, which takes 60 ms. On workerd a start takes seconds, and the tests
// over HTTP run there, too. So of the files with clients, only those that install by each protocol run there as well, in both
// modes if they are about the URLs of archives or about their bytes on the way through the Worker.

/** No registry, or one that the file selects itself. */
const NONE = { host: "none" };
const NATIVE = { host: "native" };
const WORKERD = { host: "workerd", modes: ["presigned"] };
const BOTH_MODES = { host: "workerd", modes: ["presigned", "worker"] };

const ON_BOTH = { test: NATIVE, more: WORKERD };
const ON_BOTH_WITH_URLS = { test: NATIVE, more: BOTH_MODES };

const LEVELS = {
  "acceptance/clients": { own: NONE }, // npm run acceptance
  "compatibility/clients": ON_BOTH, // and npm run compatibility, with other clients
  "ecosystem/renovate": { own: NONE }, // npm run ecosystem

  "clients/access/access": { test: NATIVE },
  "clients/access/jose": { more: NONE }, // an oracle
  "clients/access/login": { more: NATIVE }, // a browser

  "clients/admin/admin": ON_BOTH, // exports and imports of archives
  "clients/admin/status": { test: NATIVE },

  "clients/mcp/clients": { test: NATIVE },
  "clients/mcp/sign-in": { test: NATIVE },

  "clients/mirror/mirror": ON_BOTH_WITH_URLS,
  "clients/mirror/mirror-add": { test: NATIVE },
  "clients/mirror/mirror-modules": { test: NATIVE },
  "clients/mirror/pull": ON_BOTH, // archives pass through the Worker into the bucket

  "clients/native/acceptance": { more: NATIVE }, // a command, not a protocol
  "clients/native/air-gapped": { test: NATIVE },
  "clients/native/killed": { more: NATIVE }, // kills

  "clients/oci/oci": ON_BOTH_WITH_URLS,
  "clients/oci/oci-access": { test: NATIVE },
  "clients/oci/oci-push": ON_BOTH_WITH_URLS, // uploads in chunks through the Worker

  // A browser. On workerd, where the pages are the same, the tests over HTTP read them.
  "clients/pages/appearance": { more: NATIVE },
  "clients/pages/copying": { more: NATIVE },
  "clients/pages/keyboard": { more: NATIVE },
  "clients/pages/sign-in": { more: NATIVE },

  "clients/parsers/metadata": { more: NONE }, // an oracle
  "clients/parsers/oracles": { more: NONE }, // an oracle

  "clients/registry/big-archives": { more: WORKERD }, // the memory of the Worker
  "clients/registry/doctor": ON_BOTH,
  "clients/registry/example": { test: NATIVE },
  "clients/registry/gpg": { test: NATIVE },
  "clients/registry/in-use": { test: NATIVE },
  "clients/registry/modules": ON_BOTH_WITH_URLS,
  "clients/registry/providers": ON_BOTH_WITH_URLS,
  "clients/registry/store": { more: NATIVE }, // object stores

  "clients/worker/config": { more: WORKERD },
  "clients/worker/edge": { more: WORKERD },
  "clients/worker/entry": { test: NONE }, // the entry alone, in Node
  "clients/worker/failover": { more: BOTH_MODES }, // URLs of the second bucket
  "clients/worker/killed": { more: BOTH_MODES }, // uploads are interrupted at both places
  "clients/worker/lost-kv": { more: WORKERD },
  "clients/worker/observed": { more: WORKERD },
  "clients/worker/packed": { more: WORKERD },
  "clients/worker/races": { more: BOTH_MODES }, // uploads race at both places
  "clients/worker/soak": { more: WORKERD },
  "clients/worker/standby": { more: WORKERD },
  "clients/worker/upgrade": { more: WORKERD },

  "scripts/compatibility": { test: NONE },
  "scripts/deploy": { test: NONE },
  "scripts/release/action": { test: NONE },
  "scripts/release/artefacts": { test: NONE },
  "scripts/release/licences": { more: NONE }, // it reads the licences of all packages
  "scripts/release/release": { test: NONE },
  "scripts/release/versions": { test: NONE },
  "scripts/settings": { test: NONE },
  "scripts/signing-key": { test: NONE },
};

const nameOf = (file) => file.replaceAll("\\", "/").replace(/^tests\/|\.test\.mjs$/g, "");

/**
 * Returns the runs of these files, paths from the root of the checkout: `{ file, level, host, modes, env }`; `modes` only on
 * workerd, `env` are the variables that select both. Throws for a file that is not in the table, and for an entry without a file.
 */
export function levelsOf(files) {
  const names = files.map(nameOf);
  const unknown = names.filter((name) => !Object.hasOwn(LEVELS, name));
  const missing = Object.keys(LEVELS).filter((name) => !names.includes(name));
  if (unknown.length > 0) throw new Error(`tests/levels.mjs has no level of ${unknown.join(", ")}`);
  if (missing.length > 0) throw new Error(`tests/levels.mjs has levels of files that do not exist: ${missing.join(", ")}`);
  return files.flatMap((file) => Object.entries(LEVELS[nameOf(file)]).map(([level, run]) => ({ file, level, ...run, env: envOf(run) })));
}

const envOf = ({ host, modes }) => (modes ? { TERRACE_TEST_HOST: host, TERRACE_TEST_MODES: modes.join() } : { TERRACE_TEST_HOST: "native" });
