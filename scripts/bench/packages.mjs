// What there is to read: a provider, a mirrored provider and a module of each size.

/** How many versions. */
export const SIZES = [1, 50, 500, 5_000];

/** The version that is there in full, and listed last. */
export const NEWEST = "2.0.0";

/** Whose the mirrored provider is. */
export const MIRRORED = "registry.opentofu.org";

/** What there are `n` versions of; of none there is nothing. */
export const provider = (n) => `acme/p${n}`;
export const module = (n) => `acme/m${n}/local`;
