// An OpenPGP key for a machine without any npm package: RSA, version 4 (RFC 4880), with Node's own cryptography.
//
// It makes one kind of key and one kind of signature, and reads neither.
import { createHash, createPrivateKey, createPublicKey, generateKeyPair, sign } from "node:crypto";
import { mkdir, readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";

const USER_ID = Buffer.from("Terrace example provider (made on this machine, for this machine)");

/** The numbers of RFC 4880, sections 5.2.1, 5.2.3.1, 9.1 and 9.4. */
const VERSION = 4;
const RSA = 1;
const SHA256 = 8;
const BINARY_DOCUMENT = 0x00;
const POSITIVE_CERTIFICATION = 0x13;
const CREATED = 2;
const ISSUER = 16;
const KEY_FLAGS = 27;
const ISSUER_FINGERPRINT = 33;
const CERTIFY_AND_SIGN = 0x03;

/** The first byte of each packet, whose length follows in two bytes (section 4.2.1). */
const SIGNATURE = 0x89;
const PUBLIC_KEY = 0x99;
const USER = 0xb5;

/** Returns the key in `directory`, which is created on first use: `publicKey`, its file, and `signDetached`, which makes a binary signature, the only kind that Terraform reads. */
export async function rsaKey(directory, log) {
  const file = join(directory, "private.json");
  const publicKeyFile = join(directory, "public.asc");
  await mkdir(directory, { recursive: true, mode: 0o700 });
  const key = new Key(JSON.parse((await readFile(file, "utf8").catch(() => null)) ?? (await makeKey(file, log))));
  const publicKey = key.armoured();
  await writeFile(publicKeyFile, publicKey);
  return { publicKey, publicKeyFile, signDetached: async (text) => key.signature(BINARY_DOCUMENT, Buffer.from(text)) };
}

async function makeKey(file, log) {
  const { privateKey } = await promisify(generateKeyPair)("rsa", { modulusLength: 3072 });
  const text = JSON.stringify({ created: Math.floor(Date.now() / 1000), pem: privateKey.export({ type: "pkcs8", format: "pem" }) });
  await writeFile(`${file}.new`, text, { mode: 0o600 });
  await rename(`${file}.new`, file);
  log(`created a signing key for the examples: ${file}`);
  return text;
}

class Key {
  #private;
  #created;
  #body;

  constructor({ created, pem }) {
    this.#private = createPrivateKey(pem);
    this.#created = uint32(created);
    const { n, e } = createPublicKey(this.#private).export({ format: "jwk" });
    this.#body = Buffer.concat([Buffer.of(VERSION), this.#created, Buffer.of(RSA), integer(n), integer(e)]);
  }

  /** The public key with its user ID, which the key certifies. */
  armoured() {
    const certified = Buffer.concat([packet(PUBLIC_KEY, this.#body), Buffer.of(0xb4), uint32(USER_ID.length), USER_ID]);
    const certification = this.signature(POSITIVE_CERTIFICATION, certified, [KEY_FLAGS, Buffer.of(CERTIFY_AND_SIGN)]);
    const bytes = Buffer.concat([packet(PUBLIC_KEY, this.#body), packet(USER, USER_ID), certification]);
    const lines = bytes.toString("base64").match(/.{1,64}/g).join("\n");
    return `-----BEGIN PGP PUBLIC KEY BLOCK-----\n\n${lines}\n=${crc24(bytes).toString("base64")}\n-----END PGP PUBLIC KEY BLOCK-----\n`;
  }

  /** A signature packet, with the time of the key: the same data get the same signature. */
  signature(type, data, ...more) {
    const fingerprint = createHash("sha1").update(packet(PUBLIC_KEY, this.#body)).digest();
    const hashed = subpackets([CREATED, this.#created], [ISSUER_FINGERPRINT, Buffer.concat([Buffer.of(VERSION), fingerprint])], ...more);
    const start = Buffer.concat([Buffer.of(VERSION, type, RSA, SHA256), hashed]);
    const signed = Buffer.concat([data, start, Buffer.of(VERSION, 0xff), uint32(start.length)]);
    const digest = createHash("sha256").update(signed).digest();
    const proof = sign("sha256", signed, this.#private).toString("base64url");
    const unhashed = subpackets([ISSUER, fingerprint.subarray(-8)]);
    return packet(SIGNATURE, Buffer.concat([start, unhashed, digest.subarray(0, 2), integer(proof)]));
  }
}

const packet = (tag, body) => Buffer.concat([Buffer.of(tag), uint16(body.length), body]);

function subpackets(...all) {
  const bytes = Buffer.concat(all.flatMap(([type, body]) => [Buffer.of(body.length + 1, type), body]));
  return Buffer.concat([uint16(bytes.length), bytes]);
}

/** A number from base64url, with its length in bits before it, and without leading zeros (section 3.2). */
function integer(base64url) {
  const bytes = Buffer.from(base64url, "base64url");
  const start = bytes.findIndex((byte) => byte !== 0);
  const digits = bytes.subarray(start);
  return Buffer.concat([uint16(digits.length * 8 - Math.clz32(digits[0]) + 24), digits]);
}

function uint16(number) {
  const bytes = Buffer.alloc(2);
  bytes.writeUInt16BE(number);
  return bytes;
}

function uint32(number) {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(number);
  return bytes;
}

/** The checksum of an armoured text (section 6.1). */
function crc24(bytes) {
  let crc = 0xb704ce;
  for (const byte of bytes) {
    crc ^= byte << 16;
    for (let bit = 0; bit < 8; bit += 1) crc = (crc << 1) ^ (crc & 0x800000 ? 0x1864cfb : 0);
    crc &= 0xffffff;
  }
  return uint32(crc).subarray(1);
}
