import { test } from "../../clients/support/testing.mjs";

test("a test fails, and so does its end", (t) => {
  t.after(() => {
    throw new Error("the end fails");
  });
  throw new Error("the test fails");
});
