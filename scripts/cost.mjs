// `npm run cost`: estimates the monthly cost of registries, and writes it into docs/cost.md. The counts come
// from docs/operations.json, which tests/clients/worker/cost.test.mjs compares with the Worker's operations.
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { isMain, root } from "./lib/paths.mjs";
import { FREE_A_DAY, LOOKED_UP, PLAN, PRICES, SOURCES, priceOf } from "./lib/prices.mjs";
import {
  CPU_OF_A_PUBLISH,
  CPU_OF_A_REQUEST,
  KV_OF_A_VERSION,
  REPAIRS,
  REPAIR_USAGE,
  REVOCATION_READS,
  SHAPES,
} from "./lib/shapes.mjs";
import { main, say } from "./lib/step.mjs";

export const OPERATIONS_FILE = join(root, "docs", "operations.json");
export const COST_FILE = join(root, "docs", "cost.md");

/** The number of log events per request: the Worker's own line. The platform's events are off in `wrangler.toml`. */
const EVENTS_OF_A_REQUEST = 1;

const ACTIONS = {
  page: "the front page",
  init_provider: "`init` of a provider that is not installed",
  init_installed: "`init` of an installed provider",
  init_50_providers: "`init` of 50 providers that are not installed",
  install_module: "`init` of a module",
  mirror_install: "installing from the network mirror",
  oci_pull: "installing from the OCI mirror",
  missing_package: "looking for a package that does not exist",
  missing_package_again: "the same again within 30 seconds",
  missing_version: "looking for a version that does not exist",
  publish_provider: "publishing a version of a provider, for 15 platforms",
  publish_mirrored: "mirroring a version, for 3 platforms",
  publish_module: "publishing a version of a module",
};

const MODES = {
  presigned: "With S3 keys: clients download archives from R2, and SHA256SUMS with its signature from the Worker",
  worker: "Without S3 keys: clients download archives through the Worker",
  edge: "With S3 keys and `TERRACE_DOWNLOADS=edge`: clients download archives through the Worker, from the cache near them",
};

/** The minutes of a month of 30 days. */
const MINUTES = 30 * 24 * 60;

const thousands = (count) => count.toLocaleString("en-US");

/** Returns the text of docs/cost.md. */
export async function costPage() {
  const counts = JSON.parse(await readFile(OPERATIONS_FILE, "utf8"));
  const bills = SHAPES.map((shape) => ({ shape, ...billOf(shape, counts.presigned) }));
  const byWorker = SHAPES.map((shape) => billOf(shape, counts.worker));
  const fromEdge = SHAPES.map((shape) => billOf(shape, counts.edge));
  return `${[
    "# What a registry costs",
    "",
    "Written by `npm run cost`; do not edit it by hand. The counts are those of `docs/operations.json`, which `npm test`",
    "compares with the operations of the built Worker. Everything else is in `scripts/lib/prices.mjs` and",
    "`scripts/lib/shapes.mjs`: enter your own figures there.",
    "",
    "## The operations of an action",
    "",
    ...Object.entries(MODES).flatMap(([mode, title]) => [`${title}.`, "", ...actionTable(counts[mode]), ""]),
    "*Requests* are those to the Worker; requests to R2 count in its classes. `init` requests discovery once a run, which",
    "reads nothing. Class A is writing, copying and listing, class B is reading; R2 does not charge for deletes. A cached",
    "entry at the edge makes a KV read faster but not cheaper. The requests of clients are listed in",
    "[docs/clients.md](clients.md). With more versions, a publish takes no more operations except one listing for each",
    "thousand of them.",
    "",
    "With `edge`, a download is two requests, one of which is to the cache. The third table counts archives that the cache",
    "has: an archive that it lacks takes one operation of class B more. A hit saves that operation and the way to the bucket;",
    "the two requests cost more than the operation.",
    "",
    "Publishing also rebuilds the catalogue of all owners, at most once a minute, which is not counted here: one KV write,",
    "four operations of class A and one more for each thousand packages, and some of class B.",
    "",
    "## A client that looks for the same missing package all day",
    "",
    ...missesText(counts.presigned),
    "",
    "## The prices of the platform",
    "",
    `US dollars a month, on the plan Workers Paid, which itself costs ${money(PLAN)}, according to these pages in ${LOOKED_UP}:`,
    "",
    ...Object.entries(SOURCES).map(([name, url]) => `- [${name}](${url})`),
    "",
    "The prices of Workers Logs will change on December 1, 2026, as announced. Outgoing traffic is free.",
    "",
    ...priceTable(),
    "",
    "## Four registries",
    "",
    ...billTable(bills, byWorker, fromEdge),
    "",
    "*As shipped*, each request is one event of Workers Logs, the registry's own line. The platform's own event, which would",
    "be a second one, is off in `wrangler.toml`. *With few logs*, successful requests are not logged:",
    "`TERRACE_LOG_REQUESTS=failures`. No other setting changes a large bill as much.",
    "",
    ...bills.flatMap(shapeText),
    "## A second bucket",
    "",
    "The figures above are without a [second bucket](operating.md#a-second-bucket-for-outages). With one, a month adds:",
    "",
    ...table(
      ["", "R2 class A", "R2 class B", "KV reads", "requests to the second bucket"],
      [
        ["the probe, each minute", "0", thousands(2 * MINUTES), thousands(2 * MINUTES), "0"],
        ["a comparison of 500 archives, every fifth minute, and a look at its progress in others", thousands((2 * MINUTES) / 5), thousands(MINUTES), thousands(MINUTES / 10), `${thousands(MINUTES / 5)} lists`],
        ["each step that copies or removes, up to 10 archives", "4", "1", "0", "0"],
        ["each copied archive", "0", "1", "0", "1 put"],
        ["an isolate with downloads, each 10 seconds", "0", "0", "1", "0"],
      ],
    ),
    "",
    "The result of the comparisons is written to KV once an hour, or when it differs. All of this is within the amounts that Workers",
    "Paid includes, up to 100,000 copied archives a month and thirty busy isolates.",
    "Workers Free includes 100,000 KV reads a day: those of ten busy isolates. Reads of lists and pages take nothing more. The",
    "copies take as many GB as the main bucket, at the price of the second one: 2026 some $0.023 a GB at Amazon S3, whose requests cost",
    "some $0.05 a month for the lists. R2 charges nothing for outgoing traffic. The provider of the second bucket may charge for",
    "downloads in an outage: some $0.09 a GB at Amazon S3, nothing at R2 in another account.",
    "",
    "## Assumptions",
    "",
    `- ${CPU_OF_A_REQUEST} ms of CPU for a request and ${CPU_OF_A_PUBLISH} ms for a publish: high estimates of the smallest part of a bill.`,
    `- ${KV_OF_A_VERSION / 1000} KB in KV for each version, the size for a provider with 15 platforms; a module has a tenth of that.`,
    `- A step of the repair each minute, which always has something to visit: ${REPAIR_USAGE.r2A / 1000},000 operations of class A a month, the most.`,
    "- With private packages, and where `init` installs providers, each busy isolate reads the list of revoked tokens and erased",
    "  digests every 10 seconds.",
    "- Each client sends each request once. Failed requests, scanners and other visitors add requests.",
    "- R2 rounds up to the next million operations and the next GB, according to its page.",
    "- Not included: a zone, support, Analytics Engine for download counts, and taxes.",
  ].join("\n")}\n`;
}

