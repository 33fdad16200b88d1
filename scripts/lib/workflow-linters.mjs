// The linters of the workflows and of the action: actionlint for their syntax, zizmor for their security, shellcheck for scripts
// (actionlint uses it for those in workflows, too).
import { join } from "node:path";

import { find, whyAbsent } from "./clients.mjs";
import { root } from "./paths.mjs";
import { run } from "./run.mjs";

/** The arguments of each. zizmor asks no server, so that its result depends on the files alone. */
const LINTERS = {
  actionlint: [],
  zizmor: ["--offline", "--no-progress", "--persona=pedantic", ".github", "terrace-action"],
  shellcheck: [join("terrace-action", "install.sh"), join("terrace-action", "publish.sh")],
};

/** Checks all workflows with each linter. An absent one is skipped with the reason. */
export async function checkWorkflows(tally) {
  for (const [name, args] of Object.entries(LINTERS)) {
    const title = `${name} of the workflows`;
    const absent = whyAbsent(name);
    if (absent) tally.skip(title, absent);
    else await tally.check(title, (log) => run(find(name), args, { log, cwd: root }));
  }
}
