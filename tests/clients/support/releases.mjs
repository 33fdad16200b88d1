// Providers and modules to publish, in the form that `Registry.publish` accepts.
import { sha256, tarGz, zip } from "./archives.mjs";

/** The clients' name of this platform. */
export const HERE = `${platformName()}_${{ x64: "amd64", ia32: "386" }[process.arch] ?? process.arch}`;

/** Another platform than this one. */
export const ELSEWHERE = HERE === "linux_arm64" ? "linux_amd64" : "linux_arm64";

function platformName() {
  return process.platform === "win32" ? "windows" : process.platform;
}

/**
 * Creates a provider release with a package for this platform and another one. `init` never runs a provider,
 * so a script is enough; each platform has a different script, because equal zips under two platforms confuse
 * OpenTofu (2.4.3).
 */
export function provider({ address, version, key, platforms = [HERE, ELSEWHERE] }) {
  const type = address.split("/")[1];
  const stem = `terraform-provider-${type}_${version}`;
  const zips = platforms.map((platform) => {
    const program = `#!/bin/sh\n# ${type} ${version} for ${platform}\n`;
    return packaged(`${stem}_${platform}.zip`, platform, zip({ [`terraform-provider-${type}_v${version}`]: program }, 0o755));
  });
  return signedProvider({ address, version, key, zips });
}

/** Returns one zip of a provider; `bytes` may have any type that can be sent, if `digest` and `size` are given. */
export const packaged = (filename, platform, bytes, digest = sha256(bytes), size = bytes.length) => ({
  filename,
  platform,
  bytes,
  digest,
  size,
});

/**
 * Creates a provider release of these zips. Its SHA256SUMS also lists the manifest, as GoReleaser's does;
 * `key.sign` signs it.
 */
export async function signedProvider({ address, version, key, zips }) {
  const type = address.split("/")[1];
  const { filename, text } = manifestOf(type, version);
  const shasums = [...zips, { filename, digest: sha256(text) }].map(({ digest, filename }) => `${digest}  ${filename}\n`).join("");
  return {
    path: `/admin/v1/providers/${address}/${version}`,
    body: {
      protocols: ["5.0", "6.0"],
      shasums,
      signature: await key.sign(shasums),
      packages: zips.map(({ filename, platform, digest, size }) => {
        const [os, arch] = platform.split("_");
        return { os, arch, filename, sha256: digest, size };
      }),
    },
    archives: new Map(zips.map(({ digest, bytes }) => [digest, bytes])),
  };
}

/** Turns a release into one of another registry's provider, to mirror it: with the origin's signature if its key is given. */
export async function mirrored(hostname, key, release) {
  const { path, body, archives } = await release;
  const { protocols, packages, shasums, signature } = body;
  const signed = key && { shasums, signature, signing_key: key.publicKey };
  return {
    path: path.replace("/providers/", `/mirror/${hostname}/`),
    body: { packages, ...(signed && { protocols, signed }) },
    archives,
  };
}

/** The file that SHA256SUMS lists besides the zips. */
const manifestOf = (type, version) => ({
  filename: `terraform-provider-${type}_${version}_manifest.json`,
  text: `manifest of ${version}`,
});

const FORMATS = { zip, "tar.gz": tarGz };

/** Creates a module release of these files. */
export function module({ address, version, files, format = "zip", subdir }) {
  const bytes = FORMATS[format](files);
  const digest = sha256(bytes);
  return {
    path: `/admin/v1/modules/${address}/${version}`,
    body: { archive: { format, sha256: digest, size: bytes.length }, ...(subdir && { subdir }) },
    archives: new Map([[digest, bytes]]),
  };
}

/** Returns a module with this text as its output `says`. */
export const saying = (text) => ({ "main.tf": `output "says" {\n  value = ${JSON.stringify(text)}\n}\n` });
