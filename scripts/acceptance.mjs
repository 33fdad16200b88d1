// `npm run acceptance -- URL`: tests a deployed registry over the network, because simulators of the platform cannot show
// everything: the minute that KV needs, one write of a key a second, many isolates, the cache at the edge, presigned URLs that refuse
// other bytes, limits of CPU and memory, and what is in front of the Worker. It publishes into namespaces of its own, and the
// published versions stay. docs/deploying.md describes it.
import { createInterface } from "node:readline/promises";
import { parseArgs } from "node:util";

import { endWithParent } from "./lib/lifetime.mjs";
import { continueUnder } from "./lib/npm.mjs";
import { main, say } from "./lib/step.mjs";
import { cargoTests, nodeTests, Tally, testFiles } from "./lib/tests.mjs";

const USAGE = "usage: TERRACE_TOKEN=… npm run acceptance -- URL [--yes] [--only http|clients] [--worker NAME]";

/** The tests over HTTP that send other hostnames. */
const OF_OTHER_HOSTS = "http::pages::hosts";

/** The number of versions that each part publishes, rounded up. docs/deploying.md states what they cost. */
const VERSIONS = { http: 175, clients: 7 };

/** The time of an answer to the first requests, whose server may be no registry. */
const INSPECTED_MS = 30_000;

/** The hosts to which a token may be sent without TLS. */
const LOOPBACK = ["localhost", "127.0.0.1", "[::1]"];

