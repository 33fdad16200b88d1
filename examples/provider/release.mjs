// The release of this build. Packaging writes RELEASE above the bundle, so that one bundle serves every
// platform.

/* global RELEASE */

/** `{ version, platform }`, for example `{ version: "0.1.0", platform: "linux_amd64" }`. */
export const release = RELEASE;
