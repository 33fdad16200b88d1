// The part of a GitHub runner that issues tokens to its jobs.
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:http";

/** Starts it. `makes(audience)` creates a token; `env` is the environment of a job with the permission `id-token: write`. */
export async function openActions(makes) {
  const bearer = randomBytes(16).toString("hex");
  const server = createServer(async (request, response) => {
    const audience = new URL(request.url, "http://localhost").searchParams.get("audience");
    const may = request.headers.authorization === `Bearer ${bearer}`;
    response.writeHead(may ? 200 : 401, { "content-type": "application/json" });
    response.end(JSON.stringify(may ? { value: await makes(audience) } : {}));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const url = `http://127.0.0.1:${server.address().port}/token?api-version=2.0`;
  return {
    env: { ACTIONS_ID_TOKEN_REQUEST_URL: url, ACTIONS_ID_TOKEN_REQUEST_TOKEN: bearer },
    stop: () => server.close(),
  };
}
