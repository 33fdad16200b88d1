// Certificates for https://127.0.0.1 and https://localhost, from a CA that openssl creates once. Only clients configured to do so
// trust it.
import { createPrivateKey, randomBytes, X509Certificate } from "node:crypto";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import tls from "node:tls";

import { run } from "./run.mjs";

const DAY_MS = 86_400_000;
const CA_DAYS = 3650;
/** macOS refuses server certificates that live longer than 825 days. */
const LEAF_DAYS = 365;
const RENEW_DAYS = 30;

/** The names and addresses of servers on this machine. */
const HERE = ["DNS:localhost", "IP:127.0.0.1", "IP:::1"];

const NEW_KEY = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"];

/**
 * Returns the paths of the server's key and certificate, and of a bundle for `SSL_CERT_FILE`, which replaces
 * a client's list of CAs and therefore includes the public ones. Creates missing files, and replaces those
 * about to expire.
 *
 * - `names`: host names that the certificate is valid for, besides those of this machine.
 */
export async function ensureCertificates(directory, { names = [] } = {}) {
  const file = (name) => join(directory, name);
  const files = { caKey: file("ca-key.pem"), ca: file("ca.pem"), key: file("key.pem"), cert: file("cert.pem"), caBundle: file("ca-bundle.pem") };
  await mkdir(directory, { recursive: true, mode: 0o700 });
  const settings = ["[req]\ndistinguished_name=name\nx509_extensions=ca\n[name]\n[ca]\n", "basicConstraints=critical,CA:TRUE,pathlen:0\nkeyUsage=critical,keyCertSign,cRLSign\nsubjectKeyIdentifier=hash\n"];
  await writeFile(file("ca.cnf"), settings.join(""));
  const hasCa = await isGood(files.ca, files.caKey);
  if (!hasCa) {
    await run("openssl", ["req", "-x509", "-config", file("ca.cnf"), ...NEW_KEY, "-subj", "/CN=Terrace local CA", "-days", `${CA_DAYS}`, "-keyout", files.caKey, "-out", files.ca]);
  }
  if (!hasCa || !(await isGood(files.cert, files.key, names))) {
    const alternatives = [...HERE, ...names.map((name) => `DNS:${name}`)].join();
    // Strict verifiers, such as Python's, need the two identifiers to find the issuer.
    const extensions = ["basicConstraints=critical,CA:FALSE", "keyUsage=critical,digitalSignature", "extendedKeyUsage=serverAuth", `subjectAltName=${alternatives}`, "subjectKeyIdentifier=hash", "authorityKeyIdentifier=keyid"];
    await writeFile(file("cert.cnf"), `${extensions.join("\n")}\n`);
    await run("openssl", ["req", "-new", "-config", file("ca.cnf"), ...NEW_KEY, "-subj", "/CN=localhost", "-keyout", files.key, "-out", file("cert.csr")]);
    const by = ["-CA", files.ca, "-CAkey", files.caKey, "-set_serial", `0x1${randomBytes(16).toString("hex").slice(1)}`];
    await run("openssl", ["x509", "-req", "-in", file("cert.csr"), ...by, "-days", `${LEAF_DAYS}`, "-extfile", file("cert.cnf"), "-out", files.cert]);
  }
  // The CAs that are part of Node, and the system's own if this Node can list them.
  const all = new Set([await readFile(files.ca, "utf8"), ...tls.rootCertificates, ...(tls.getCACertificates?.("system") ?? [])]);
  await writeFile(files.caBundle, [...all].map((pem) => `${pem.trim()}\n`).join(""));
  return files;
}

/** Returns whether a certificate exists, belongs to its key, is valid for the names and does not expire soon. */
async function isGood(certificateFile, keyFile, names = []) {
  try {
    const certificate = new X509Certificate(await readFile(certificateFile));
    const lasts = Date.parse(certificate.validTo) - Date.now();
    const belongs = certificate.checkPrivateKey(createPrivateKey(await readFile(keyFile)));
    return belongs && lasts > RENEW_DAYS * DAY_MS && names.every((name) => certificate.checkHost(name));
  } catch {
    return false;
  }
}
