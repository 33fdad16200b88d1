// The linters of the workflows and of the action: actionlint for their syntax, zizmor for their security, shellcheck for scripts
// (actionlint uses it for those in workflows, too).
import { join } from "node:path";

import { goInstall } from "./go.mjs";
import { exe, root } from "./paths.mjs";
import { pipInstall } from "./pip.mjs";
import { onPath, run } from "./run.mjs";

const ACTIONLINT = "v1.7.12";
const ZIZMOR = "1.32.0";

/**
 * - `find`: returns the path of the program, which it installs if necessary, or throws the reason why it cannot;
 * - `args`: zizmor asks no server, so that its result depends on the files alone.
 *
 * shellcheck is written in Haskell, so only the distribution has it.
 */
const LINTERS = [
  {
    name: "actionlint",
    find: async () => join(await goInstall("actionlint", "github.com/rhysd/actionlint/cmd/actionlint", ACTIONLINT), exe("actionlint")),
    args: [],
  },
  {
    name: "zizmor",
    find: () => pipInstall("zizmor", ZIZMOR),
    args: ["--offline", "--no-progress", "--persona=pedantic", ".github", "terrace-action"],
  },
  {
    name: "shellcheck",
    find: () => Promise.reject(new Error("only the distribution can install it")),
    args: [join("terrace-action", "install.sh"), join("terrace-action", "publish.sh")],
  },
];

/** Checks all workflows with each linter. One that cannot be installed is skipped with the reason. */
export async function checkWorkflows(tally) {
  for (const { name, find, args } of LINTERS) {
    let program;
    try {
      program = onPath(name) ?? (await find());
    } catch (error) {
      tally.skip(`${name} of the workflows`, `${name} is not on PATH, and ${error.message}`);
      continue;
    }
    await tally.check(`${name} of the workflows`, (log) => run(program, args, { log, cwd: root }));
  }
}
