// What clients are tested with for docs/compatibility.md, and the table of the outcomes.
import { atLeast } from "./rust.mjs";

export const TERRAFORM = "Terraform";
export const OPENTOFU = "OpenTofu";

/** The checks, by their keys: the first client of each kind that has the feature, `null` if none has. */
export const CHECKS = {
  init: { column: "`init`", title: "init installs a provider and modules by hostname", since: { [TERRAFORM]: "0.13", [OPENTOFU]: "1.6" } },
  lock: { column: "lock files", title: "providers lock records the hashes of platforms", since: { [TERRAFORM]: "0.14", [OPENTOFU]: "1.6" } },
  mirror: { column: "mirrors", title: "a provider is installed from the network mirror and copied by providers mirror", since: { [TERRAFORM]: "0.13", [OPENTOFU]: "1.6" } },
  ed25519: { column: "Ed25519 key", title: "a provider that is signed by an Ed25519 key is verified", since: { [TERRAFORM]: "0.13", [OPENTOFU]: "1.6" } },
  private: { column: "private", title: "private packages are installed with a token of the configuration, and only with it", since: { [TERRAFORM]: "0.13", [OPENTOFU]: "1.6" } },
  variable: { column: "`TF_TOKEN_…`", title: "private packages are installed with a token of the environment", since: { [TERRAFORM]: "0.13", [OPENTOFU]: "1.6" } },
  login: { column: "`login`", title: "login stores a token after a sign-in in a browser", since: { [TERRAFORM]: "0.13", [OPENTOFU]: "1.6" } },
  oci: { column: "OCI", title: "a provider is installed by oci_mirror, and a module by oci://", since: { [TERRAFORM]: null, [OPENTOFU]: "1.10" } },
};

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

/** The number of modes that each check runs in. */
const MODES = 2;

/**
 * Returns the results by client: `{ name, version, date, checks }`, in which a check is "yes", "no" (the client lacks the
 * feature), "fails" or "not run".
 */
export function resultsOf(clients, outcomes, date) {
  return clients.map(({ name, version }) => {
    const own = outcomes.filter((outcome) => outcome.name === name && outcome.version === version);
    const keys = Object.keys(CHECKS).filter((key) => applies(key, { name, version }));
    return { name, version, date, checks: Object.fromEntries(keys.map((key) => [key, summary(own.filter((outcome) => outcome.key === key))])) };
  });
}

/** A check counts if all its runs have the same outcome. */
function summary(runs) {
  const outcomes = new Set(runs.map(({ outcome }) => outcome));
  if (outcomes.has("fails") || outcomes.size > 1) return "fails";
  return runs.length === MODES ? [...outcomes][0] : "not run";
}

/** Returns `before` with these results, which replace older ones of the same clients, ordered by client and version. */
export function merged(before, results) {
  const isReplaced = ({ name, version }) => results.some((result) => result.name === name && result.version === version);
  const all = [...before.filter((result) => !isReplaced(result)), ...results];
  const order = [TERRAFORM, OPENTOFU];
  return all.sort((a, b) => order.indexOf(a.name) - order.indexOf(b.name) || (a.version === b.version ? 0 : atLeast(a.version, b.version) ? 1 : -1));
}

/** Returns the table of results, in Markdown. A dash stands for a feature that no such version of the client has. */
export function table(results) {
  const keys = Object.keys(CHECKS);
  const row = (cells) => `| ${cells.join(" | ")} |\n`;
  const rows = results.map(({ name, version, date, checks }) => row([`${name} ${version}`, ...keys.map((key) => checks[key] ?? "–"), date]));
  return [row(["client", ...keys.map((key) => CHECKS[key].column), "run"]), row(["---", ...keys.map(() => "---"), "---"]), ...rows].join("");
}

const BEGIN = "<!-- The table is written by `npm run compatibility`, from compatibility.json. -->\n";
const END = "<!-- end of the table -->\n";

/** Returns the document with this table. */
export function withTable(text, results) {
  const [start, end] = [text.indexOf(BEGIN), text.indexOf(END)];
  if (start === -1 || end < start) throw new Error("docs/compatibility.md has no place for the table: restore its two comments");
  return `${text.slice(0, start)}${BEGIN}\n${table(results)}\n${text.slice(end)}`;
}
