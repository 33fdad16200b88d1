// The same load against any registry that speaks the protocols: what it is asked for is there under other names.
import { Connection, load, wire } from "./load.mjs";
import { Run, side } from "./measure.mjs";

const CONNECTIONS = 16;

/**
 * Asks the registry at `url` for what it has of a `provider` ("namespace/type/version") and a `module`
 * ("namespace/name/system/version"), for `ms` in each of `rounds`. `pid`: its process, if it is on this machine.
 */
export async function measurePeer({ url, provider, module, token, pid, rounds, ms }) {
  const { protocol, hostname, port, host, pathname } = new URL(url);
  const isTls = protocol === "https:";
  const to = { host: hostname, port: Number(port) || (isTls ? 443 : 80), isTls };
  const connections = await Promise.all(Array.from({ length: CONNECTIONS }, () => Connection.open(to)));
  const headers = { host, "user-agent": "Terraform/1.11.4 (+https://www.terraform.io)", ...(token && { authorization: `Bearer ${token}` }) };
  const measured = [];
  for (const [name, path] of routes(provider, module)) {
    const request = wire({ path: pathname.replace(/\/$/, "") + path, headers });
    const { status } = await connections[0].ask(request);
    const runs = [];
    let bytes;
    for (let round = 0; round <= rounds; round += 1) {
      const run = new Run(pid);
      const answered = await load(connections, request, { ms, status });
      run.add(answered);
      bytes = answered.bytes;
      if (round > 0) runs.push(run.end());
    }
    measured.push({ name, status, bytes, ...side(runs) });
  }
  for (const connection of connections) connection.close();
  return measured;
}

function routes(provider, module) {
  const [namespace, type, version] = provider.split("/");
  const [moduleNamespace, name, system, moduleVersion] = module.split("/");
  const [ofProvider, ofModule] = [`${namespace}/${type}`, `${moduleNamespace}/${name}/${system}`];
  return [
    ["discovery", "/.well-known/terraform.json"],
    ["provider versions", `/v1/providers/${ofProvider}/versions`],
    ["provider download", `/v1/providers/${ofProvider}/${version}/download/linux/amd64`],
    ["module versions", `/v1/modules/${ofModule}/versions`],
    ["module download", `/v1/modules/${ofModule}/${moduleVersion}/download`],
    ["missing provider", `/v1/providers/${namespace}/nothing/versions`],
  ];
}
