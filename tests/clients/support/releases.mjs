// Providers and modules to publish, as `Registry.publish` takes them.
import { sha256, tarGz, zip } from "./archives.mjs";

/** What clients call the platform that this runs on. */
export const HERE = `${platformName()}_${{ x64: "amd64", ia32: "386" }[process.arch] ?? process.arch}`;

/** One that this is not. */
export const ELSEWHERE = HERE === "linux_arm64" ? "linux_amd64" : "linux_arm64";

function platformName() {
  return process.platform === "win32" ? "windows" : process.platform;
}

/**
 * A provider release with a package for this platform and another one. `init` never runs a provider, so that a script will
 * do; each platform has its own, because equal zips under two platforms confuse OpenTofu (2.4.3).
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

/** One zip of a provider; `bytes` may be anything that can be sent, if `digest` and `size` are given. */
export const packaged = (filename, platform, bytes, digest = sha256(bytes), size = bytes.length) => ({
  filename,
  platform,
  bytes,
  digest,
  size,
});

/**
 * A provider release of these zips. Its SHA256SUMS names the manifest, too, as GoReleaser's does; `key.sign` signs it.
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

/** A release of another registry's provider, to mirror: with the origin's signature where its key is given. */
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

/** What SHA256SUMS names besides the zips. */
export const manifestOf = (type, version) => ({
  filename: `terraform-provider-${type}_${version}_manifest.json`,
  text: `manifest of ${version}`,
});

const FORMATS = { zip, "tar.gz": tarGz };

/** A module release of these files. */
export function module({ address, version, files, format = "zip", subdir }) {
  const bytes = FORMATS[format](files);
  const digest = sha256(bytes);
  return {
    path: `/admin/v1/modules/${address}/${version}`,
    body: { archive: { format, sha256: digest, size: bytes.length }, ...(subdir && { subdir }) },
    archives: new Map([[digest, bytes]]),
  };
}

/** A module whose output `says` what is given here. */
export const saying = (text) => ({ "main.tf": `output "says" {\n  value = ${JSON.stringify(text)}\n}\n` });
