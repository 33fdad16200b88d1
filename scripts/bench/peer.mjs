// The same load on another registry, alternating with Terrace if both are on this machine: in workerd, or as `terrace serve`.
import { cases, HEADERS } from "./cases.mjs";
import { etagOf } from "./check.mjs";
import { familyOf } from "./cpu.mjs";
import { Connection, PATIENCE_MS, wire } from "./load.mjs";
import { CONNECTIONS, inRounds, ratio, summary } from "./measure.mjs";
import { MIRRORED } from "./packages.mjs";
import { questions, servicesIn, understood } from "./questions.mjs";

/** Returns whether a comparison is meaningful: a remote registry is measured through its network. */
export const isHere = (url) => ["127.0.0.1", "localhost", "[::1]"].includes(new URL(url).hostname);

/**
 * Measures the registry at `url`; returns `{ measured, skipped }`. `wanted` are the packages and paths for
 * `questions`, `only` is a text in the names of the cases, `pid` its process on this machine. `terrace` is an optional server to
 * compare with, of `startServers`; `served` is one that runs with the same packages, `{ url, pid }`.
 */
export async function measurePeer({ url, wanted, headers, only = "", pid, served }, effort, terrace) {
  const peer = new Peer(url, headers);
  const hasToken = "authorization" in headers;
  const pids = pid === undefined ? [] : familyOf(pid);
  const skipped = [];
  const other = served && new Peer(served.url, headers);
  const others = other ? await other.asked({ ...wanted, mirror: `/mirror/${MIRRORED}/`, oci: "/v2/providers/" }, []) : [];
  const beside = async (asked) => {
    const own = { pids, connections: await peer.connections(asked.url, CONNECTIONS), ...asked };
    if (other) return [own, await servedSide(other, served.pid, like(asked, others))];
    return terrace ? [own, await sideOf(terrace, nearest(asked, hasToken))] : [own];
  };
  const measured = async (cases, { rounds, ms }) => {
    const done = [];
    for (const asked of cases) {
      try {
        const sides = await beside(asked);
        done.push({ asked, sides, runs: await inRounds(sides, { rounds, ms }) });
      } catch (error) {
        skipped.push({ name: asked.name, path: asked.url.pathname, reason: error.message });
        // A late answer would be taken for the next one.
        peer.close();
      }
    }
    return done;
  };
  try {
    const cases = (await peer.asked(wanted, skipped)).filter(({ name }) => name.includes(only));
    // Runs everything once before measuring: compilers optimise for the requests they see, and the first
    // cases would run unoptimised code.
    const warm = await measured(cases, { ...effort, rounds: 0 });
    const runs = await measured(warm.map(({ asked }) => asked), effort);
    return { measured: runs.map(seen), skipped };
  } finally {
    peer.close();
    other?.close();
  }
}

function seen({ sides: [{ name, versions, status, bytes }, terrace], runs: [runs, others] }) {
  const beside = others && { ...summary(others), versions: terrace.versions, bytes: terrace.bytes };
  return { name, versions, status, bytes, peer: summary(runs), terrace: beside, ratio: others && ratio(runs, others) };
}

/** Another registry under measurement. */
class Peer {
  #url;
  #headers;
  #connections = new Map();

  constructor(url, headers) {
    this.#url = url;
    this.#headers = headers;
  }

