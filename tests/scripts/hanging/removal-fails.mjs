import { mkdirSync } from "node:fs";

import { cleanupOf, describe, test } from "../../clients/support/testing.mjs";
import { startStubbornServer } from "./support.mjs";

describe("a suite", () => {
  const cleanup = cleanupOf();
  cleanup.add("running the first action", () => console.log("# the first action has run"));
  cleanup.add("removing a directory", () => mkdirSync("/dev/null/directory"));

  test("a test starts a server", () => startStubbornServer(cleanup));
});
