// `npm run check`, also before each `npm run deploy`: compares wrangler.jsonc with the needs of the installed terrace-registry,
// so that an upgrade neither fails in the middle nor runs without a part of the registry.
//
//   node check.mjs [--config FILE] [--env NAME]
import { existsSync, readFileSync, realpathSync } from "node:fs";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

const require = createRequire(import.meta.url);

/** The names of a binding in its list, by the key of the list. */
const NAME_OF = { ratelimits: "name" };

/** Environments do not inherit these. All other keys are inherited. */
const OWN = ["analytics_engine_datasets", "kv_namespaces", "r2_buckets", "ratelimits", "vars"];

/** With this setting the registry repairs nothing by itself, and needs no cron trigger. */
const hasNoRepair = ({ vars }) => String(vars?.TERRACE_REPAIR_OPERATIONS) === "0";

function main() {
  const { values: options } = parseArgs({ options: { config: { type: "string", short: "c" }, env: { type: "string", short: "e" } } });
  const file = options.config ?? ["wrangler.jsonc", "wrangler.json", "wrangler.toml"].find((name) => existsSync(name)) ?? "wrangler.jsonc";
  const needs = JSON.parse(readFileSync(installed("terrace-registry/requirements.json"), "utf8"));
  const config = read(file);
  for (const warning of warningsIn(config)) console.error(`${warning}\n`);
  const problems = problemsIn(config, needs, options.env ?? process.env.CLOUDFLARE_ENV);
  if (problems.length > 0) {
    const heading = `Terrace ${needs.version} needs more than ${file} has. Nothing was deployed.`;
    throw new Error([heading, ...problems].join("\n\n"));
  }
  console.log(`${file} has everything that Terrace ${needs.version} needs. Versions before ${needs.format.oldest_writer} will not be able to change this registry.`);
}

function installed(path) {
  try {
    return require.resolve(path);
  } catch {
    throw new Error(`${path} is not installed: run \`npm ci\` first.`);
  }
}

/** Reads the configuration as wrangler does: as TOML, or as JSON with comments. */
function read(path) {
  if (!existsSync(path)) throw new Error(`${path} does not exist. Name your configuration with --config FILE.`);
  const { experimental_readRawConfig: readRawConfig } = require(installed("wrangler"));
  return readRawConfig({ config: path }).rawConfig;
}

/** Returns what the configuration lacks: in the environment `name`, or outside of environments and in all of them. */
export function problemsIn({ env = {}, ...top }, needs, name) {
  if (name && !env[name]) throw new Error(`The configuration has no environment ${name}.`);
  const inherited = Object.fromEntries(Object.entries(top).filter(([key]) => !OWN.includes(key)));
  const ofEnvironment = (key) => missing({ ...inherited, ...env[key] }, needs).map((problem) => `In env.${key}: ${problem}`);
  return name ? ofEnvironment(name) : [...missing(top, needs), ...Object.keys(env).flatMap(ofEnvironment)];
}

/** Returns advice on a configuration that works. */
export function warningsIn({ observability }) {
  const logs = observability?.logs ?? {};
  const isOn = (logs.enabled ?? observability?.enabled) && logs.invocation_logs !== false;
  if (!isOn) return [];
  const lines = '  "observability": { "enabled": true, "logs": { "enabled": true, "invocation_logs": false } }';
  return [`The platform logs the whole URL of each request, and some of them are signed. \`npm create cloudflare\` configures that. The registry logs requests itself, so switch it off:\n\n${lines}`];
}

/** Returns what the settings lack, with the lines to add. */
function missing(settings, { compatibility_date, compatibility_flags, bindings, crons, cache, exports }) {
  return [
    ...Object.entries(bindings).flatMap(([list, wanted]) => wanted.flatMap((binding) => missingBinding(settings, list, binding))),
    ...missingDate(settings, compatibility_date),
    ...missingFlags(settings, compatibility_flags),
    ...(hasNoRepair(settings) ? [] : missingCrons(settings, crons)),
    ...wrongCache(settings, { cache, exports }),
  ];
}

/** Returns the problems of Workers Caching, which must never stand in front of the entrypoint that decides who may read. */
function wrongCache({ cache, exports = {}, vars }, wanted) {
  const isCached = (entrypoint) => Boolean(exports[entrypoint]?.cache?.enabled ?? cache?.enabled);
  const lines = Object.entries(wanted).map(([key, value]) => `  ${JSON.stringify(key)}: ${JSON.stringify(value)}`);
  const right = `\n\n${lines.join(",\n")}`;
  if (isCached("default")) return [`The default entrypoint is cached: without asking the registry, the platform would answer requests that it must decide. With:${right}`];
  if (vars?.TERRACE_DOWNLOADS !== "edge" || isCached("Archives")) return [];
  return [`TERRACE_DOWNLOADS is edge, and the entrypoint Archives is not cached. Add this, and see that src/index.js exports Archives:${right}`];
}

function missingBinding(settings, list, binding) {
  const key = NAME_OF[list] ?? "binding";
  const name = binding[key];
  if ((settings[list] ?? []).some((found) => found[key] === name)) return [];
  return [`The binding ${name} is missing. Add this to "${list}", which is a list:\n\n  "${list}": [${JSON.stringify(binding)}]`];
}

function missingDate({ compatibility_date: found }, wanted) {
  if (found >= wanted) return [];
  return [`The compatibility date is ${found ?? "missing"}, and has to be ${wanted} or later:\n\n  "compatibility_date": "${wanted}"`];
}

function missingFlags({ compatibility_flags: found = [] }, wanted) {
  const flags = wanted.filter((flag) => !found.includes(flag));
  if (flags.length === 0) return [];
  return [`Compatibility flags are missing: ${flags.join(", ")}. With them:\n\n  "compatibility_flags": ${JSON.stringify([...found, ...flags])}`];
}

function missingCrons({ triggers }, wanted) {
  const found = triggers?.crons ?? [];
  if (found.length > 0 || wanted.length === 0) return [];
  return [`The cron trigger is missing, without which interrupted publishes are not repaired:\n\n  "triggers": { "crons": ${JSON.stringify(wanted)} }\n\nIf the account may have no further cron trigger (code 10072), deploy without the repair: "TERRACE_REPAIR_OPERATIONS": "0" in "vars".`];
}

if (process.argv[1] && realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)) {
  try {
    main();
  } catch (error) {
    console.error(error.message);
    process.exitCode = 1;
  }
}
