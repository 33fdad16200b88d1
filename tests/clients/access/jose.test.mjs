// Tokens of other parties: compares the core's verdicts with those of `jose`. Most cases are genuine tokens
// with one change. TERRACE_ORACLE_CASES sets the number of cases, TERRACE_SEED the seed.
import assert from "node:assert/strict";
import { createPrivateKey, createPublicKey, generateKeyPairSync, sign } from "node:crypto";

import { createLocalJWKSet, jwtVerify } from "jose";

import { seededRandom } from "../support/random.mjs";
import { before, test } from "../support/testing.mjs";
import { buildVerdicts, CASES, keep, SEED, sized, verdicts } from "../support/verdicts.mjs";

/** The parameters that the example program `verdicts` expects. */
const ISSUER = "https://issuer.example.com";
const AUDIENCE = "terrace";

const NOW = 1_800_000_000;
const LEEWAY_SECONDS = 60;
const ALGORITHMS = ["EdDSA", "ES256", "ES384", "RS256", "RS384", "RS512"];
/** The proportion of cases that must be accepted. */
const SHARE = 0.2;
const LEAST_ACCEPTED = 0.1;

/** Parts of the errors by which the core is stricter than `jose`, with the reasons. */
const STRICTER = {
  "its claim ": "a time that is not a whole number, a missing iat, or no subject",
  "its header has \"crit\"": "no extension is supported; jose supports b64",
  "it was issued at": "jose checks iat only if a maximum age is requested",
  "with distinct members in base64url": "duplicate members, or base64url that is not canonical",
  "its signature is not in base64url": "base64url that is not canonical",
  "its key ID is not a string": "jose ignores it",
  "its type is": "jose checks typ only if one is requested",
};

const random = seededRandom(SEED);
const below = (n) => Math.floor(random() * n);
const pick = (list) => list[below(list.length)];
const rarely = (n) => below(n) === 0;

/**
 * Creates a key pair, with its public key as JSON. The key is read back from PEM: exporting a generated key
 * as JSON hangs if Node collects the job that generated it at that moment, because both lock the same mutex.
 */
function keyPair(id, algorithm, type, options = {}) {
  const encodings = { publicKeyEncoding: { type: "spki", format: "pem" }, privateKeyEncoding: { type: "pkcs8", format: "pem" } };
  const { publicKey, privateKey } = generateKeyPairSync(type, { ...options, ...encodings });
  const jwk = createPublicKey(publicKey).export({ format: "jwk" });
  return { id, algorithm, jwk, privateKey: createPrivateKey(privateKey) };
}

const KEYS = [
  keyPair("ed", "EdDSA", "ed25519"),
  keyPair("p256", "ES256", "ec", { namedCurve: "P-256" }),
  keyPair("p384", "ES384", "ec", { namedCurve: "P-384" }),
  keyPair("rsa", "RS256", "rsa", { modulusLength: 2048 }),
];
const OTHER = keyPair("p256", "ES256", "ec", { namedCurve: "P-256" });
const HASHES = { ES256: "sha256", ES384: "sha384", RS256: "sha256", RS384: "sha384", RS512: "sha512" };

/** Returns the keys that the issuer publishes; sometimes a member of one of them is missing or wrong. */
function publishedKeys() {
  const keys = KEYS.map(({ id, jwk }) => ({ ...jwk, kid: id }));
  const odd = pick(keys);
  if (rarely(6)) odd.alg = pick(ALGORITHMS);
  if (rarely(12)) odd.use = pick(["sig", "enc"]);
  if (rarely(12)) odd.key_ops = pick([["verify"], ["sign"], [], ["encrypt"]]);
  if (rarely(12)) delete odd.kid;
  if (rarely(12)) odd.kid = pick(KEYS).id;
  if (rarely(20)) odd[pick(["x", "y", "n", "e", "crv", "kty"])] = pick(["", "AA", "P-256", "EC", odd.x ?? "", 1]);
  return keys;
}

function header(signer) {
  const found = { alg: signer.algorithm === "RS256" ? pick(["RS256", "RS384", "RS512"]) : signer.algorithm, kid: signer.id };
  if (rarely(3)) found.typ = pick(["JWT", "jwt", "at+jwt", "JWT", "JOSE", "", 1, null]);
  if (rarely(15)) found.alg = pick([...ALGORITHMS, "none", "HS256", "PS256", "ES512", "", 1]);
  if (rarely(10)) found.kid = pick([undefined, pick(KEYS).id, "nobody", "", 1]);
  if (rarely(25)) found.crit = pick([["b64"], [], ["exp"]]);
  if (rarely(25)) found.b64 = pick([true, false]);
  if (rarely(25)) found.jwk = OTHER.jwk;
  return found;
}

