// Certificates for https://127.0.0.1 and https://localhost, from a CA that is created once. Only clients
// configured to do so trust it.
import { createPrivateKey, randomBytes, webcrypto, X509Certificate } from "node:crypto";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import tls from "node:tls";

const DAY_MS = 86_400_000;
const CA_DAYS = 3650;
/** macOS refuses server certificates that live longer than 825 days. */
const LEAF_DAYS = 365;
const RENEW_DAYS = 30;
const ALGORITHM = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" };

/** The names and addresses of servers on this machine. */
const HERE = [
  { type: "dns", value: "localhost" },
  { type: "ip", value: "127.0.0.1" },
  { type: "ip", value: "::1" },
];

/**
 * Returns the paths of the server's key and certificate, and of a bundle for `SSL_CERT_FILE`, which replaces
 * a client's list of CAs and therefore includes the public ones. Creates missing files, and replaces those
 * about to expire.
 *
 * - `names`: host names that the certificate is valid for, besides those of this machine.
 */
export async function ensureCertificates(directory, { names = [] } = {}) {
  const files = {
    caKey: join(directory, "ca-key.pem"),
    ca: join(directory, "ca.pem"),
    key: join(directory, "key.pem"),
    cert: join(directory, "cert.pem"),
    caBundle: join(directory, "ca-bundle.pem"),
  };
  await mkdir(directory, { recursive: true, mode: 0o700 });
  const hasCa = await isGood(files.ca, files.caKey);
  if (!hasCa) await makeCa(files);
  if (!hasCa || !(await isGood(files.cert, files.key, names))) await makeLeaf(files, names);
  for (const file of [files.ca, files.cert]) await endWithNewline(file);
  await save(
    files.caBundle,
    [await readFile(files.ca, "utf8"), ...publicCas()].map(asLines).join(""),
  );
  return files;
}

/** Returns the CAs that are part of Node, and the system's own if this Node can list them. */
const publicCas = () => new Set([...tls.rootCertificates, ...(tls.getCACertificates?.("system") ?? [])]);

async function makeCa(files) {
  const x509 = await library();
  const keys = await newKeys();
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({
    ...common(CA_DAYS),
    name: "CN=Terrace local CA",
    keys,
    extensions: [
      new x509.BasicConstraintsExtension(true, 0, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.cRLSign, true),
      await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
    ],
  });
  await save(files.caKey, await exported(keys.privateKey));
  await save(files.ca, certificate.toString("pem"));
}

async function makeLeaf(files, names) {
  const x509 = await library();
  const ca = new x509.X509Certificate(await readFile(files.ca, "utf8"));
  const caKey = createPrivateKey(await readFile(files.caKey)).export({ format: "der", type: "pkcs8" });
  const keys = await newKeys();
  const certificate = await x509.X509CertificateGenerator.create({
    ...common(LEAF_DAYS),
    subject: "CN=localhost",
    issuer: ca.subject,
    publicKey: keys.publicKey,
    signingKey: await webcrypto.subtle.importKey("pkcs8", caKey, ALGORITHM, false, ["sign"]),
    extensions: [
      new x509.BasicConstraintsExtension(false, undefined, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
      new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.serverAuth]),
      new x509.SubjectAlternativeNameExtension([...HERE, ...names.map((value) => ({ type: "dns", value }))]),
      await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
      // Strict verifiers, such as Python's, need these two extensions to find the issuer.
      await x509.AuthorityKeyIdentifierExtension.create(ca.publicKey),
    ],
  });
  await save(files.key, await exported(keys.privateKey));
  await save(files.cert, certificate.toString("pem"));
}

const common = (days) => ({
  // The first digit keeps the number positive.
  serialNumber: `1${randomBytes(16).toString("hex").slice(1)}`,
  notBefore: new Date(Date.now() - DAY_MS),
  notAfter: new Date(Date.now() + days * DAY_MS),
  signingAlgorithm: ALGORITHM,
});

/** Imported on demand, because npm packages may not be installed earlier. */
async function library() {
  const x509 = await import("@peculiar/x509");
  x509.cryptoProvider.set(webcrypto);
  return x509;
}

const newKeys = () => webcrypto.subtle.generateKey(ALGORITHM, true, ["sign", "verify"]);

async function exported(privateKey) {
  const key = createPrivateKey({
    key: Buffer.from(await webcrypto.subtle.exportKey("pkcs8", privateKey)),
    format: "der",
    type: "pkcs8",
  });
  return key.export({ format: "pem", type: "pkcs8" });
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

/** Files that are concatenated with `cat` need a final newline; earlier versions wrote none. */
async function endWithNewline(file) {
  const pem = await readFile(file, "utf8");
  if (pem !== asLines(pem)) await save(file, asLines(pem));
}

const asLines = (pem) => `${pem.trim()}\n`;

const save = (file, text) => writeFile(file, text, { mode: 0o600 });
