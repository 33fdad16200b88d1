import { before, cleanupOf, describe, test } from "../../clients/support/testing.mjs";
import { forever, startStubbornServer } from "./support.mjs";

describe("a suite", () => {
  const cleanup = cleanupOf();
  before(async () => {
    await startStubbornServer(cleanup);
    await forever();
  }, "starting the registry");

  test("a test is not run", () => {});
});
