// Measures pages with Lighthouse, as a telephone and as a desk computer.
import { readFile } from "node:fs/promises";
import { join } from "node:path";

import { find } from "../lib/clients.mjs";
import { temporaryDirectory } from "../lib/cleanup.mjs";
import { packagedNode } from "../lib/npm.mjs";
import { npmTool } from "../lib/npm-tools.mjs";
import { ask, run } from "../lib/run.mjs";
import { say, step } from "../lib/step.mjs";
import { PAGES, startWithPackages } from "./registry.mjs";

/** With its dependencies it takes 176 MB. */
const LIGHTHOUSE = npmTool("lighthouse", "13.5.0");

const MEASURED = ["start", "browse", "provider", "document", "module"];

/** Lighthouse's presets; its default is a slow telephone. */
const DEVICES = { telephone: [], "desk computer": ["--preset=desktop"] };

const CATEGORIES = ["performance", "accessibility", "best-practices", "seo"];

const FLAGS = ["--output=json", "--quiet", "--disable-full-page-screenshot", "--no-enable-error-reporting", "--chrome-flags=--headless=new --no-sandbox"];

/** Now and then it asks to be run again, because the browser has not recorded the beginning of a visit. */
const ATTEMPTS = 3;

/** Other programs on the machine cost performance. A page with less than 100 points is measured this often, and the median counts. */
const RUNS = 3;

/** Measures the pages, prints a table, and rejects if a page has less than 100 points in a category. */
export async function measurePages(cleanup) {
  await LIGHTHOUSE.ensure();
  const registry = await startWithPackages(cleanup);
  const directory = temporaryDirectory(cleanup);
  const browser = find("chromium");
  const results = [];
  await step("measuring the pages with Lighthouse", async (log) => {
    const measureOnce = (name, flags) => lighthouse({ url: new URL(PAGES[name], registry.url).href, output: join(directory, `${name}.json`), flags, browser, log });
    for (const [device, flags] of Object.entries(DEVICES)) {
      for (const name of MEASURED) results.push({ name, device, ...(await median(() => measureOnce(name, flags))) });
    }
  });
  say(`\nLighthouse ${LIGHTHOUSE.version}, ${await ask(browser, ["--version"])}\n\n${table(results)}\n`);
  const lost = results.flatMap(pointsLost);
  if (lost.length > 0) throw new Error(`Pages lost points:\n  ${lost.join("\n  ")}`);
}

/** Returns the first result with all points of performance, or the median. */
async function median(measureOnce) {
  const results = [];
  while (results.length < RUNS) {
    const result = await measureOnce();
    if (result.categories.performance.score === 1) return result;
    results.push(result);
  }
  results.sort((a, b) => a.categories.performance.score - b.categories.performance.score);
  return results[Math.floor(RUNS / 2)];
}

async function lighthouse({ url, output, flags, browser, log }) {
  const args = [LIGHTHOUSE.file("cli", "index.js"), url, `--output-path=${output}`, ...FLAGS, ...flags];
  const once = () => run(packagedNode, args, { log, env: { ...process.env, CHROME_PATH: browser } });
  for (let attempt = 1; ; attempt += 1) {
    try {
      await once();
      return JSON.parse(await readFile(output, "utf8"));
    } catch (error) {
      if (attempt === ATTEMPTS || !error.output?.includes("run Lighthouse again")) throw error;
    }
  }
}

/** Returns a Markdown table of the points and of the figures behind the performance. */
function table(results) {
  const rows = results.map(({ name, device, categories, audits }) => {
    const shown = (audit) => (audits[audit].displayValue ?? "0").replace("Total size was ", "");
    const points = CATEGORIES.map((category) => Math.round(categories[category].score * 100));
    return [name, device, ...points, ...["largest-contentful-paint", "total-blocking-time", "cumulative-layout-shift", "total-byte-weight"].map(shown)];
  });
  const head = ["page", "device", "performance", "accessibility", "best practices", "SEO", "largest paint", "blocked", "layout shift", "size"];
  return [head, head.map(() => "---"), ...rows].map((cells) => `| ${cells.join(" | ")} |`).join("\n");
}

/** Returns the audits that cost a page points, one line each. */
function pointsLost({ name, device, categories, audits }) {
  return CATEGORIES.filter((category) => categories[category].score < 1).flatMap((category) => {
    const failed = categories[category].auditRefs.filter(({ id, weight }) => weight > 0 && audits[id].score !== null && audits[id].score < 1);
    return failed.map(({ id }) => `${name}, ${device}, ${category}: ${id} (${audits[id].displayValue ?? audits[id].title})`);
  });
}
