import { cleanupOf, describe, test } from "../../clients/support/testing.mjs";
import { startStubbornServer } from "./support.mjs";

describe("a suite", () => {
  test("a test blocks the process", async (t) => {
    await startStubbornServer(cleanupOf(t));
    for (;;);
  });
});
