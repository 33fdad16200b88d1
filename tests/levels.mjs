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

/** The files by their runs, the hosts of each level. */
const RUNS = [
  // `npm run acceptance` and `npm run ecosystem`.
  [{ own: NONE }, "acceptance/clients", "ecosystem/renovate"],
  // The entry of the Worker alone, in Node, and the scripts.
  [{ test: NONE }, "clients/worker/entry", "scripts/compatibility", "scripts/deploy", "scripts/settings", "scripts/signing-key"],
  [{ test: NONE }, "scripts/release/action", "scripts/release/artefacts", "scripts/release/release", "scripts/release/versions"],
  // Oracles, and the licences of all packages.
  [{ more: NONE }, "clients/access/jose", "clients/parsers/metadata", "clients/parsers/oracles", "scripts/release/licences"],
  [{ test: NATIVE }, "clients/access/access", "clients/admin/status", "clients/mcp/clients", "clients/mcp/sign-in", "clients/native/air-gapped"],
  [{ test: NATIVE }, "clients/mirror/mirror-add", "clients/mirror/mirror-modules", "clients/oci/oci-access"],
  [{ test: NATIVE }, "clients/registry/example", "clients/registry/gpg", "clients/registry/in-use"],
  // A browser: on workerd, where the pages are the same, the tests over HTTP read them.
  [{ more: NATIVE }, "clients/access/login", "clients/pages/appearance", "clients/pages/copying", "clients/pages/keyboard", "clients/pages/sign-in"],
  // A command, kills and object stores.
  [{ more: NATIVE }, "clients/native/acceptance", "clients/native/killed", "clients/registry/store"],
  [{ test: NATIVE, more: WORKERD }, "clients/admin/admin", "clients/mirror/pull", "clients/registry/doctor", "compatibility/clients"],
  [{ test: NATIVE, more: BOTH_MODES }, "clients/mirror/mirror", "clients/oci/oci", "clients/oci/oci-push", "clients/registry/modules", "clients/registry/providers"],
  [{ more: WORKERD }, "clients/registry/big-archives", "clients/worker/config", "clients/worker/edge", "clients/worker/observed"],
  [{ more: WORKERD }, "clients/worker/packed", "clients/worker/soak", "clients/worker/standby", "clients/worker/upgrade"],
  [{ more: BOTH_MODES }, "clients/worker/failover", "clients/worker/killed", "clients/worker/races"],
];

const LEVELS = Object.fromEntries(RUNS.flatMap(([levels, ...names]) => names.map((name) => [name, levels])));

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
