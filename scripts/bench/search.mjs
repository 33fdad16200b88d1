// The CPU of searches, of lists of the catalogue, of the details of packages, of pages and of the tools of assistants. The catalogue is synthetic: 5,000 packages
// in 100 namespaces, with descriptions and inputs, and 5,000 symbols. There is no hand-written minimum of a search: beside
// each read, the floor sends the bytes of the same index as a version list, which it passes on unread.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { gzipSync } from "node:zlib";

import { say, step } from "../lib/step.mjs";
import { HEADERS } from "./cases.mjs";
import { wire } from "./load.mjs";
import { inRounds, ratio, summary } from "./measure.mjs";
import { aligned } from "./report.mjs";
import { startServers } from "./servers.mjs";
import { median } from "./statistics.mjs";

const NAMESPACES = 100;
const PACKAGES = 50;
const SYMBOLS = 5_000;

/** The number of requests that are counted; their median ignores the check of the catalogue, once a minute. */
const COUNTED = 3;

const WORDS =
  "network subnet gateway cluster database queue bucket policy role secret certificate zone record alarm dashboard function container registry pipeline backup vault monitor firewall balancer cache stream topic".split(" ");

/** A generator of the same numbers each time. */
function* numbers() {
  for (let state = 7; ; state = (state * 1_103_515_245 + 12_345) % 2_147_483_648) yield state >> 8;
}

function catalogue() {
  const random = numbers();
  const number = () => random.next().value;
  const syllable = () => "bdfgklmnprst"[number() % 12] + "aeiou"[number() % 5];
  const rare = () => Array.from({ length: 2 + (number() % 2) }, syllable).join("");
  // One word in ten is a frequent one.
  const word = () => (number() % 10 === 0 ? WORDS[number() % WORDS.length] : rare());
  const several = (count, separator) => Array.from({ length: count }, word).join(separator);
  const packages = [];
  for (let namespace = 0; namespace < NAMESPACES; namespace += 1) {
    for (let at = 0; at < PACKAGES; at += 1) {
      const inputs = Array.from({ length: 10 }, () => several(2, "_"));
      const description = `Creates a ${several(12, " ")}.`;
      const key = `modules/team${namespace}/${several(2, "-")}-${at}/aws`;
      packages.push(JSON.stringify([key, "1.2.0", 1_700_000_000, 12, null, 1, description, inputs]));
    }
  }
  const symbols = Array.from({ length: SYMBOLS }, (_, at) => {
    const provider = `providers/hosted/team${at % NAMESPACES}/cloud`;
    const page = `${several(2, "_")}_${at}`;
    const name = at === 17 ? "cloud_instance" : `cloud_${page}`;
    return JSON.stringify(["resources", name, provider, "3.1.0", page]);
  });
  const sorted = (lines) => lines.sort().join("\n");
  const newest = packages.slice(0, 200).join("\n");
  const sections = [sorted(packages), sorted(symbols)];
  const header = { parts: 1, packages: sections[0].length, symbols: sections[1].length };
  return [JSON.stringify(header) + "\n" + sections[0], sections[1], newest].join("\n\n");
}

function module() {
  const inputs = Array.from({ length: 60 }, (_, at) => ({ name: `input_${at}`, type: "string", description: "A sentence about it.", default: '"a"' }));
  const root = { readme: "A paragraph of prose about the module.\n\n".repeat(500), inputs };
  return { module: { root } };
}