function claims() {
  const at = () => NOW + pick([-3600, -61, -60, -59, -1, 0, 1, 59, 60, 61, 3600]);
  const found = { iss: ISSUER, aud: AUDIENCE, sub: "somebody", iat: NOW - 10, exp: NOW + 600 };
  if (rarely(4)) found.exp = at();
  if (rarely(6)) found.nbf = at();
  if (rarely(6)) found.iat = at();
  if (rarely(6)) found.aud = pick([[AUDIENCE], ["other", AUDIENCE], "other", [], [1, AUDIENCE], "", null, `${AUDIENCE} `, { [AUDIENCE]: 1 }]);
  if (rarely(15)) found.iss = pick([`${ISSUER}/`, "", null, [ISSUER], ISSUER.toUpperCase()]);
  if (rarely(15)) found.sub = pick(["", " ", 1, null, undefined]);
  if (rarely(15)) found[pick(["exp", "nbf", "iat"])] = pick([NOW + 0.5, `${NOW}`, null, -1, 1e300, undefined, true, []]);
  return found;
}

/** Returns JSON; sometimes with a duplicate member, or with spaces around it. */
function json(value) {
  const text = JSON.stringify(value);
  if (rarely(25)) return text.replace(/}$/, `,"${pick(Object.keys(value))}":${JSON.stringify(pick(Object.values(value)) ?? null)}}`);
  return rarely(25) ? ` ${text}\n` : text;
}

function signature(algorithm, { privateKey }, input) {
  const hash = HASHES[algorithm] ?? (privateKey.asymmetricKeyType === "ed25519" ? null : "sha256");
  try {
    return sign(hash, Buffer.from(input), { key: privateKey, dsaEncoding: "ieee-p1363" });
  } catch {
    return sign(null, Buffer.from(input), KEYS[0].privateKey);
  }
}

const encode = (bytes) => Buffer.from(bytes).toString("base64url");

function token() {
  const signer = rarely(20) ? OTHER : pick(KEYS);
  const head = header(signer);
  const input = `${encode(json(head))}.${encode(json(claims()))}`;
  const made = signature(head.alg, signer, input);
  if (rarely(25)) made[below(made.length)] ^= 1 << below(8);
  const text = `${input}.${encode(rarely(40) ? Buffer.concat([made, Buffer.alloc(1)]) : made)}`;
  return rarely(10) ? changed(text) : text;
}

function changed(text) {
  const at = below(text.length);
  const char = pick(["A", "B", "_", "-", "=", ".", "+", "/", " ", "\n", ""]);
  return pick([text.slice(0, at) + char + text.slice(at + 1), `${text}=`, `${text}.`, ` ${text}`, text.slice(0, -1), text + char]);
}

/** Returns the claims that `jose` reads from a token, or null. */
async function judged(keys, text) {
  const options = { issuer: ISSUER, audience: AUDIENCE, clockTolerance: LEEWAY_SECONDS, algorithms: ALGORITHMS, currentDate: new Date(NOW * 1000) };
  try {
    return (await jwtVerify(text, createLocalJWKSet({ keys }), options)).payload;
  } catch {
    return null;
  }
}

before(buildVerdicts);

test("tokens are accepted only if jose accepts them, with the same claims", async (t) => {
  const cases = Array.from({ length: Math.ceil(CASES * SHARE) }, () => ({ keys: publishedKeys(), text: token() }));
  const now = Buffer.alloc(8);
  now.writeBigUInt64LE(BigInt(NOW));
  const data = cases.map(({ keys, text }) =>
    Buffer.concat([sized(now), sized(Buffer.from(JSON.stringify({ keys }))), sized(Buffer.from(text))]));
  const said = await verdicts("j", data);
  assert.equal(said.length, cases.length);
  const counts = { accepted: 0, refused: 0 };
  const differences = [];
  for (const [place, { keys, text }] of cases.entries()) {
    const { accepted, claims, messages } = said[place];
    const read = await judged(keys, text);
    const rule = Object.keys(STRICTER).find((part) => messages?.some((message) => message.includes(part)));
    const same = JSON.stringify(Object.entries(claims ?? {}).sort()) === JSON.stringify(Object.entries(read ?? {}).sort());
    if (accepted && read !== null && same) counts.accepted += 1;
    else if (!accepted && read === null) counts.refused += 1;
    else if (!accepted && rule) counts[rule] = (counts[rule] ?? 0) + 1;
    else {
      const again = await keep("j", `jose-${differences.length}.case`, data[place]);
      const what = accepted ? `jose ${read === null ? "refuses it" : "reads other claims"}` : `jose accepts it, the core reports ${messages}`;
      differences.push(`${what}: ${again}`);
    }
  }
  t.diagnostic(`tokens: ${JSON.stringify(counts)}`);
  assert.deepEqual(differences, [], differences.slice(0, 20).join("\n"));
  assert.ok(counts.accepted > cases.length * LEAST_ACCEPTED, `only ${counts.accepted} were accepted`);
});
