// The requests that any registry is measured with, whatever its routes are, and the content that valid
// answers must have.

/**
 * Relative to the given URL: clients request it at the root of a host, but some registries keep everything of
 * Terraform in a folder.
 */
const DISCOVERY = ".well-known/terraform.json";

/** The manifest types that `terraform` and OCI clients accept. */
const MANIFESTS = { accept: "application/vnd.oci.image.index.v1+json, application/vnd.oci.image.manifest.v1+json" };

/** Checks for the content of an answer of each route; for lists, returns the number of versions. */
const HELD = {
  discovery: ({ json }) => "providers.v1" in json || "modules.v1" in json,
  "provider versions": ({ json }) => json.versions.length,
  "provider download": ({ json }) => json.download_url && json.shasum,
  "module versions": ({ json }) => json.modules[0].versions.length,
  "module download": ({ json, head }) => /^x-terraform-get:/im.test(head) || json.location,
  "mirror index": ({ json }) => Object.keys(json.versions).length,
  "mirror version": ({ json }) => json.archives,
  "OCI tags": ({ json }) => json.tags.length,
  "OCI manifest": ({ json }) => json.manifests ?? json.layers,
};

const LISTS = new Set(["provider versions", "module versions", "mirror index", "OCI tags"]);

/** A name that does not exist. */
const NOTHING = "nothing-is-here";

/**
 * Returns all requests, `{ route, of, url, headers, isMissing }`: for each provider
 * ("namespace/type/version") and module ("namespace/name/system/version") the lists and one version, and one
 * request of each kind for a missing package. `services` is the registry's discovery document; `mirror` and
 * `oci`, which no discovery contains, are the paths of its providers for mirror and OCI clients.
 */
export function questions(url, services, { providers, modules, mirror, oci }) {
  const base = new URL(withSlash(url));
  const service = (name, otherwise) => new URL(withSlash(services[name] ?? otherwise), base);
  const ofProviders = service("providers.v1", "/v1/providers/");
  const ofModules = service("modules.v1", "/v1/modules/");
  const [ofMirror, ofOci] = [mirror, oci].map((path) => new URL(withSlash(path), base));

  const provider = (of, version) => [
    { route: "provider versions", url: new URL(`${of}/versions`, ofProviders) },
    { route: "provider download", url: new URL(`${of}/${version}/download/linux/amd64`, ofProviders) },
    { route: "mirror index", url: new URL(`${of}/index.json`, ofMirror) },
    { route: "mirror version", url: new URL(`${of}/${version}.json`, ofMirror) },
    { route: "OCI tags", url: new URL(`${of}/tags/list`, ofOci) },
    { route: "OCI manifest", url: new URL(`${of}/manifests/${version}`, ofOci), headers: MANIFESTS },
  ];
  const module = (of, version) => [
    { route: "module versions", url: new URL(`${of}/versions`, ofModules) },
    { route: "module download", url: new URL(`${of}/${version}/download`, ofModules) },
  ];
  const packages = [...providers.map((text) => [provider, text]), ...modules.map((text) => [module, text])];
  return [
    { route: "discovery", url: new URL(DISCOVERY, base) },
    ...packages.flatMap(([routes, text]) => {
      const { of, version } = parted(text);
      return routes(of, version).map((question) => ({ of, ...question }));
    }),
    ...missing(provider, providers[0]),
    ...missing(module, modules[0]),
  ].map((question) => ({ headers: {}, isMissing: false, ...question }));
}

function missing(routes, text) {
  if (text === undefined) return [];
  const { of, version } = parted(text);
  const nothing = routes(of.replace(/(?<=\/)[^/]+/, NOTHING), version);
  return nothing.filter(({ route }) => LISTS.has(route)).map((question) => ({ ...question, isMissing: true }));
}

/** Returns the registry's discovery document, or an empty object. */
export const servicesIn = ({ status, body }) => (status === 200 && parsed(body)) || {};

/** Returns the number of versions in a list. Throws, with the reason, if the answer is not valid for its route. */
export function understood({ route, isMissing }, { status, head, body }) {
  const told = `${status} ${JSON.stringify(body.subarray(0, 80).toString())}`;
  if (isMissing) {
    if (status !== 404) throw new Error(`${told}, not 404`);
    return 0;
  }
  if (status !== 200 && status !== 204) throw new Error(told);
  const held = heldBy(route, { json: parsed(body) ?? {}, head });
  if (!held) throw new Error(`${told}: not a valid answer of the protocol`);
  return LISTS.has(route) ? held : undefined;
}

function heldBy(route, answer) {
  try {
    return HELD[route](answer);
  } catch {
    return undefined;
  }
}

function parsed(body) {
  try {
    return JSON.parse(body);
  } catch {
    return undefined;
  }
}

const withSlash = (path) => (path.endsWith("/") ? path : `${path}/`);

const parted = (text) => {
  const at = text.lastIndexOf("/");
  return { of: text.slice(0, at), version: text.slice(at + 1) };
};
