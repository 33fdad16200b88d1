// An environment like that of a machine with Node and terraform, and nothing else: no Rust, no Go, an empty home.
import { realpathSync } from "node:fs";
import { mkdir, symlink, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import { dirname, join } from "node:path";

import { onPath } from "../../../scripts/lib/run.mjs";

/** Variables that the network of this machine may need. */
const OF_NETWORK = /^(https?_proxy|no_proxy|node_extra_ca_certs|ssl_cert_(file|dir)|npm_config_(registry|cafile))$/i;

/** The programs besides Node: npm starts scripts with `sh`, and their first lines name `env`. */
const PROGRAMS = ["sh", "env", "terraform"];

/** Returns the environment; its PATH and its home are in `directory`. npm uses this user's cache, as `npm ci` here does. */
export async function bareEnvironment(directory) {
  const [bin, home] = [join(directory, "bin"), join(directory, "home")];
  for (const path of [bin, home]) await mkdir(path, { recursive: true });
  await symlink(process.execPath, join(bin, "node"));
  const npm = process.env.npm_execpath?.endsWith("npm-cli.js") ? process.env.npm_execpath : realpathSync(onPath("npm"));
  for (const [name, script] of Object.entries({ npm, npx: join(dirname(npm), "npx-cli.js") })) {
    await writeFile(join(bin, name), `#!/bin/sh\nexec node '${script}' "$@"\n`, { mode: 0o755 });
  }
  for (const name of PROGRAMS) if (onPath(name)) await symlink(onPath(name), join(bin, name));
  const kept = Object.entries(process.env).filter(([name]) => OF_NETWORK.test(name));
  return {
    ...Object.fromEntries(kept),
    PATH: bin,
    HOME: home,
    npm_config_cache: process.env.npm_config_cache ?? join(homedir(), ".npm"),
    npm_config_prefer_offline: "true",
    npm_config_update_notifier: "false",
    CHECKPOINT_DISABLE: "1",
    CI: "1",
    WRANGLER_SEND_METRICS: "false",
  };
}
