// Renovate, for tests. With its dependencies it is several times as large as all of the project's packages, so it is not
// one of them.
import { NpmTool } from "./npm-tools.mjs";
import { lastLine } from "./run.mjs";
import { say } from "./step.mjs";

const tool = new NpmTool("renovate", "44.121.2");

/** The directory of the package, which `ensureRenovate` creates. */
export const renovate = tool.file();

/** Installs it. Returns the reason if it cannot be installed, by its name. */
export async function ensureRenovate() {
  try {
    await tool.ensure();
    return {};
  } catch (error) {
    const reason = `Renovate ${tool.version} is not in the cache, and could not be installed: ${lastLine(error)}`;
    say(`- ${reason}`);
    return { renovate: reason };
  }
}
