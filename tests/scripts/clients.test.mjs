// The programs of other projects that `npm run clients` installs.
import assert from "node:assert/strict";

import { whyAbsent } from "../../scripts/lib/clients.mjs";
import { Installable } from "../../scripts/lib/installable.mjs";
import { test } from "../clients/support/testing.mjs";

/** A program that is there after this many attempts. */
function program(attempts) {
  const found = { tries: 0 };
  const install = async () => {
    found.tries += 1;
    if (found.tries < attempts) throw new Error("the mirror does not answer");
  };
  const installable = new Installable("a program", () => (found.tries >= attempts ? "/path" : undefined), install);
  return Object.assign(found, { installable });
}

test("an installation is tried three times, and only if it is needed", async () => {
  for (const attempts of [0, 1, 3]) {
    const found = program(attempts);
    await found.installable.ensure();
    assert.equal(found.tries, attempts);
  }
  const broken = program(4);
  await assert.rejects(broken.installable.ensure(), /the mirror does not answer/);
  assert.equal(broken.tries, 3);
});

test("the reason of an absent program names the command only if that provides it", () => {
  assert.equal(whyAbsent("node"), false);
  assert.equal(whyAbsent("terrace-has-no-such-program"), "terrace-has-no-such-program is not on PATH");
  const { PATH } = process.env;
  process.env.PATH = "";
  try {
    assert.match(whyAbsent("skopeo"), /^skopeo is neither on PATH nor in the cache: npm run clients provides it$/);
  } finally {
    process.env.PATH = PATH;
  }
});