endWithParent();
await main(async () => {
  const { url, token, parts, yes, worker } = parse(process.argv.slice(2));
  await trustAuthority(process.env.SSL_CERT_FILE);
  const prefix = `acceptance${Math.floor(Date.now() / 1000).toString(36)}`;
  say(statement(url, prefix, parts));
  if (!yes && !(await agreed())) throw new Error("nothing was sent: repeat the command with --yes, or answer with yes");

  const found = await inspect(url, token, prefix);
  const tally = new Tally();
  const env = { ...process.env, TERRACE_TEST_URL: url, TERRACE_TEST_TOKEN: token, TERRACE_TEST_PREFIX: prefix, ...(worker && { TERRACE_TEST_WORKER: worker }) };
  if (parts.includes("clients")) {
    const output = await tally.tests("tests with real clients", async (log) => nodeTests(log, await testFiles("acceptance"), { variables: env }));
    for (const [, measured] of output.matchAll(/^# (.*\d ms\b.*)$/gm)) say(`  measured: ${measured}`);
  }
  if (parts.includes("http") && found.isPublic) {
    const args = ["--package", "terrace", "--test", "it", "--", "http::", "--skip", OF_OTHER_HOSTS];
    tally.skip(OF_OTHER_HOSTS, "requests for other hostnames do not reach the registry");
    await tally.tests("HTTP tests", (log) => cargoTests(log, args, { env: { ...env, TERRACE_TEST_MODE: found.mode, TERRACE_TEST_UPLOADS: found.uploads } }));
  } else if (parts.includes("http")) {
    tally.skip("HTTP tests", "the registry is private, and these tests read without a token");
  }
  say(`\n${tally}`);
  say(`Everything that was published is in namespaces that begin with ${prefix}. \`terrace admin erase\` removes it, version by version.`);
  if (tally.failed > 0) {
    say("Failures with the status 429 come from the limits of the registry: docs/deploying.md names the settings for a run.");
    process.exitCode = 1;
  }
});

function parse(args) {
  const options = { yes: { type: "boolean", default: false }, only: { type: "string" }, worker: { type: "string" } };
  const { values, positionals } = parseArgs({ args, allowPositionals: true, options });
  const [text] = positionals;
  if (positionals.length !== 1 || !URL.canParse(text)) throw new Error(USAGE);
  // The next message quotes the URL.
  if (text.includes("@") || text.includes("?")) throw new Error("the URL has a user, a password or a query, which is not sent: write it without; the token belongs in TERRACE_TOKEN");
  const { protocol, origin, hostname, pathname, hash } = new URL(text);
  const isOrigin = ["http:", "https:"].includes(protocol) && pathname === "/" && !hash;
  if (!isOrigin) throw new Error(`${printable(text)} is not the URL of a registry, such as https://registry.example.com`);
  if (protocol === "http:" && !LOOPBACK.includes(hostname)) throw new Error(`${origin} would get the admin token without TLS: write https://`);
  if (values.only !== undefined && !Object.hasOwn(VERSIONS, values.only)) throw new Error(`--only ${printable(values.only) || '""'}: the parts are http and clients`);
  const token = process.env.TERRACE_TOKEN;
  if (!token) throw new Error("TERRACE_TOKEN is not set: the run publishes, and needs the admin token");
  // An invalid header is quoted by the error of `fetch`.
  if (!/^[\x21-\x7e]+$/.test(token)) throw new Error("TERRACE_TOKEN has a line break, a space or another character that no token has: set it again, without it");
  return { url: origin, token, yes: values.yes, worker: values.worker, parts: values.only ? [values.only] : Object.keys(VERSIONS) };
}

/** Trusts a private authority besides the usual ones. Node reads its variable at the start only; terraform and the Rust tests read the other one. */
async function trustAuthority(file) {
  if (!file || process.env.NODE_EXTRA_CA_CERTS === file) return;
  await continueUnder(process.execPath, { NODE_EXTRA_CA_CERTS: file });
}

/** Returns whether the registry can be read without a token, and where its archives are. It leaves an entry in the audit log. */
async function inspect(url, token, prefix) {
  const ask = async (method, path, { body, authorization } = {}) => {
    const { status, text } = await answered(new URL(path, url), { method, body, headers: authorization && { authorization } });
    try {
      return { status, answer: JSON.parse(text) };
    } catch {
      throw new Error(`${url} answers ${method} ${path} without JSON: it is no Terrace registry, or a page is in front of it`);
    }
  };
  const authorization = `Bearer ${token}`;
  const { status } = await answered(new URL(`/v1/modules/${prefix}/nothing/none/versions`, url));
  // A description without its archive is answered with the URL for the upload, and publishes nothing.
  const archive = { format: "zip", sha256: "0".repeat(63) + "1", size: 1 };
  const described = await ask("PUT", `/admin/v1/modules/${prefix}/nothing/none/1.0.0`, { body: JSON.stringify({ archive }), authorization });
  if (described.status !== 202) {
    const reasons = described.answer?.errors?.join?.("; ");
    throw new Error(`${url} answers ${described.status} to a publish: ${printable(reasons ?? "it states no reason, and may be no Terrace registry")}`);
  }
  const [{ upload }] = described.answer.missing;
  const { status: examined, answer: facts } = await ask("GET", "/admin/v1/doctor", { authorization });
  if (examined !== 200) throw new Error(`${url} answers ${examined} to GET /admin/v1/doctor: the run needs the admin token`);
  return {
    isPublic: status === 404,
    mode: facts.archives === "bucket" ? "presigned" : "worker",
    uploads: new URL(upload.url, url).origin === url ? "worker" : "presigned",
  };
}

/** Returns the status and the text of an answer. The server may be any, so it has limited time. */
async function answered(url, options) {
  try {
    const response = await fetch(url, { ...options, signal: AbortSignal.timeout(INSPECTED_MS) });
    return { status: response.status, text: await response.text() };
  } catch (error) {
    throw new Error(`${url.origin} does not answer: ${printable(error.cause?.message ?? error.message)}`);
  }
}

/** Returns a text without the characters that a terminal obeys. */
function printable(text) {
  return String(text).replace(/\p{C}/gu, "\u{fffd}");
}

/** States what a run does to the registry. */
function statement(url, prefix, parts) {
  const versions = parts.reduce((sum, part) => sum + VERSIONS[part], 0);
  return `This tests ${url}: ${parts.join(", ")}.
It publishes up to ${versions} versions into namespaces that begin with ${prefix}. Only an erasure removes a version, so
they stay, with their indices and entries of the audit log. Use a registry for staging: docs/deploying.md states the costs.
`;
}

async function agreed() {
  if (!process.stdin.isTTY) return false;
  const terminal = createInterface({ input: process.stdin, output: process.stdout });
  const answer = await terminal.question("Continue? Type yes: ");
  terminal.close();
  return answer.trim() === "yes";
}
