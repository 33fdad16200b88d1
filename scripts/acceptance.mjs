// `npm run acceptance -- URL`: tests a deployed registry over the network, because simulators of the platform cannot show
// everything. It publishes into namespaces of its own, and the published versions stay. docs/acceptance.md describes it.
import { readFile } from "node:fs/promises";
import { createInterface } from "node:readline/promises";
import tls from "node:tls";
import { parseArgs } from "node:util";

import { endWithParent } from "./lib/lifetime.mjs";
import { adminOf } from "./lib/publisher.mjs";
import { main, say } from "./lib/step.mjs";
import { readCargoTest, Tally } from "./lib/tally.mjs";
import { runTestFiles, testFiles } from "./lib/test-files.mjs";

const USAGE = "usage: TERRACE_TOKEN=… npm run acceptance -- URL [--yes] [--only http|clients]";

const PARTS = ["http", "clients"];

/** The tests over HTTP that send other hostnames. */
const OF_OTHER_HOSTS = "http::pages::hosts";

endWithParent();
await main(async () => {
  const { url, token, parts, yes } = parse(process.argv.slice(2));
  const { SSL_CERT_FILE: ca } = process.env;
  if (ca) tls.setDefaultCACertificates([await readFile(ca, "utf8")]);
  const admin = adminOf(url, token);
  const prefix = `acceptance${Math.floor(Date.now() / 1000).toString(36)}`;
  say(statement(url, prefix, parts));
  if (!yes && !(await agreed())) throw new Error("nothing was sent: repeat the command with --yes, or answer with yes");

  const found = await inspect(url, admin, prefix);
  const tally = new Tally();
  // Node reads this variable, terraform and the Rust tests the other one.
  const trusted = ca ? { NODE_EXTRA_CA_CERTS: ca } : {};
  const env = { ...process.env, ...trusted, TERRACE_TEST_URL: url, TERRACE_TEST_TOKEN: token, TERRACE_TEST_PREFIX: prefix };
  if (parts.includes("clients")) {
    let output = "";
    await tally.count("tests with real clients", async () => {
      const counts = await runTestFiles(await testFiles("acceptance"), { env });
      output = counts.output;
      return counts;
    });
    for (const [, measured] of output.matchAll(/^\s*# (.*\d ms\b.*)$/gm)) say(`  measured: ${measured}`);
  }
  if (parts.includes("http") && found.isPublic) {
    const args = ["test", "--package", "terrace", "--test", "it", "--", "http::", "--skip", OF_OTHER_HOSTS];
    tally.skip(OF_OTHER_HOSTS, "requests for other hostnames do not reach the registry");
    await tally.suite("HTTP tests", "cargo", args, readCargoTest, { env: { ...env, TERRACE_TEST_MODE: found.mode, TERRACE_TEST_UPLOADS: found.uploads } });
  } else if (parts.includes("http")) {
    tally.skip("HTTP tests", "the registry is private, and these tests read without a token");
  }
  say(`\n${tally}`);
  say(`Everything that was published is in namespaces that begin with ${prefix}. \`terrace admin erase\` removes it, version by version.`);
  if (tally.failed > 0) {
    say("Failures with the status 429 come from the limits of the registry: docs/acceptance.md names the settings for a run.");
    process.exitCode = 1;
  }
});

function parse(args) {
  const options = { yes: { type: "boolean", default: false }, only: { type: "string" } };
  const { values, positionals } = parseArgs({ args, allowPositionals: true, options });
  const [text] = positionals;
  if (positionals.length !== 1 || !URL.canParse(text)) throw new Error(USAGE);
  const { protocol, origin, pathname } = new URL(text);
  if (!["http:", "https:"].includes(protocol) || pathname !== "/") throw new Error(`${text} is not the URL of a registry, such as https://registry.example.com`);
  if (values.only && !PARTS.includes(values.only)) throw new Error(`--only ${values.only}: the parts are ${PARTS.join(" and ")}`);
  const token = process.env.TERRACE_TOKEN;
  if (!token) throw new Error("TERRACE_TOKEN is not set: the run publishes, and needs the admin token");
  return { url: origin, token, yes: values.yes, parts: values.only ? [values.only] : PARTS };
}

/** Returns whether the registry can be read without a token, and where its archives are. It leaves an entry in the audit log. */
async function inspect(url, admin, prefix) {
  const { status } = await fetch(new URL(`/v1/modules/${prefix}/nothing/none/versions`, url)).catch((error) => {
    throw new Error(`${url} does not answer: ${error.cause?.message ?? error.message}`);
  });
  // A description without its archive is answered with the URL for the upload, and publishes nothing.
  const archive = { format: "zip", sha256: "0".repeat(63) + "1", size: 1 };
  const described = await admin("PUT", `/admin/v1/modules/${prefix}/nothing/none/1.0.0`, JSON.stringify({ archive }));
  if (described.status !== 202) throw new Error(`${url} answers ${described.status} to a publish: ${described.answer.errors?.join("; ")}`);
  const [{ upload }] = described.answer.missing;
  const { answer: facts } = await admin("GET", "/admin/v1/doctor");
  return {
    isPublic: status === 404,
    mode: facts.archives === "bucket" ? "presigned" : "worker",
    uploads: new URL(upload.url, url).origin === url ? "worker" : "presigned",
  };
}

/** States what a run does to the registry. The figures are those of docs/acceptance.md. */
function statement(url, prefix, parts) {
  return [
    `This tests ${url}: ${parts.join(", ")}.`,
    `It publishes up to 185 versions (60 MB) into namespaces that begin with ${prefix}. Only an erasure removes a version, so they`,
    "stay, with their indices and entries of the audit log. Use a registry for staging.",
    "A whole run takes 3,700 requests, 13,500 operations of R2 and 4,200 of KV: less than 10 cents, and more than the free plan's",
    "1,000 writes to KV a day.",
    "",
  ].join("\n");
}

async function agreed() {
  if (!process.stdin.isTTY) return false;
  const terminal = createInterface({ input: process.stdin, output: process.stdout });
  const answer = await terminal.question("Continue? Type yes: ");
  terminal.close();
  return answer.trim() === "yes";
}