/** Returns the monthly usage of a shape, and its cost; `free` is true if the plan Workers Free is enough. */
function billOf(shape, counts) {
  const used = Object.fromEntries(Object.keys(PRICES).map((name) => [name, 0]));
  for (const [action, times] of Object.entries(shape.actions)) {
    for (const [name, count] of Object.entries(counts[action])) used[name] += times * count;
    if (action.startsWith("publish_")) used.cpu += times * CPU_OF_A_PUBLISH;
  }
  used.requests += REPAIRS;
  used.cpu += used.requests * CPU_OF_A_REQUEST;
  for (const [name, count] of Object.entries(REPAIR_USAGE)) used[name] += count;
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

/** The requests for a missing package that one client sends in a second, and the time for which an isolate remembers it. */
const MISSES_A_SECOND = 10;
const REMEMBERED_SECONDS = 30;
const SECONDS_OF_A_DAY = 86_400;

/** Returns the cost of a client that repeats a miss, with and without the memory of isolates. */
function missesText(counts) {
  const misses = MISSES_A_SECOND * SECONDS_OF_A_DAY;
  const lookups = SECONDS_OF_A_DAY / REMEMBERED_SECONDS;
  const [first, again] = [counts.missing_package, counts.missing_package_again].map((it) => millionTimes(it) / 1e6);
  const [without, remembered] = [misses * first, lookups * first + (misses - lookups) * again].map((it) => money(it.toFixed(2)));
  return [
    `A client that sends ${MISSES_A_SECOND} such requests a second, all day, costs ${remembered}: an isolate remembers for`,
    `${REMEMBERED_SECONDS} seconds that R2 has no such package, and each further isolate that answers the client adds`,
    `${cents(lookups * (first - again))} at most. If each request went to R2, the day would cost ${without}. Most of the rest is the price of requests and`,
    "of reads in KV, which no registry on this platform can avoid; a rate limit of the zone can.",
  ];
}

/** Returns the cost of a million of these actions beyond the included amount. */
const millionTimes = (counts) =>
  sum(Object.entries(counts).map(([name, count]) => (count * 1e6 * PRICES[name].price) / PRICES[name].per));

function priceTable() {
  const rows = Object.values(PRICES).map(({ of, unit, included, price, per }) => {
    return [of, unit, amount(included), per === 1 ? money(price) : `${money(price.toFixed(2))} for a million`];
  });
  return table(["", "", "included", "more"], rows);
}

function billTable(bills, byWorker, fromEdge) {
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
      ["with few logs, archives from the edge", ...fromEdge.map(({ withoutLogs }) => cents(withoutLogs))],
    ],
  );
}

function shapeText({ shape, used, costs }) {
  const rows = Object.entries(used)
    .filter(([, amountUsed]) => amountUsed > 0)
    .map(([name, amountUsed]) => [`${PRICES[name].of}: ${PRICES[name].unit}`, amount(amountUsed), cents(costs[name])]);
  return [`### ${shape.name}`, "", ...wrapped(shape.what), "", ...table(["", "a month", ""], rows), "", ...freeText(used), ""];
}

/** States whether the free plan is enough, that is, whether an average day needs at most half of its allowance. */
function freeText(used) {
  const over = Object.entries(FREE_A_DAY).filter(([name, allowed]) => used[name] / 30 > allowed / 2);
  if (over.length > 0) return ["Workers Free is not enough."];
  return wrapped(
    "On Workers Free it costs only the R2 usage beyond its own allowance: an average day needs less than half of that plan's " +
      "requests, operations of KV and logs. However, a publish of a large provider may exceed its limit of 10 ms of CPU.",
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

/** Breaks a text into lines of at most 120 characters. */
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
