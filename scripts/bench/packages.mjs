// What there is to read: a provider, a mirrored provider and a module of each size.

/** How many versions. */
export const SIZES = [1, 50, 500, 5_000];

/** Those of them that other registries are given, too. */
export const SHARED = [1, 50, 500];

/** The version that is there in full, and listed last. */
export const NEWEST = "2.0.0";

/** The versions before it, of `n` in all. */
export const older = (n) => Array.from({ length: n - 1 }, (_, patch) => `1.0.${patch}`);

/** Whose the mirrored provider is. */
export const MIRRORED = "registry.opentofu.org";

/** What there are `n` versions of; of none there is nothing. */
export const provider = (n) => `acme/p${n}`;
export const module = (n) => `acme/m${n}/local`;

/** What providers are usually built for. */
export const PLATFORMS =
  "darwin_amd64,darwin_arm64,freebsd_386,freebsd_amd64,freebsd_arm,freebsd_arm64,linux_386,linux_amd64,linux_arm,linux_arm64,windows_386,windows_amd64,windows_arm64";

/** Where in its archive a module is. */
export const SUBDIR = "modules/main";
