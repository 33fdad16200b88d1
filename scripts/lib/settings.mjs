// The settings of the registry that `npm start` runs, from the places where a deployment and `wrangler dev` have them.
import { readFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { parseEnv } from "node:util";

import { root } from "./paths.mjs";

/** Variables of the `terrace` command, which `.terrace/env` exports and users set. */
const COMMAND_VARIABLES = ["TERRACE_TOKEN", "TERRACE_URL", "TERRACE_INSECURE", "TERRACE_ID_TOKEN"];

/** The settings of the bucket: the local registry has storage of its own. */
const OF_BUCKET = /^TERRACE_S3_/;

/**
 * Returns `{ values, lines }`: the settings by name, and lines that name them by their places, without their values. `[vars]` of
 * `wrangler.toml` are overridden by those of `files`, these by `.dev.vars`, these by the environment, and all of them by `vars`, a
 * list of `NAME=VALUE`.
 *
 * Misspelt names are settings too: the Worker rejects them.
 */
export async function readSettings({ directory = root, env = process.env, files = [], vars = [] } = {}) {
  const places = { "wrangler.toml": await varsOf(join(directory, "wrangler.toml")) };
  for (const file of files) places[file] = await varsOf(resolve(file));
  places[".dev.vars"] = parseEnv(await readFile(join(directory, ".dev.vars"), "utf8").catch(() => ""));
  places["the environment"] = Object.fromEntries(Object.entries(env).filter(([name]) => name.startsWith("TERRACE_") && !COMMAND_VARIABLES.includes(name)));
  places["--var"] = Object.fromEntries(vars.map(parseVar));
  const [values, lines] = [{}, []];
  for (const [place, settings] of Object.entries(places)) {
    const [ignored, used] = [true, false].map((is) => Object.keys(settings).filter((name) => OF_BUCKET.test(name) === is));
    for (const name of used) values[name] = settings[name];
    if (used.length > 0) lines.push(`settings from ${place}: ${used.join(", ")}`);
    if (ignored.length > 0) lines.push(`ignored from ${place}, because this registry has its own storage: ${ignored.join(", ")}`);
  }
  return { values, lines };
}

function parseVar(text) {
  const [, name, value] = /^([A-Za-z_][A-Za-z0-9_]*)=(.*)$/s.exec(text) ?? [];
  if (name === undefined) throw new Error(`--var ${text}: write NAME=VALUE, such as TERRACE_ACCESS=private`);
  return [name, value];
}

async function varsOf(file) {
  // Imported only here: `npm start` installs it.
  const { parse } = await import("smol-toml");
  try {
    return parse(await readFile(file, "utf8")).vars ?? {};
  } catch (error) {
    throw new Error(`${file}: ${error.message}`);
  }
}

/** Returns whether some packages can only be read with a token. */
export const isPrivate = ({ TERRACE_ACCESS, TERRACE_ACCESS_EXCEPT }) => TERRACE_ACCESS === "private" || Boolean(TERRACE_ACCESS_EXCEPT);
