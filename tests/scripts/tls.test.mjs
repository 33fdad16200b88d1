// The certificates of the local CA, as files.
import assert from "node:assert/strict";
import { X509Certificate } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";

import { temporaryDirectory } from "../../scripts/lib/cleanup.mjs";
import { ensureCertificates } from "../../scripts/lib/tls.mjs";
import { cleanupOf, test } from "../clients/support/testing.mjs";

const PEM = /-----BEGIN CERTIFICATE-----\n[^-]+\n-----END CERTIFICATE-----\n/g;

/** Returns the certificates in files that are concatenated as by `cat`. */
async function concatenated(...files) {
  const texts = await Promise.all(files.map((file) => readFile(file, "utf8")));
  return (texts.join("").match(PEM) ?? []).map((pem) => new X509Certificate(pem));
}

test("certificates end with a newline, so that files can be concatenated", async (t) => {
  const { ca, cert, caBundle } = await ensureCertificates(temporaryDirectory(cleanupOf(t)));
  const [authority, server, again] = await concatenated(ca, cert, ca);
  assert.ok(server.checkIssued(authority));
  assert.equal(again.fingerprint256, authority.fingerprint256);
  assert.match(await readFile(caBundle, "utf8"), /-----END CERTIFICATE-----\n$/);
});

test("certificates of an earlier version are kept and get their missing newline", async (t) => {
  const directory = temporaryDirectory(cleanupOf(t));
  const { ca, cert } = await ensureCertificates(directory);
  const [text, certificate] = await Promise.all([ca, cert].map((file) => readFile(file, "utf8")));
  assert.ok(text.endsWith("\n") && certificate.endsWith("\n"));
  await writeFile(ca, text.trimEnd());
  await writeFile(cert, certificate.trimEnd());
  await ensureCertificates(directory);
  assert.equal(await readFile(ca, "utf8"), text);
  assert.equal(await readFile(cert, "utf8"), certificate);
});
