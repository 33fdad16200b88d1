// The CPU of searches, lists and descriptions on workerd: node scripts/bench/search.mjs, after node scripts/build.mjs worker.
// The catalogue is synthetic: 5,000 packages in 100 namespaces, with descriptions and inputs, and 5,000 symbols. There is no
// hand-written minimum beside it; a request of discovery shows what the platform alone takes.
import { createHash } from "node:crypto";

import { HEADERS } from "./cases.mjs";
import { inRounds, summary } from "./measure.mjs";
import { startServers } from "./servers.mjs";
import { wire } from "./load.mjs";

const NAMESPACES = 100;
const PACKAGES = 50;
const SYMBOLS = 5_000;

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
  return `${JSON.stringify({ parts: 1, newest: [] })}\n${sorted(packages)}\n\n${sorted(symbols)}`;
}

function details() {
  const inputs = Array.from({ length: 60 }, (_, at) => ({ name: `input_${at}`, type: "string", description: "A sentence about it.", default: '"a"' }));
  const root = { readme: "A paragraph of prose about the module.\n\n".repeat(500), inputs };
  return { schema: 1, kind: "module", root };
}

function entries() {
  const overview = { versions: Array.from({ length: 50 }, (_, at) => ({ version: `1.${50 - at}.0`, published_at: 1_700_000_000, is_documented: true })) };
  const documentation = { archive: "0".repeat(64), head_length: 10, changed_at: 1_700_000_000, ...details() };
  const about = { published_at: 1_700_000_000, documentation };
  const texts = {
    "merged-catalog/1": catalogue(),
    "modules/acme/vpc/aws/overview": JSON.stringify(overview),
    "modules/acme/vpc/aws/about/1.1.0": JSON.stringify(about),
  };
  const etag = (text) => `"${createHash("sha256").update(text).digest("hex").slice(0, 32)}"`;
  return Object.entries(texts).map(([key, text]) => ({ key, text, metadata: { etag: etag(text) } }));
}

const PATHS = {
  discovery: "/.well-known/terraform.json",
  "search: a word of some names": "/api/v1/search?q=gateway",
  "search: two words": "/api/v1/search?q=firewall+vault",
  "search: a symbol": "/api/v1/search?q=cloud_instance",
  "search: nothing": "/api/v1/search?q=xylophone",
  "search: one letter": "/api/v1/search?q=a",
  "search: a word in every line": "/api/v1/search?q=team",
  namespaces: "/api/v1/namespaces",
  "modules in pages": "/v1/modules?limit=20",
  "a package of 50 versions": "/api/v1/modules/acme/vpc/aws",
  "a version with a README of 20 KB": "/api/v1/modules/acme/vpc/aws/1.1.0",
  "a version in the public shape": "/v1/modules/acme/vpc/aws/1.1.0",
};

const stored = entries();
console.log(`catalogue: ${stored[0].text.length} bytes`);
const servers = await startServers(stored);
try {
  const connections = await servers.ours.connections("worker", 4);
  for (const [name, path] of Object.entries(PATHS)) {
    const request = wire({ path, headers: HEADERS });
    const { status, bytes } = await connections[0].ask(request);
    const cost = await servers.ours.costOf("worker", request);
    const [runs] = await inRounds([{ pids: [servers.ours.pid], connections, request, status }], { rounds: 5, ms: 1_000 });
    const { cpu, p50 } = summary(runs);
    console.log(`${name}: ${status}, ${bytes} bytes, ${(cpu / 1000).toFixed(2)} ms of CPU, p50 ${p50.toFixed(1)} ms, KV ${cost.kv}, R2 ${cost.r2}`);
  }
} finally {
  await servers.stop();
}
