// Licence expressions in the syntax of SPDX (https://spdx.github.io/spdx-spec/v2.3/SPDX-license-expressions/).

/** Returns the expression in today's syntax: old manifests separate alternatives by `/`. */
export const normalized = (text) => text.split("/").map((part) => part.trim()).join(" OR ");

/** Returns whether a combination of licences in `allowed` satisfies the expression. A licence with an exception grants more than without. */
export function isAllowed(text, allowed) {
  const tokens = normalized(text).match(/[()]|[^\s()]+/g) ?? [];
  const fail = () => new Error(`${JSON.stringify(text)} is not a licence expression`);
  const alternatives = () => {
    let result = combination();
    while (tokens[0] === "OR") {
      tokens.shift();
      // Both sides are parsed, whatever the result of the first.
      const right = combination();
      result ||= right;
    }
    return result;
  };
  const combination = () => {
    let result = licence();
    while (tokens[0] === "AND") {
      tokens.shift();
      const right = licence();
      result &&= right;
    }
    return result;
  };
  const licence = () => {
    const token = tokens.shift();
    if (token === "(") {
      const result = alternatives();
      if (tokens.shift() !== ")") throw fail();
      return result;
    }
    if (!token || [")", "OR", "AND", "WITH"].includes(token)) throw fail();
    if (tokens[0] === "WITH") tokens.splice(0, 2);
    return allowed.includes(token);
  };
  const result = alternatives();
  if (tokens.length > 0) throw fail();
  return result;
}

/** Returns the licences that `deny.toml` allows, and those that it allows for single crates, by their names. */
export function allowedLicences(denyToml) {
  const section = denyToml.match(/^\[licenses\]\n([^]*?)(?=^\[)/m)?.[1];
  const list = section?.match(/^allow = \[([^]*?)\]/m)?.[1];
  if (!list) throw new Error("deny.toml has no list of allowed licences");
  const exceptions = [...section.matchAll(/\{ crate = "([^"]+)", allow = \[([^\]]*)\] \}/g)];
  return { everywhere: strings(list), exceptions: Object.fromEntries(exceptions.map(([, crate, more]) => [crate, strings(more)])) };
}

const strings = (text) => [...text.matchAll(/"([^"]+)"/g)].map(([, value]) => value);