/** A page of documentation with prose, a table and code. */
const DOCUMENT = `# cloud_thing_17

Manages a thing. Read [another page](thing_18.md) about its \`parts\`.

## Example

\`\`\`terraform
resource "cloud_thing_17" "example" {
  name  = "cog"
  count = 3 # parts
}
\`\`\`

## Arguments

${Array.from({ length: 30 }, (_, at) => `- \`argument_${at}\` - (Optional) A sentence about **it**, and a link to [thing](thing_${at}.md).`).join("\n")}
`;
const MEMBER = gzipSync(DOCUMENT);
const ARCHIVE = "0".repeat(64);
const HEAD_LENGTH = 10;

/** The documentation archive, of which only that page is read. */
const archive = { key: `archives/${ARCHIVE}.docs`, base64: Buffer.concat([Buffer.alloc(HEAD_LENGTH), MEMBER]).toString("base64") };

function provider() {
  const names = Array.from({ length: 1_000 }, (_, at) => `thing_${at}`);
  const member = (at) => (at === 17 ? { offset: 0, length: MEMBER.length, size: Buffer.byteLength(DOCUMENT) } : { offset: 500 * at, length: 500, size: 2_000 });
  const pages = names.map((name, at) => ({ kind: "resources", name, title: `cloud_${name}`, subcategory: "Things", member: member(at) }));
  return { provider: { pages, symbols: names.map((name) => ({ kind: "resources", name: `cloud_${name}`, page: name })) } };
}

const described = (contents) => {
  const head = { schema: 1, contents };
  const documentation = { archive: ARCHIVE, head_length: HEAD_LENGTH, changed_at: 1_700_000_000, changes: 0, head };
  return JSON.stringify({ published_at: 1_700_000_000, documentation });
};

/** The index of a version of the provider, with its platforms. */
function built() {
  const platforms = ["linux_amd64", "linux_arm64", "darwin_arm64", "windows_amd64", "linux_386", "freebsd_amd64"];
  const packages = platforms.map((platform) => ({ platform, filename: `terraform-provider-cloud_1.0.0_${platform}.zip`, sha256: ARCHIVE, size: 20_000_000 }));
  return JSON.stringify({ protocols: ["5.0", "6.0"], packages });
}

/** The revision of the Model Context Protocol in which tools are called. */
const REVISION = "2026-07-28";

/** Returns a message of the Model Context Protocol as a request; `cost` is that of another than one operation of KV. */
function message(method, params, cost = {}) {
  const meta = { "io.modelcontextprotocol/protocolVersion": REVISION, "io.modelcontextprotocol/clientCapabilities": {} };
  const headers = {
    "content-type": "application/json",
    accept: "application/json, text/event-stream",
    "mcp-protocol-version": REVISION,
    "mcp-method": method,
    ...(params.name && { "mcp-name": params.name }),
  };
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params: { ...params, _meta: meta } });
  return { method: "POST", path: "/mcp", headers, body, cost };
}

const tool = (name, args, cost) => message("tools/call", { name, arguments: args }, cost);

/** The indices of the reads, each with the reads that it answers: `{ name: path }`, or a request in place of the path. */
function indices() {
  const versions = Array.from({ length: 50 }, (_, at) => ({ version: `1.${50 - at}.0`, published_at: 1_700_000_000, is_documented: true }));
  const ofProvider = JSON.stringify({ versions: [{ version: "1.0.0", published_at: 1_700_000_000, is_documented: true }] });
  return [
    {
      key: "merged-catalog/1",
      text: catalogue(),
      reads: {
        "search: a word of some names": "/api/v1/search?q=gateway",
        "search: two words": "/api/v1/search?q=firewall+vault",
        "search: a symbol": "/api/v1/search?q=cloud_instance",
        "search: nothing": "/api/v1/search?q=xylophone",
        "search: one letter": "/api/v1/search?q=a",
        "search: a word in every line": "/api/v1/search?q=team",
        "search: modules, as the public registry": "/v1/modules/search?q=gateway",
        namespaces: "/api/v1/namespaces",
        "modules, the first page": "/v1/modules?limit=20",
        "modules, the last page": "/v1/modules?limit=20&offset=4980",
        "page: start": "/",
        "page: search": "/search?q=gateway",
        "tool: search, a word of some names": tool("search", { query: "gateway" }),
        "tool: find_type": tool("find_type", { name: "cloud_instance" }),
      },
    },
    { key: "catalog/team7", text: lines(catalogue(), '["modules/team7/'), reads: { "a namespace of 50 packages": "/api/v1/namespaces/team7" } },
    {
      key: "modules/acme/vpc/aws/overview",
      text: JSON.stringify({ versions }),
      reads: {
        "a package of 50 versions": "/api/v1/modules/acme/vpc/aws",
        "tool: list_versions of 50": tool("list_versions", { address: "acme/vpc/aws" }),
        "tool: how_to_authenticate": tool("how_to_authenticate", {}, { kv: 0 }),
        "tool: the list of tools": message("tools/list", {}, { kv: 0 }),
      },
    },
    {
      key: "modules/acme/vpc/aws/about/1.1.0",
      text: described(module()),
      reads: {
        "a version of a module, README of 20 KB": "/api/v1/modules/acme/vpc/aws/1.1.0",
        "the same in the public shape": "/v1/modules/acme/vpc/aws/1.1.0",
        "the README alone": "/api/v1/modules/acme/vpc/aws/1.1.0/docs/readme",
        "page: a module": "/modules/acme/vpc/aws/1.1.0",
        "tool: get_module": tool("get_module", { address: "acme/vpc/aws", version: "1.1.0" }),
        "tool: get_docs, a README of 20 KB": tool("get_docs", { address: "acme/vpc/aws", version: "1.1.0" }),
        "tool: compare_versions": tool("compare_versions", { address: "acme/vpc/aws", from: "1.1.0", to: "1.2.0" }),
      },
    },
    { key: "modules/acme/vpc/aws/about/1.2.0", text: described(module()), reads: {} },
    {
      key: "providers/hosted/acme/cloud/about/1.0.0",
      text: described(provider()),
      reads: {
        "the navigation of 1,000 pages": "/api/v1/providers/acme/cloud/1.0.0/docs",
        "page: a provider of 1,000 documents": "/providers/acme/cloud/1.0.0",
        "page: a document": { path: "/providers/acme/cloud/1.0.0/docs/resources/thing_17", cost: { r2: 1 } },
        "tool: get_provider of 1,000 documents": tool("get_provider", { address: "acme/cloud", version: "1.0.0" }),
        "tool: get_docs, a document": tool("get_docs", { address: "acme/cloud", version: "1.0.0", document: "resources/thing_17" }, { r2: 1 }),
      },
    },
    { key: "providers/hosted/acme/cloud/overview", text: ofProvider, reads: {} },
    { key: "providers/hosted/acme/cloud/version/1.0.0", text: built(), reads: {} },
  ];
}

const lines = (text, start) =>
  text
    .split("\n")
    .filter((line) => line.startsWith(start))
    .join("\n");

/** The module whose version list has the bytes of an index. */
const listed = (at) => `acme/same${at}/aws`;

function entry(key, text) {
  const etag = `"${createHash("sha256").update(text).digest("hex").slice(0, 32)}"`;
  return { key, text, metadata: { etag } };
}

/** Measures all reads whose names contain `only`, and prints them. */
export async function benchSearch({ only, json, ...effort }) {
  const stored = indices();
  const entries = stored.flatMap(({ key, text }, at) => [entry(key, text), entry(`modules/${listed(at)}/versions`, text)]);
  const asked = (read) => (typeof read === "string" ? { path: read } : read);
  const reads = stored.flatMap(({ text, reads }, at) => Object.entries(reads).map(([name, read]) => ({ name, ...asked(read), at, index: text.length })));
  const wanted = reads.filter(({ name }) => name.includes(only));
  const servers = await startServers([...entries, archive]);
  try {
    const measured = await step(`measuring ${effort.rounds} rounds of ${wanted.length} reads`, () => inOrder(wanted, (read) => measureOne(read, servers, effort)));
    const heads = ["", "CPU µs", "floor µs", "ratio", "spread", "p50 ms", "KV", "R2", "B of the index", "B answered"];
    say(aligned([heads, ...measured.map(row)]));
    if (json) await writeFile(json, JSON.stringify({ ...effort, reads: measured }, null, 2));
  } finally {
    await servers.stop();
  }
}

async function inOrder(items, act) {
  const done = [];
  for (const item of items) done.push(await act(item));
  return done;
}

async function measureOne({ name, at, index, cost: expected, ...request }, { ours, floor }, effort) {
  const sides = await Promise.all(
    [[ours, request], [floor, { path: `/v1/modules/${listed(at)}/versions` }]].map(async ([server, { headers, ...request }]) => {
      const connections = await server.connections("worker", 4);
      return { pids: [server.pid], connections, request: wire({ ...request, headers: { ...HEADERS, ...headers } }), status: 200 };
    }),
  );
  const { status, bytes, body } = await sides[0].connections[0].ask(sides[0].request, { keep: true });
  assert.equal(status, 200, `${name}: the Worker answers ${status}`);
  // A tool that finds nothing answers 200 as well.
  assert.ok(!body.includes('"isError":true') && !body.includes('"error":{'), `${name}: ${body}`);
  const [own, other] = await inRounds(sides, effort);
  const costs = [];
  for (let at = 0; at < COUNTED; at += 1) costs.push(await ours.costOf("worker", sides[0].request));
  const cost = { kv: median(costs.map(({ kv }) => kv)), r2: median(costs.map(({ r2 }) => r2)) };
  assert.deepEqual(cost, { kv: 1, r2: 0, ...expected }, `${name}: a read takes one operation of KV, and one of R2 for a document`);
  await Promise.all([ours, floor].map((server) => server.forgetLog()));
  return { name, index, bytes, cost, ours: summary(own), floor: summary(other), ratio: ratio(own, other) };
}

const row = ({ name, index, bytes, cost, ours, floor, ratio }) => [
  name,
  ours.cpu.toFixed(0),
  floor.cpu.toFixed(0),
  ratio.median.toFixed(2),
  `${ratio.low.toFixed(2)}–${ratio.high.toFixed(2)}`,
  ours.p50.toFixed(1),
  String(cost.kv),
  String(cost.r2),
  String(index),
  String(bytes),
];
