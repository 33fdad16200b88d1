import { cleanupOf, test } from "../../clients/support/testing.mjs";
import { forever, startStubbornServer } from "./support.mjs";

test("a test never ends", async (t) => {
  await startStubbornServer(cleanupOf(t));
  await forever();
});

test("the next test passes", () => {});
