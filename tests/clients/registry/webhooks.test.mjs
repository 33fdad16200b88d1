// Webhooks of a registry in workerd: the receiver is a program on the same machine, over TLS.
import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";

import { useRegistry } from "../support/registry.mjs";
import { module, saying } from "../support/releases.mjs";
import { scratch } from "../support/scratch.mjs";
import { after, before, describe, test } from "../support/testing.mjs";
import { serveTls } from "../support/tls-server.mjs";

/** The maximum time from the answer to a change until its delivery, in milliseconds. */
const PATIENCE_MS = 20_000;

/** The maximum age of a delivery that a receiver accepts, in seconds, as the Standard Webhooks specification recommends. */
const MAX_AGE_SECONDS = 300;

/** Starts a receiver, which keeps the headers and the bodies of its requests, and answers with `status`. */
async function openReceiver(directory) {
  const receiver = { received: [], status: 204 };
  const server = await serveTls(directory, async (request, response) => {
    const body = (await buffer(request)).toString();
    receiver.received.push({ method: request.method, path: request.url, headers: request.headers, body });
    response.writeHead(receiver.status).end();
  });
  return Object.assign(receiver, server, { url: `${server.url}/hook?key=s3cret` });
}

/** Verifies a delivery as the libraries of the Standard Webhooks specification do. Returns its event. */
function verified({ headers, body }, secret) {
  const key = Buffer.from(secret.replace(/^whsec_/, ""), "base64");
  const { "webhook-id": id, "webhook-timestamp": time, "webhook-signature": signatures } = headers;
  assert.ok(Math.abs(Date.now() / 1000 - Number(time)) < MAX_AGE_SECONDS, `sent at ${time}`);
  const expected = createHmac("sha256", key).update(`${id}.${time}.${body}`).digest("base64");
  assert.ok(signatures.split(" ").includes(`v1,${expected}`), `${signatures} does not contain v1,${expected}`);
  return JSON.parse(body);
}

async function delivered(receiver, count) {
  const deadline = Date.now() + PATIENCE_MS;
  while (receiver.received.length < count) {
    assert.ok(Date.now() < deadline, `${receiver.received.length} of ${count} deliveries came`);
    await sleep(100);
  }
  return receiver.received;
}

describe("webhooks", () => {
  const directory = scratch();
  let receiver;
  before(async () => {
    receiver = await openReceiver(join(directory, "receiver"));
  });
  after(() => receiver?.stop());
  const registry = useRegistry(() => ({ mode: "worker", trusts: receiver.ca }));

  test("a publish is delivered to a receiver on the same machine, with a signature by the Standard Webhooks specification", async () => {
    const added = await registry.admin("POST", "/admin/v1/webhooks", JSON.stringify({ url: receiver.url }));
    assert.equal(added.status, 201, JSON.stringify(added.answer));
    const { id, secret } = added.answer;

    await registry.publishes(module({ address: "acme/vpc/aws", version: "1.0.0", files: saying("one") }));
    const [publish] = await delivered(receiver, 1);
    assert.equal(publish.method, "POST");
    assert.equal(publish.path, "/hook?key=s3cret");
    assert.equal(publish.headers["content-type"], "application/json");
    assert.match(publish.headers["webhook-id"], new RegExp(`^msg_${id}_`));
    const { type, data } = verified(publish, secret);
    assert.deepEqual([type, data.package, data.version], ["release.published", "acme/vpc/aws", "1.0.0"]);
    assert.throws(() => verified({ ...publish, body: publish.body.replace("1.0.0", "1.0.1") }, secret));

    const reason = "it deletes the network";
    const path = "/admin/v1/modules/acme/vpc/aws/1.0.0/status";
    const revoked = await registry.admin("PUT", path, JSON.stringify({ state: "revoked", reason }));
    assert.equal(revoked.status, 200, JSON.stringify(revoked.answer));
    const [, status] = await delivered(receiver, 2);
    const change = verified(status, secret).data;
    assert.deepEqual([change.previous_status, change.status, change.reason], ["active", "revoked", reason]);

    const { answer: list } = await registry.admin("GET", "/admin/v1/webhooks");
    assert.equal(JSON.stringify(list).includes("s3cret"), false);
  });
});
