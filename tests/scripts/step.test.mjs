// The reports of long steps.
import assert from "node:assert/strict";

import { step } from "../../scripts/lib/step.mjs";
import { test } from "../clients/support/testing.mjs";

test("a step that takes minutes prints a line a minute where standard output is no terminal", { skip: process.stdout.isTTY && "a terminal" }, async (t) => {
  const lines = [];
  t.mock.method(console, "log", (line) => lines.push(line));
  t.mock.timers.enable({ apis: ["setInterval"] });
  await step("a test of steps", async () => {
    t.mock.timers.tick(59_000);
    assert.equal(lines.length, 1);
    t.mock.timers.tick(61_000);
  });
  const still = lines.filter((line) => /still a test of steps, for [\d.]+ s/.test(line));
  assert.equal(still.length, 2, lines.join("\n"));
});
