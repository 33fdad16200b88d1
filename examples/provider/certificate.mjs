// A self-signed X.509 certificate. Node reads certificates but cannot write one, and the little DER needed
// here is shorter than any library for it.

import { generateKeyPairSync, randomBytes, sign } from "node:crypto";

const ECDSA_WITH_SHA256 = [0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x02];
const COMMON_NAME = [0x55, 0x04, 0x03];
const SUBJECT_ALT_NAME = [0x55, 0x1d, 0x11];

const DAY = 24 * 60 * 60 * 1000;

/** Creates a P-256 key and a certificate for it with one DNS name, valid for a year, which is longer than any run. */
export function selfSignedCertificate(dnsName) {
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });

  const algorithm = sequence(oid(ECDSA_WITH_SHA256));
  const name = sequence(set(sequence(oid(COMMON_NAME), utf8String(dnsName))));
  const validity = sequence(utcTime(Date.now() - DAY), utcTime(Date.now() + 365 * DAY));
  const alternativeNames = sequence(der(0x82, Buffer.from(dnsName)));

  const toBeSigned = sequence(
    der(0xa0, integer([2])), // version 3
    integer([1, ...randomBytes(8)]),
    algorithm,
    name, // issuer
    validity,
    name, // subject
    publicKey.export({ type: "spki", format: "der" }),
    der(0xa3, sequence(sequence(oid(SUBJECT_ALT_NAME), octetString(alternativeNames)))),
  );
  const certificate = sequence(toBeSigned, algorithm, bitString(sign("sha256", toBeSigned, privateKey)));

  return {
    certificate,
    certificatePem: pem("CERTIFICATE", certificate),
    privateKeyPem: privateKey.export({ type: "pkcs8", format: "pem" }),
  };
}

const integer = (bytes) => der(0x02, Buffer.from(bytes));
const bitString = (bytes) => der(0x03, Buffer.from([0]), bytes);
const octetString = (bytes) => der(0x04, bytes);
const oid = (bytes) => der(0x06, Buffer.from(bytes));
const utf8String = (text) => der(0x0c, Buffer.from(text));
const utcTime = (time) => der(0x17, Buffer.from(new Date(time).toISOString().replace(/^..|[-:T]|\.\d+/g, "")));
const sequence = (...parts) => der(0x30, ...parts);
const set = (...parts) => der(0x31, ...parts);

/** Encodes tag, length and contents. */
function der(tag, ...parts) {
  const contents = Buffer.concat(parts);
  return Buffer.concat([Buffer.from([tag, ...derLength(contents.length)]), contents]);
}

/** Encodes a length in the minimum number of bytes, as DER requires. */
function derLength(length) {
  if (length < 0x80) return [length];
  if (length < 0x100) return [0x81, length];
  return [0x82, length >> 8, length & 0xff];
}

function pem(label, bytes) {
  const lines = bytes.toString("base64").match(/.{1,64}/g);
  return [`-----BEGIN ${label}-----`, ...lines, `-----END ${label}-----`, ""].join("\n");
}