  /** Returns the requests that it answers, each with its `request`; the others go to `skipped` with the reason. */
  async asked(wanted, skipped) {
    const [discovery] = questions(this.#url, {}, wanted);
    const services = servicesIn(await this.#ask(discovery));
    const asked = [];
    const versions = new Map();
    for (const question of questions(this.#url, services, wanted)) {
      const { route, of, isMissing, url } = question;
      // A registry without a route answers 404 to every request there.
      if (isMissing && !asked.some((known) => known.route === route)) continue;
      try {
        const answer = await this.#ask(question);
        // The number of versions is known from the list of the package, which comes before its versions.
        const many = understood(question, answer) ?? versions.get(of);
        if (of) versions.set(of, many);
        const known = { ...question, versions: many, status: answer.status, bytes: answer.bytes };
        asked.push({ ...known, name: nameOf(known), request: this.#request(question) });
        const etag = etagOf(answer);
        if (etag === undefined || isMissing || !CONDITIONAL.has(route)) continue;
        const conditional = { ...question, headers: { ...question.headers, "if-none-match": etag } };
        const unchanged = await this.#ask(conditional);
        if (unchanged.status !== 304) throw new Error(`status ${unchanged.status} instead of 304 for its ETag`);
        const again = { ...known, status: 304, bytes: 0 };
        asked.push({ ...again, name: nameOf(again), request: this.#request(conditional) });
      } catch (error) {
        skipped.push({ name: nameOf(question), path: url.pathname, reason: error.message });
        this.close();
      }
    }
    return asked;
  }

  async #ask(question) {
    const [connection] = await this.connections(question.url, 1);
    const late = setTimeout(() => connection.giveUp(), PATIENCE_MS);
    return connection.ask(this.#request(question), { keep: true }).finally(() => clearTimeout(late));
  }

  #request({ url, headers }) {
    return wire({ path: url.pathname + url.search, headers: { ...HEADERS, host: url.host, ...this.#headers, ...headers } });
  }

  /** Opens that many connections to the service, which may be on another host. */
  async connections({ origin, protocol, hostname, port }, many) {
    const open = this.#connections.get(origin) ?? [];
    this.#connections.set(origin, open);
    const isTls = protocol === "https:";
    const to = { host: hostname.replace(/^\[|\]$/g, ""), port: Number(port) || (isTls ? 443 : 80), isTls };
    while (open.length < many) open.push(await Connection.open(to));
    return open.slice(0, many);
  }

  close() {
    for (const connection of [...this.#connections.values()].flat()) connection.close();
    this.#connections.clear();
  }
}

/** The routes whose answers stay unchanged. The others contain URLs that expire. */
const CONDITIONAL = new Set(["provider versions", "module versions", "mirror index", "OCI tags", "OCI manifest"]);

const nameOf = ({ route, versions, isMissing, status }) =>
  [route, versions > 0 && `of ${versions}`, (isMissing || status === 304) && `→ ${status ?? 404}`].filter(Boolean).join(" ");

/** Returns the case of Terrace to alternate with: the same one with the same, or the nearest, number of versions. */
function nearest({ route, versions = 0, status, isMissing }, hasToken) {
  const same = cases().filter((own) => own.route === route && own.status === (status === 204 ? 200 : status) && own.mode !== "Worker");
  const allowed = same.filter((own) => own.n === undefined || (own.hasToken === hasToken && (own.n === 0) === isMissing));
  const distance = ({ n = 0 }) => Math.abs(Math.log((n + 1) / (versions + 1)));
  return allowed.sort((a, b) => distance(a) - distance(b))[0];
}

/** Returns the request for the same route with the same number of versions. */
function like({ name, route, versions, isMissing, status }, others) {
  const isUnchanged = status === 304;
  const same = others.find((it) => it.route === route && it.isMissing === isMissing && (it.status === 304) === isUnchanged && it.versions === versions);
  if (!same) throw new Error(`the registry beside it does not answer ${name}`);
  return same;
}

async function servedSide(other, pid, asked) {
  return { pids: [pid], connections: await other.connections(asked.url, CONNECTIONS), ...asked };
}

async function sideOf(terrace, { n, deployment, path, headers, isUnchanged, status }) {
  const connections = await terrace.connections(deployment, CONNECTIONS);
  const { head, bytes } = await connections[0].ask(wire({ path, headers }));
  const request = wire({ path, headers: { ...headers, ...(isUnchanged && { "if-none-match": etagOf({ head }) }) } });
  return { pids: [terrace.pid], connections, request, status, versions: n, bytes: isUnchanged ? 0 : bytes };
}
