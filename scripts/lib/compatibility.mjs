// What clients are tested with for docs/compatibility.md, and the table of the outcomes.
import { atLeast } from "./rust.mjs";

const [TERRAFORM, OPENTOFU] = ["Terraform", "OpenTofu"];

/** The checks, by their keys: the first client of each kind that has the feature, `null` if none has. */
export const CHECKS = {
  init: check("`init`", "init installs a provider and modules by hostname"),
  lock: check("lock files", "providers lock records the hashes of platforms", "0.14"),
  mirror: check("mirrors", "a provider is installed from the network mirror and copied by providers mirror"),
  ed25519: check("Ed25519 key", "a provider that is signed by an Ed25519 key is verified"),
  private: check("private", "private packages are installed with a token of the configuration, and only with it"),
  variable: check("`TF_TOKEN_…`", "private packages are installed with a token of the environment"),
  login: check("`login`", "login stores a token after a sign-in in a browser"),
  oci: check("OCI", "a provider is installed by oci_mirror, and a module by oci://", null, "1.10"),
};

function check(column, title, terraform = "0.13", tofu = "1.6") {
  return { column, title, since: { [TERRAFORM]: terraform, [OPENTOFU]: tofu } };
}

/** Returns whether a check is made with a client. */
export function applies(key, { name, version }) {
  const first = CHECKS[key].since[name];
  return first !== null && atLeast(version, first);
}

/** Parses the output of `terraform version` or `tofu version`. `null` if it is from another program. */
export function parseClient(text) {
  const found = text.match(/^(Terraform|OpenTofu) v(\S+)/m);
  return found && { name: found[1], version: found[2] };
}

/**
 * Returns the results by client: `{ name, version, date, checks }`, in which a check is "yes", "no" (the client lacks the
 * feature), "fails" or "not run".
 */
export function resultsOf(clients, outcomes, date) {
  return clients.map(({ name, version }) => {
    const outcomeOf = (key) => outcomes.find((one) => one.name === name && one.version === version && one.key === key)?.outcome ?? "not run";
    const keys = Object.keys(CHECKS).filter((key) => applies(key, { name, version }));
    return { name, version, date, checks: Object.fromEntries(keys.map((key) => [key, outcomeOf(key)])) };
  });
}

/** Returns `before` with these results, which replace older ones of the same clients, ordered by client and version. */
export function merged(before, results) {
  const all = new Map([...before, ...results].map((result) => [`${result.name} ${result.version}`, result]));
  const order = [TERRAFORM, OPENTOFU];
  return [...all.values()].sort((a, b) => order.indexOf(a.name) - order.indexOf(b.name) || (a.version === b.version ? 0 : atLeast(a.version, b.version) ? 1 : -1));
}

/** Returns the table of results, in Markdown. A dash stands for a feature that no such version of the client has. */
export function table(results) {
  const keys = Object.keys(CHECKS);
  const row = (cells) => `| ${cells.join(" | ")} |\n`;
  const rows = results.map(({ name, version, date, checks }) => row([`${name} ${version}`, ...keys.map((key) => checks[key] ?? "–"), date]));
  return [row(["client", ...keys.map((key) => CHECKS[key].column), "run"]), row(["---", ...keys.map(() => "---"), "---"]), ...rows].join("");
}

const PLACE = /(<!-- The table is written by [^\n]*-->\n)[^]*?(<!-- end of the table -->\n)/;

/** Returns the document with this table. */
export function withTable(text, results) {
  if (!PLACE.test(text)) throw new Error("docs/compatibility.md has no place for the table: restore its two comments");
  return text.replace(PLACE, (_, begin, end) => `${begin}\n${table(results)}\n${end}`);
}
