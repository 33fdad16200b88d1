// Work that the Worker does after its response, or without a request.
import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { readFile } from "node:fs/promises";
import { dirname } from "node:path";
import { buffer } from "node:stream/consumers";

import { until } from "../../scripts/lib/wait.mjs";
import { module, saying } from "../clients/support/releases.mjs";
import { describe, test } from "../clients/support/testing.mjs";
import { serveTls } from "../clients/support/tls-server.mjs";
import { smokeRegistry } from "./support/server.mjs";

/** The maximum age of a delivery that a receiver accepts, in seconds, as the Standard Webhooks specification recommends. */
const MAX_AGE_SECONDS = 300;

describe("work beside requests", () => {
  const registry = smokeRegistry();

  const eventually = async (isSo, told) => assert.ok(await until(isSo, { pause: 100 }), told);

  test("a publish is delivered to a webhook, with a signature by the Standard Webhooks specification", async (t) => {
    const received = [];
    // The Worker trusts the CA in this directory.
    const receiver = await serveTls(dirname(registry.ca), async (request, response) => {
      received.push({ method: request.method, path: request.url, headers: request.headers, body: (await buffer(request)).toString() });
      response.writeHead(204).end();
    });
    t.after(receiver.stop);
    const { status, answer } = await registry.admin("POST", "/admin/v1/webhooks", JSON.stringify({ url: `${receiver.url}/hook?key=s3cret`, namespaces: ["notified"] }));
    assert.equal(status, 201, JSON.stringify(answer));
    await registry.publishes(module({ address: "notified/vpc/aws", version: "1.0.0", files: saying("one") }));
    await eventually(() => received.length > 0, "nothing was delivered");
    const [{ method, path, headers, body }] = received;
    assert.deepEqual([method, path, headers["content-type"]], ["POST", "/hook?key=s3cret", "application/json"]);
    const { "webhook-id": id, "webhook-timestamp": time, "webhook-signature": signatures } = headers;
    assert.ok(Math.abs(Date.now() / 1000 - Number(time)) < MAX_AGE_SECONDS, `sent at ${time}`);
    const key = Buffer.from(answer.secret.replace(/^whsec_/, ""), "base64");
    const expected = createHmac("sha256", key).update(`${id}.${time}.${body}`).digest("base64");
    assert.ok(signatures.split(" ").includes(`v1,${expected}`), `${signatures} does not contain v1,${expected}`);
    const { type, data } = JSON.parse(body);
    assert.deepEqual([type, data.package, data.version], ["release.published", "notified/vpc/aws", "1.0.0"]);
  });

  test("the scheduled event takes a step of the repair", async () => {
    const event = await registry.request("/cdn-cgi/handler/scheduled");
    assert.equal(event.status, 200, await event.text());
    await eventually(async () => /repair: [1-9]\d* checked/.test(await readFile(registry.logFile, "utf8")), "the log has no step of the repair");
  });
});
