// The measured requests: a read of each kind, by what the Worker does for it.

/** The numbers of versions of the providers in the test data. */
export const SIZES = [50, 5_000];

/** The version that is stored completely, and listed last. */
export const NEWEST = "2.0.0";

/** The provider with `n` versions; with 0 it does not exist. */
export const provider = (n) => `acme/p${n}`;

/** The platforms that providers are usually built for. */
export const PLATFORMS =
  "darwin_amd64,darwin_arm64,freebsd_386,freebsd_amd64,freebsd_arm,freebsd_arm64,linux_386,linux_amd64,linux_arm,linux_arm64,windows_386,windows_amd64,windows_arm64";

/** The settings of the registry: its archives have URLs of R2. */
export const VARIABLES = {
  TERRACE_ADMIN_TOKEN: "a-secret-of-this-benchmark-alone",
  TERRACE_S3_ENDPOINT: "https://account.r2.example.com",
  TERRACE_S3_BUCKET: "terrace-facts",
  TERRACE_S3_REGION: "auto",
  TERRACE_S3_ACCESS_KEY_ID: "0123456789abcdef0123456789abcdef",
  TERRACE_S3_SECRET_ACCESS_KEY: "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
};

/** The headers of a client. The host name is fixed, so that the registry's own URLs do not depend on where it listens. */
export const HEADERS = { host: "registry.example.com", "user-agent": "Terraform/1.11.4 (+https://www.terraform.io)", "accept-encoding": "identity" };

/**
 * The ratio above which a read is reported as a failure. Reads that the entry answers have taken 0.84 to 1.24 times the floor's
 * CPU, and those that look into R2 and are continued by the whole registry 1.28 to 1.48. A busy machine moves a ratio by a
 * tenth, and a mistake on the path of reads, such as a second conversion of headers, by more than a quarter.
 */
const LIMITS = { entry: 1.5, registry: 1.85 };

const versions = (n) => `/v1/providers/${provider(n)}/versions`;

/** The cases. An unchanged one sends the ETag of its first answer. */
export const CASES = [
  { name: "discovery", path: "/.well-known/terraform.json" },
  ...SIZES.map((n) => ({ name: `provider versions of ${n}`, path: versions(n) })),
  { name: "provider versions of 50, unchanged", path: versions(50), status: 304 },
  { name: "provider versions, missing", path: versions(0), status: 404, limit: LIMITS.registry },
  { name: "OCI manifest", path: `/v2/providers/${provider(50)}/manifests/${NEWEST}` },
  { name: "provider download by R2", path: `/v1/providers/${provider(50)}/${NEWEST}/download/linux/amd64` },
].map((read) => ({ status: 200, limit: LIMITS.entry, ...read }));
