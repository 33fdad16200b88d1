// Renovate, for tests. It is several times as large as all of the project's packages, so `npm run clients` does not install it.
import { npmTool } from "./npm-tools.mjs";

export const RENOVATE = npmTool("renovate", "44.121.2");
