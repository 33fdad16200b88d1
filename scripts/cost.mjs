// `npm run cost`: reckons what registries cost a month, and writes it into docs/cost.md. The counts come from
// docs/operations.json, which tests/clients/cost.test.mjs compares with what the Worker does.
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { isMain, root } from "./lib/paths.mjs";
import { FREE_A_DAY, LOOKED_UP, PLAN, PRICES, SOURCES, priceOf } from "./lib/prices.mjs";
import {
  CPU_OF_A_PUBLISH,
  CPU_OF_A_REQUEST,
  KV_OF_A_VERSION,
  REPAIRS,
  REPAIR_OPERATIONS,
  REVOCATION_READS,
  SHAPES,
} from "./lib/shapes.mjs";
import { main, say } from "./lib/step.mjs";

export const OPERATIONS_FILE = join(root, "docs", "operations.json");
export const COST_FILE = join(root, "docs", "cost.md");

/** What is logged of a request: the Worker's own line. The platform's are off in `wrangler.toml`. */
const EVENTS_OF_A_REQUEST = 1;

const ACTIONS = {
  page: "the front page",
  init_provider: "`init` of a provider that is not installed",
  init_installed: "`init` of a provider that is",
  init_50_providers: "`init` of 50 providers that are not installed",
  install_module: "`init` of a module",
  mirror_install: "installing from the network mirror",
  oci_pull: "installing from the OCI mirror",
  publish_provider: "publishing a version of a provider, for 15 platforms",
  publish_mirrored: "mirroring a version, for 3 platforms",
  publish_module: "publishing a version of a module",
};

const MODES = {
  presigned: "With S3 keys: archives come from R2 itself",
  worker: "Without: archives come through the Worker",
};

/** docs/cost.md. */
export async function costPage() {
  const counts = JSON.parse(await readFile(OPERATIONS_FILE, "utf8"));
  const bills = SHAPES.map((shape) => ({ shape, ...billOf(shape, counts.presigned) }));
  const byWorker = SHAPES.map((shape) => billOf(shape, counts.worker));
  return `${[
    "# What a registry costs",
    "",
    "Written by `npm run cost`; do not edit it by hand. The counts are those of `docs/operations.json`, which `npm test`",
    "compares with what the built Worker does, and everything else is in `scripts/lib/prices.mjs` and",
    "`scripts/lib/shapes.mjs`: put your own figures there.",
    "",
    "## What an action takes",
    "",
    ...Object.entries(MODES).flatMap(([mode, title]) => [`${title}.`, "", ...actionTable(counts[mode]), ""]),
    "A request is one that the Worker answers; those to R2 itself are in its classes. `init` asks for discovery once a run,",
    "which reads nothing. Class A is writing, copying and listing, class B is reading; R2 deletes for free. That KV has",
    "something at the edge makes a read faster and no cheaper. What clients ask for is what",
    "[docs/clients.md](clients.md) says. A publish does not take more where there are more versions, but one listing for each",
    "thousand of them.",
    "",
    "## What the platform takes",
    "",
    `US dollars a month, on the plan Workers Paid, which takes ${money(PLAN)} itself, by these pages as they were in ${LOOKED_UP}:`,
    "",
    ...Object.entries(SOURCES).map(([name, url]) => `- [${name}](${url})`),
    "",
    "Those of Workers Logs are announced to change on December 1, 2026. Nothing is taken for what leaves the network.",
    "",
    ...priceTable(),
    "",
    "## Four registries",
    "",
    ...billTable(bills, byWorker),
    "",
    "*As shipped* each request is one event of Workers Logs, the registry's own line; the platform's, which would be another, are",
    "off in `wrangler.toml`. *With few logs* none is kept of what goes well: `TERRACE_LOG_REQUESTS=failures`. No other setting",
    "changes a large bill as much.",
    "",
    ...bills.flatMap(shapeText),
    "## What is assumed",
    "",
    `- ${CPU_OF_A_REQUEST} ms of CPU for a request and ${CPU_OF_A_PUBLISH} ms for a publish: guesses on the high side, of the smallest part of a bill.`,
    `- ${KV_OF_A_VERSION / 1000} KB in KV for each version, as a provider for 15 platforms has them; a module has a tenth of that.`,
    `- A repair each hour that takes ${REPAIR_OPERATIONS} operations, which it keeps to or little more, each of class A.`,
    "- Where something is private, each isolate that is busy reads every 10 seconds which tokens are revoked.",
    "- Each client asks once. Failed requests, scanners and whoever else finds the hostname are requests, too.",
    "- R2 is charged by the whole million of operations and the whole GB, as its page says.",
    "- Neither a zone nor support, nor Analytics Engine where downloads are counted, nor taxes.",
  ].join("\n")}\n`;
}

