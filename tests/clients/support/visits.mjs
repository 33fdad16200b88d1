// The requests of clients, in their order, following every URL in the answers, as docs/clients.md describes.
import { HERE } from "./releases.mjs";

/** The path of the simulated S3 endpoint: such a request goes to the bucket and not to the Worker. */
const TO_BUCKET = "/cdn-cgi/local/r2/s3/";

/** A client that counts its requests to the bucket itself. */
export class Visitor {
  #registry;
  asked = { gets: 0, puts: 0 };

  constructor(registry) {
    this.#registry = registry;
  }

  async discover() {
    await this.#json("/.well-known/terraform.json");
  }

  /** `init` of a provider that is not installed yet (2.1, 2.2). */
  async installProvider(address) {
    const [os, arch] = HERE.split("_");
    const version = await this.#newest(address);
    const download = await this.#json(`/v1/providers/${address}/${version}/download/${os}/${arch}`);
    for (const name of ["shasums_url", "shasums_signature_url", "download_url"]) await this.#get(download[name]);
  }

  /** `init` of an installed provider (2.1). */
  async findProviderInstalled(address) {
    await this.#newest(address);
  }

  /** `init` of a module (3, 4). */
  async installModule(address) {
    const [{ versions }] = (await this.#json(`/v1/modules/${address}/versions`)).modules;
    const response = await this.#get(`/v1/modules/${address}/${versions.at(-1).version}/download`);
    const location = new URL(response.headers.get("x-terraform-get"), response.url);
    // go-getter verifies the checksum, removes the parameter before its requests (4.7), and first requests
    // the headers (4.3).
    const archive = location.href.replace(/[?&]checksum=[^&]*$/, "");
    await this.#get(archive, { method: "HEAD" });
    await this.#get(archive);
  }

  /** `init` of a provider from the network mirror (5). */
  async installFromMirror(address) {
    const { versions } = await this.#json(`/mirror/${address}/index.json`);
    const { archives } = await this.#json(`/mirror/${address}/${Object.keys(versions).at(-1)}.json`);
    await this.#get(archives[HERE].url);
  }

  /** `init` of a provider from the OCI mirror: the tags, the index, the manifest of the platform, and its zip (6). */
  async pull(repository) {
    const { tags } = await this.#json(`/v2/${repository}/tags/list`);
    const head = await this.#get(`/v2/${repository}/manifests/${tags.at(-1)}`, { method: "HEAD" });
    const index = await this.#json(`/v2/${repository}/manifests/${head.headers.get("docker-content-digest")}`);
    const [os, arch] = HERE.split("_");
    const isOurs = ({ platform }) => platform.os === os && platform.architecture === arch;
    const manifest = await this.#json(`/v2/${repository}/manifests/${index.manifests.find(isOurs).digest}`);
    const { headers } = await this.#get(`/v2/${repository}/blobs/${manifest.layers[0].digest}`, { redirect: "manual" });
    await this.#get(headers.get("location"));
  }

  /** A request for something that does not exist. */
  async isRefused(path) {
    const response = await fetch(new URL(path, this.#registry.url));
    await response.arrayBuffer();
    if (response.status !== 404) throw new Error(`${path} answers ${response.status}`);
  }

  /** The front page. */
  async open() {
    await this.#get("/");
  }

  /** Describes the release, sends the missing archives, and describes it again. */
  async publish(release) {
    const { path, body, archives } = release;
    const describe = () => this.#registry.admin("PUT", path, JSON.stringify(body));
    const { answer } = await describe();
    for (const { sha256, upload } of answer.missing) {
      const { method, url, headers } = upload;
      await this.#ask(url, { method, headers, body: archives.get(sha256) });
    }
    const { status } = await describe();
    if (status !== 201) throw new Error(`publishing ${path} answers ${status}`);
  }

  async #newest(address) {
    const { versions } = await this.#json(`/v1/providers/${address}/versions`);
    return versions.at(-1).version;
  }

  async #json(path) {
    return JSON.parse(await (await this.#ask(path)).text());
  }

  async #get(url, init) {
    const response = await this.#ask(url, init);
    await response.arrayBuffer();
    return response;
  }

  async #ask(path, init = {}) {
    const url = new URL(path, this.#registry.url);
    const isToBucket = url.pathname.startsWith(TO_BUCKET);
    const response = await fetch(url, init);
    // This URL is signed for GET; R2 does not charge for a request with an invalid signature.
    if (isToBucket && init.method === "HEAD" && response.status === 403) return response;
    if (isToBucket) this.asked[init.method === "PUT" ? "puts" : "gets"] += 1;
    if (response.status >= 400) throw new Error(`${init.method ?? "GET"} ${url} answers ${response.status}`);
    return response;
  }
}
