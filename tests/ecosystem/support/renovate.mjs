// Renovate in a checkout, without a platform: it looks up updates and changes nothing.
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

import { packagedNode } from "../../../scripts/lib/npm.mjs";
import { RENOVATE } from "../../../scripts/lib/clients.mjs";
import { runs } from "../../clients/support/programs.mjs";
import { scratch } from "../../clients/support/scratch.mjs";

/** The `skip` option of a test that needs Renovate: false, or the reason why it is skipped. */
export const unlessInstalled = RENOVATE.find() ? false : "Renovate is not in the cache: npm run ecosystem installs it";

const UPDATE_LOCK = fileURLToPath(new URL("update-lock.mjs", import.meta.url));

/** The variables of this process that Renovate receives: no configuration, credentials or proxies of its user. */
const INHERITED = /^(PATH|LANG|LC_|TMPDIR|SystemRoot)/;

/**
 * Creates a checkout with these files, by name. Renovate can reach only the registry, through `proxy`.
 *
 * - `config`: the settings of Renovate.
 */
export async function checkout(t, { registry, proxy, config = {} }, files) {
  const home = scratch(t);
  const directory = join(home, "work");
  await mkdir(directory);
  for (const [name, text] of Object.entries(files)) await writeFile(join(directory, name), text);
  return new Checkout(home, directory, { ...environment(home, registry, proxy), RENOVATE_CONFIG: JSON.stringify(config) });
}

function environment(home, registry, proxy) {
  return {
    ...Object.fromEntries(Object.entries(process.env).filter(([name]) => INHERITED.test(name))),
    HOME: home,
    RENOVATE_BASE_DIR: join(home, "renovate"),
    // Renovate is installed without its optional packages.
    RENOVATE_X_IGNORE_RE2: "true",
    LOG_LEVEL: "debug",
    NODE_EXTRA_CA_CERTS: registry.env.SSL_CERT_FILE,
    HTTP_PROXY: proxy.url,
    HTTPS_PROXY: proxy.url,
  };
}

class Checkout {
  #home;
  #directory;
  #env;

  constructor(home, directory, env) {
    this.#home = home;
    this.#directory = directory;
    this.#env = env;
  }

  read(name) {
    return readFile(join(this.#directory, name), "utf8");
  }

  /** Looks up updates, and returns Renovate's report on each dependency: `{ depName, updates, sourceUrl, warnings, … }`. */
  async lookUp() {
    const report = join(this.#home, "report.json");
    const reporting = ["--report-type=file", `--report-path=${report}`];
    await this.#runs(join(RENOVATE.find(), "dist", "renovate.js"), "--platform=local", "--dry-run=lookup", ...reporting);
    const { repositories } = JSON.parse(await readFile(report, "utf8"));
    return Object.values(repositories).flatMap(({ packageFiles = {} }) =>
      Object.values(packageFiles).flatMap((files) => files.flatMap(({ deps }) => deps)),
    );
  }

  /** Lets Renovate write the lock file for an update of the provider `dep`, which `lookUp` returned. */
  async updateLock(dep) {
    await this.#runs(UPDATE_LOCK, RENOVATE.find(), JSON.stringify(dep));
  }

  async #runs(...args) {
    return runs(packagedNode, args, { cwd: this.#directory, env: this.#env });
  }
}