/** What a shape uses in a month, and what that costs; `free` tells whether the plan Workers Free does. */
function billOf(shape, counts) {
  const used = Object.fromEntries(Object.keys(PRICES).map((name) => [name, 0]));
  for (const [action, times] of Object.entries(shape.actions)) {
    for (const [name, count] of Object.entries(counts[action])) used[name] += times * count;
    if (action.startsWith("publish_")) used.cpu += times * CPU_OF_A_PUBLISH;
  }
  used.requests += REPAIRS;
  used.cpu += used.requests * CPU_OF_A_REQUEST;
  used.r2A += REPAIRS * REPAIR_OPERATIONS;
  used.kvReads += shape.isolates * REVOCATION_READS;
  used.kvStored = (shape.versions * KV_OF_A_VERSION) / 1e9;
  used.r2Stored = shape.gigabytes;
  used.logs = used.requests * EVENTS_OF_A_REQUEST;
  const costs = Object.fromEntries(Object.entries(used).map(([name, amount]) => [name, priceOf(name, amount)]));
  const total = PLAN + sum(Object.values(costs));
  return { used, costs, total, withoutLogs: total - costs.logs };
}

const COLUMNS = {
  requests: "requests",
  kvReads: "KV reads",
  kvWrites: "KV writes",
  kvLists: "KV lists",
  r2A: "R2 class A",
  r2B: "R2 class B",
};

function actionTable(counts) {
  const rows = Object.entries(ACTIONS).map(([action, title]) => {
    if (counts[action].kvDeletes > 0) throw new Error(`${action} deletes in KV, which the table has no column for`);
    return [title, ...Object.keys(COLUMNS).map((name) => String(counts[action][name])), cents(millionTimes(counts[action]))];
  });
  return table(["", ...Object.values(COLUMNS), "a million times"], rows);
}

/** What a million of an action cost beyond what is included. */
const millionTimes = (counts) =>
  sum(Object.entries(counts).map(([name, count]) => (count * 1e6 * PRICES[name].price) / PRICES[name].per));

function priceTable() {
  const rows = Object.values(PRICES).map(({ of, unit, included, price, per }) => {
    return [of, unit, amount(included), per === 1 ? money(price) : `${money(price.toFixed(2))} for a million`];
  });
  return table(["", "", "included", "more"], rows);
}

function billTable(bills, byWorker) {
  const line = (title, cost) => [title, ...bills.map((bill) => cents(cost(bill)))];
  const groups = [...new Set(Object.values(PRICES).map(({ of }) => of))];
  const names = (group) => Object.keys(PRICES).filter((name) => PRICES[name].of === group);
  return table(
    ["a month", ...bills.map(({ shape }) => shape.name)],
    [
      line("the plan", () => PLAN),
      ...groups.map((group) => line(group, ({ costs }) => sum(names(group).map((name) => costs[name])))),
      line("**as shipped**", ({ total }) => total),
      line("**with few logs**", ({ withoutLogs }) => withoutLogs),
      ["with few logs, without S3 keys", ...byWorker.map(({ withoutLogs }) => cents(withoutLogs))],
    ],
  );
}

function shapeText({ shape, used, costs }) {
  const rows = Object.entries(used)
    .filter(([, amountUsed]) => amountUsed > 0)
    .map(([name, amountUsed]) => [`${PRICES[name].of}: ${PRICES[name].unit}`, amount(amountUsed), cents(costs[name])]);
  return [`### ${shape.name}`, "", ...wrapped(shape.what), "", ...table(["", "a month", ""], rows), "", ...freeText(used), ""];
}

/** Whether the free plan would do, where half of its allowance is enough for an average day. */
function freeText(used) {
  const over = Object.entries(FREE_A_DAY).filter(([name, allowed]) => used[name] / 30 > allowed / 2);
  if (over.length > 0) return ["Workers Free is not enough."];
  return wrapped(
    "On Workers Free it costs what R2 takes beyond its own allowance: an average day is below half of what that plan allows of " +
      "requests, operations of KV and logs. A publish of a large provider may take more than its 10 ms of CPU, though.",
  );
}

const sum = (numbers) => numbers.reduce((total, number) => total + number, 0);
const money = (dollars) => `$${dollars}`;
const cents = (dollars) => `$${grouped(dollars.toFixed(2))}`;
const grouped = (text) => text.replace(/\B(?=(\d{3})+(?!\d))/g, ",");

function amount(number) {
  if (number >= 1e6) return `${grouped(Number((number / 1e6).toPrecision(3)).toString())} million`;
  return grouped(Number(number.toPrecision(3)).toString());
}

function table(head, rows) {
  const line = (cells) => `| ${cells.join(" | ")} |`;
  return [line(head), line(head.map((_, place) => (place === 0 ? "---" : "---:"))), ...rows.map(line)];
}

/** Lines of at most 120 characters. */
function wrapped(text) {
  const lines = [""];
  for (const word of text.split(" ")) {
    const line = [lines.at(-1), word].filter(Boolean).join(" ");
    if (line.length > 120) lines.push(word);
    else lines[lines.length - 1] = line;
  }
  return lines;
}

if (isMain(import.meta.url)) {
  await main(async () => {
    const page = await costPage();
    await writeFile(COST_FILE, page);
    say(page);
  });
}
