// A front for a real registry that counts its requests, and misbehaves on demand.
import { serveTls } from "./tls-server.mjs";

/**
 * Opens a front for the registry at `target`, whose own URLs also go through it.
 *
 * `asked` contains the paths of all requests. `answers(path, response)` may answer a request itself, and then returns true.
 */
export async function openFront(target, directory) {
  const front = { asked: [], answers: () => false };
  const server = await serveTls(directory, (request, response) => {
    front.asked.push(request.url);
    if (!front.answers(request.url, response)) forward(front, target, request.url, response);
  });
  Object.assign(front, server);
  front.count = (what) => front.asked.filter((path) => path.includes(what)).length;
  return front;
}

async function forward(front, target, path, response) {
  const answer = await fetch(target + path, { redirect: "manual" });
  let bytes = Buffer.from(await answer.arrayBuffer());
  const type = answer.headers.get("content-type");
  if (type === "application/json") bytes = Buffer.from(bytes.toString().replaceAll(target, front.url));
  response.writeHead(answer.status, { "content-type": type, "content-length": bytes.length });
  response.end(bytes);
}
