// The drawing of a recorded terminal.
import assert from "node:assert/strict";

import { drawing } from "../../scripts/pages/drawing.mjs";
import { describe, test } from "../clients/support/testing.mjs";

const row = (text, style = "") => [{ text, style }];
const PATH = { hidden: "/tmp/some-1/", shown: "~/" };

describe("the drawing of a terminal", () => {
  test("shows a row from the screen that has it to the one that has another", () => {
    const picture = drawing([{ at: 1_000, rows: [row("$ n")] }, { at: 1_100, rows: [row("$ np")] }, { at: 1_300, rows: [row("$ np"), row("done")] }], PATH);
    // 300 ms and the pause at the end, of 8 s.
    assert.match(picture, /<text y="0" class="r0">\$ n<\/text>\n<text y="0" class="r1">\$ np<\/text>/);
    assert.match(picture, /\.r0\{visibility:hidden;animation:r0 8300ms steps\(1\) infinite\}@keyframes r0\{0%\{visibility:visible\}1\.2%\{visibility:hidden\}\}/);
    assert.match(picture, /\.r1\{animation:r1 8300ms steps\(1\) infinite\}@keyframes r1\{0%\{visibility:hidden\}1\.2%\{visibility:visible\}\}/);
  });

  test("shortens long pauses", () => {
    const picture = drawing([{ at: 0, rows: [row("a")] }, { at: 60_000, rows: [row("b")] }], PATH);
    assert.match(picture, /animation:r0 8900ms/);
  });

  test("escapes texts, and shows another path", () => {
    const picture = drawing([{ at: 0, rows: [[...row("cd /tmp/some-1/x && "), ...row("<b>", "c1 b")]] }], PATH);
    assert.ok(picture.includes('cd ~/x &amp;&amp; <tspan class="c1 b">&lt;b&gt;</tspan>'), picture);
  });

  test("moves up when there are more rows than the window has", () => {
    const rows = Array.from({ length: 30 }, (_, at) => row(`${at}`));
    const picture = drawing([{ at: 0, rows: rows.slice(0, 20) }, { at: 500, rows }], PATH);
    assert.match(picture, /\.m\{transform:translateY\(-76px\)/);
    assert.match(picture, /@keyframes m\{0%\{transform:translateY\(-0px\)\}5\.88%\{transform:translateY\(-76px\)\}\}/);
  });

  test("stands still for readers who prefer that", () => {
    const picture = drawing([{ at: 0, rows: [row("a")] }], PATH);
    assert.match(picture, /@media\(prefers-reduced-motion:reduce\)\{\*\{animation:none!important\}\}/);
  });
});
