// Packages from npm that are not dependencies of the project: with their own, they are larger than all of those.
import { join } from "node:path";

import { cached } from "./installable.mjs";
import { npmInstall } from "./npm.mjs";

export const npmTool = (name, version) => cached(name, version, join("node_modules", name), (home, log) => npmInstall(`${name}@${version}`, home, log));
