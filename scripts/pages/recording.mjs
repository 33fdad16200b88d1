// Records the first steps in a terminal: runs the commands of README in a copy of this checkout, and draws what the
// terminal shows, with its times, as docs/images/first-steps.svg, and its last screen as first-steps-still.svg. The copy is already built, as after a first start.
import { cp, mkdir, symlink, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";

import { temporaryDirectory } from "../lib/cleanup.mjs";
import { npmTool } from "../lib/npm-tools.mjs";
import { root } from "../lib/paths.mjs";
import { run } from "../lib/run.mjs";
import { say, step } from "../lib/step.mjs";
import { drawing } from "./drawing.mjs";
import { Shell } from "./shell.mjs";

const EMULATOR = npmTool("@xterm/headless", "6.0.0");

const IMAGES = join(root, "docs", "images");
const MOST_BYTES = 150_000;

/** Built files that the copy needs, so that it does not build again. */
const BUILT = ["build", ".terrace/bin", ".terrace/stamps"];

/** The commands in the second terminal. The answer to a question follows its command. */
const COMMANDS = [
  { line: ". .terrace/env" },
  { line: "terrace publish module examples/module --address acme/greeting/hello --version 0.2.0" },
  { line: "cd examples/consumer" },
  { line: "terraform init" },
  { line: "terraform apply", question: "Enter a value:", answer: "yes" },
];

/** Runs the commands and writes the pictures. */
export async function record(cleanup) {
  await EMULATOR.ensure();
  const { Terminal } = createRequire(import.meta.url)(EMULATOR.find());
  const directory = temporaryDirectory(cleanup);
  const checkout = join(directory, "terrace");
  await step("copying the checkout", () => copyCheckout(checkout));
  const screens = [];
  await step("recording the first steps", async () => {
    const first = await Shell.open(cleanup, Terminal, checkout);
    await first.types("npm start");
    await first.shows("The source address of that module");
    const second = await Shell.open(cleanup, Terminal, checkout);
    for (const { line, question, answer } of COMMANDS) {
      await second.types(line);
      if (question) {
        await second.shows(question);
        await second.types(answer);
      }
      await second.isReady();
    }
    screens.push(...first.frames, ...second.framesAfter(first, "another terminal"));
  });
  const path = { hidden: `${directory}/`, shown: "~/" };
  await save("first-steps.svg", drawing(screens, path));
  await save("first-steps-still.svg", drawing(screens.slice(-1), path));
}

async function save(name, picture) {
  if (picture.length > MOST_BYTES) throw new Error(`${name} has ${picture.length} bytes, and may have ${MOST_BYTES}: shorten the recording`);
  await writeFile(join(IMAGES, name), picture);
  say(`  docs/images/${name}: ${picture.length} bytes`);
}

async function copyCheckout(checkout) {
  const { stdout } = await run("git", ["ls-files", "--cached", "--others", "--exclude-standard", "-z"]);
  for (const file of [...stdout.split("\0").filter(Boolean), ...BUILT]) {
    await mkdir(dirname(join(checkout, file)), { recursive: true });
    await cp(join(root, file), join(checkout, file), { recursive: true, preserveTimestamps: true, verbatimSymlinks: true });
  }
  await symlink(join(root, "node_modules"), join(checkout, "node_modules"));
}
