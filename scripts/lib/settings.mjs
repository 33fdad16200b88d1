// The settings of the registry that `npm start` runs, from the places where a deployment and `wrangler dev` have them.
import { access, readFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { parseEnv } from "node:util";

import { root } from "./paths.mjs";

/** Variables of the `terrace` command, which `.terrace/env` exports and users set. */
const COMMAND_VARIABLES = ["TERRACE_TOKEN", "TERRACE_URL", "TERRACE_INSECURE", "TERRACE_ID_TOKEN"];

/** The settings of the bucket: the local registry has storage of its own. */
const OF_BUCKET = /^TERRACE_S3_/;

/**
 * Returns `{ values, sources, ignored }`: the settings by name, the place that each comes from, and the names of the
 * settings of another bucket. `[vars]` of `wrangler.toml` are overridden by those of `files`, these by `.dev.vars`, these by
 * the environment, and all of them by `vars`, a list of `NAME=VALUE`.
 *
 * Misspelt names are settings too: the Worker rejects them.
 */
export async function readSettings({ directory = root, env = process.env, files = [], vars = [] } = {}) {
  const named = [];
  for (const file of files) named.push([file, await varsOf(await existing(file))]);
  return merge([
    ["wrangler.toml", await varsOf(join(directory, "wrangler.toml"))],
    ...named,
    [".dev.vars", parseEnv(await readFile(join(directory, ".dev.vars"), "utf8").catch(() => ""))],
    ["the environment", ofEnvironment(env)],
    ["--var", Object.fromEntries(vars.map(parseVar))],
  ]);
}

async function existing(file) {
  await access(file).catch((error) => {
    throw new Error(`--settings ${file}: ${error.message}`);
  });
  return resolve(file);
}

function parseVar(text) {
  const [, name, value] = /^([A-Za-z_][A-Za-z0-9_]*)=(.*)$/s.exec(text) ?? [];
  if (name === undefined) throw new Error(`--var ${text}: write NAME=VALUE, such as TERRACE_ACCESS=private`);
  return [name, value];
}

function merge(places) {
  const [values, sources, ignored] = [{}, {}, new Set()];
  for (const [place, settings] of places) {
    for (const [name, value] of Object.entries(settings)) {
      if (OF_BUCKET.test(name)) ignored.add(name);
      else [values[name], sources[name]] = [value, place];
    }
  }
  return { values, sources, ignored: [...ignored] };
}

function ofEnvironment(env) {
  const isSetting = (name) => name.startsWith("TERRACE_") && !COMMAND_VARIABLES.includes(name);
  return Object.fromEntries(Object.entries(env).filter(([name]) => isSetting(name)));
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

/** Returns lines that name the settings, without their values. */
export function describeSettings({ sources, ignored }) {
  const places = [...new Set(Object.values(sources))];
  const lines = places.map((place) => `settings from ${place}: ${Object.keys(sources).filter((name) => sources[name] === place).join(", ")}`);
  if (ignored.length > 0) lines.push(`ignored, because this registry has its own storage: ${ignored.join(", ")}`);
  return lines;
}
