// The measured requests: every read route of every protocol, with each kind of answer.
import { tokenText } from "../../tests/clients/support/tokens.mjs";
import { MIRRORED, module, NEWEST, provider, SIZES } from "./packages.mjs";

/** The host name of all requests, so that the registry's own URLs do not depend on where it listens. */
const HOST = "registry.example.com";

const ADMIN_TOKEN = "a-secret-of-this-benchmark-alone";

const S3 = {
  TERRACE_S3_ENDPOINT: "https://account.r2.example.com",
  TERRACE_S3_BUCKET: "terrace-facts",
  TERRACE_S3_REGION: "auto",
  TERRACE_S3_ACCESS_KEY_ID: "0123456789abcdef0123456789abcdef",
  TERRACE_S3_SECRET_ACCESS_KEY: "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
};

const VARIABLES = { TERRACE_ADMIN_TOKEN: ADMIN_TOKEN, TERRACE_URL_SECRET: "another-secret-of-this-benchmark" };

/** Registries by their configuration: archive URLs of R2 or of the Worker, and one with private access. */
export const DEPLOYMENTS = {
  presigned: { ...VARIABLES, ...S3 },
  worker: VARIABLES,
  closed: { ...VARIABLES, ...S3, TERRACE_ACCESS: "private" },
};

const LISTS = {
  "provider versions": (n) => `/v1/providers/${provider(n)}/versions`,
  "module versions": (n) => `/v1/modules/${module(n)}/versions`,
  "mirror index": (n) => `/mirror/${MIRRORED}/${provider(n)}/index.json`,
  "OCI tags": (n) => `/v2/providers/${provider(n)}/tags/list`,
};

const MANIFESTS = { "OCI manifest": (n) => `/v2/providers/${provider(n)}/manifests/${NEWEST}` };

const DOWNLOADS = {
  "provider download": (n, version = NEWEST) => `/v1/providers/${provider(n)}/${version}/download/linux/amd64`,
  "module download": (n, version = NEWEST) => `/v1/modules/${module(n)}/${version}/download`,
  "mirror version": (n, version = NEWEST) => `/mirror/${MIRRORED}/${provider(n)}/${version}.json`,
};

/** The other headers of a client. */
const HEADERS = { host: HOST, "user-agent": "Terraform/1.11.4 (+https://www.terraform.io)", "accept-encoding": "identity" };

const TOKEN = { authorization: `Bearer ${tokenText(ADMIN_TOKEN, { scopes: ["read"], expires: 2_000_000_000 })}` };

/**
 * The cases: `{ name, route, n, mode, status, hasToken, isUnchanged, deployment, path, headers }`. An
 * unchanged case sends the ETag of its first answer. With `quick`, only one size of each kind, and the largest
 * of lists.
 */
export function cases({ quick = false } = {}) {
  const all = [
    one({ route: "discovery", path: "/.well-known/terraform.json" }),
    one({ route: "no route", path: "/v1/nothing", status: 404 }),
    one({ route: "provider versions", path: LISTS["provider versions"](1), deployment: "closed", n: 1, status: 401 }),
  ];
  const streamed = Object.entries({ ...LISTS, ...MANIFESTS });
  for (const [deployment, hasToken] of [["presigned", false], ["closed", true]]) {
    const common = { deployment, hasToken };
    for (const [route, path] of streamed) {
      for (const n of SIZES) {
        all.push(one({ route, path: path(n), n, ...common }));
        all.push(one({ route, path: path(n), n, status: 304, ...common }));
      }
      all.push(one({ route, path: path(0), n: 0, status: 404, ...common }));
    }
    for (const [route, path] of Object.entries(DOWNLOADS)) {
      for (const n of SIZES) {
        all.push(one({ route, path: path(n), n, mode: "S3", ...common }));
        if (!hasToken) all.push(one({ route, path: path(n), n, mode: "Worker", deployment: "worker" }));
      }
      all.push(one({ route, path: path(50, "9.9.9"), n: 50, status: 404, ...common }));
    }
  }
  return quick ? all.filter(isQuick) : all;
}

/**
 * The ratio above which a read is reported as a failure. Reads that the entry answers have taken 0.84 to 1.24 times the floor's
 * CPU, and those that look into R2 and are continued by the whole registry 1.28 to 1.48. A busy machine moves a ratio by a
 * tenth, and a mistake on the path of reads, such as a second conversion of headers, by more than a quarter.
 */
const LIMITS = { entry: 1.5, registry: 1.85 };

export const limitOf = ({ status, n }) => (status === 404 && n !== undefined ? LIMITS.registry : LIMITS.entry);

const isQuick = ({ n, status, hasToken, route }) =>
  n === undefined || n === 0 || n === 50 || status === 401 || (n === 5_000 && !hasToken && status === 200 && route in LISTS);

function one({ route, path, n, mode, status = 200, hasToken = false, deployment = "presigned" }) {
  const headers = { ...HEADERS, ...(hasToken && TOKEN) };
  const parts = [route, mode && `by ${mode}`, n > 0 && `of ${n}`, hasToken && "with a token", status !== 200 && `→ ${status}`];
  return { name: parts.filter(Boolean).join(" "), route, n, mode, status, hasToken, isUnchanged: status === 304, deployment, path, headers };
}
