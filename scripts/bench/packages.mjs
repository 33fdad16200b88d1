// The test data: a provider, a mirrored provider and a module of each size.

/** The numbers of versions. */
export const SIZES = [1, 50, 500, 5_000];

/** The version that is stored completely, and listed last. */
export const NEWEST = "2.0.0";

/** The versions before it, if there are `n` in total. */
export const older = (n) => Array.from({ length: n - 1 }, (_, patch) => `1.0.${patch}`);

/** The host of the mirrored providers. */
export const MIRRORED = "registry.opentofu.org";

/** The package with `n` versions; with 0 it does not exist. */
export const provider = (n) => `acme/p${n}`;
export const module = (n) => `acme/m${n}/local`;

/** The platforms that providers are usually built for. */
export const PLATFORMS =
  "darwin_amd64,darwin_arm64,freebsd_386,freebsd_amd64,freebsd_arm,freebsd_arm64,linux_386,linux_amd64,linux_arm,linux_arm64,windows_386,windows_amd64,windows_arm64";

/** The directory of a module in its archive. */
export const SUBDIR = "modules/main";
