// A person at a browser, without a browser: a client with a cookie jar that follows each redirect.
import assert from "node:assert/strict";

/** A client that keeps cookies as browsers do, for each origin. */
export class Visitor {
  #jar = new Map();

  /** Sends one request, without following a redirect. */
  async request(url, { headers = {}, ...init } = {}) {
    const { origin } = new URL(url);
    const cookies = [...this.cookies(origin)].map(([name, value]) => `${name}=${value}`).join("; ");
    const response = await fetch(url, { redirect: "manual", headers: { ...(cookies && { cookie: cookies }), ...headers }, ...init });
    for (const line of response.headers.getSetCookie()) this.#keep(origin, line);
    return response;
  }

  /** The cookies of an origin, by name. */
  cookies(origin) {
    return this.#jar.get(origin) ?? new Map();
  }

  #keep(origin, line) {
    const [pair, ...attributes] = line.split(/; */);
    const at = pair.indexOf("=");
    const [name, value] = [pair.slice(0, at), pair.slice(at + 1)];
    const cookies = new Map(this.cookies(origin));
    const isOver = attributes.some((it) => /^max-age=0$/i.test(it) || (/^expires=/i.test(it) && new Date(it.slice(8)) < new Date()));
    if (isOver) cookies.delete(name);
    else cookies.set(name, value);
    this.#jar.set(origin, cookies);
  }

  /** Opens a URL at the provider and signs in there. Returns the URL to which the provider sends the browser back. */
  async signsIn(url, login) {
    const { origin } = new URL(url);
    let response = await this.request(url);
    for (let step = 0; step < 12; step += 1) {
      if (response.status >= 300 && response.status < 400) {
        const next = new URL(response.headers.get("location"), url);
        if (next.origin !== origin) return next.href;
        response = await this.request(next.href);
        continue;
      }
      const html = await response.text();
      const action = /<form[^>]*action="([^"]+)"/.exec(html)?.[1];
      assert.ok(action, `the provider shows no form: ${response.status} ${html}`);
      const hidden = [...html.matchAll(/<input type="hidden" name="([^"]+)" value="([^"]*)"/g)].map(([, name, value]) => [name, value]);
      const body = new URLSearchParams([...hidden, ["login", login], ["password", "any"]]);
      response = await this.request(new URL(action, url).href, { method: "POST", body });
    }
    throw new Error("the provider does not send the browser back");
  }
}
