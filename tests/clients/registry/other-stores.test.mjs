// `terrace serve` in several processes over object stores of other kinds than that of store.test.mjs.
import { startAzure, whyNoAzure } from "../../../scripts/lib/azure-server.mjs";
import { startGateway } from "../../../scripts/lib/s3-gateway.mjs";
import { unlessOnPath } from "../support/programs.mjs";
import { defineSharedStore } from "../support/shared-store.mjs";
import { describe, test } from "../support/testing.mjs";

const STORES = [
  { name: "a container of Azure", reason: await whyNoAzure(), start: startAzure, options: { scheme: "az", presigns: false } },
  { name: "a bucket over files", reason: unlessOnPath("versitygw") || null, start: startGateway },
];

for (const { name, reason, start, options } of STORES) {
  describe(`processes over ${name}`, { skip: reason ?? false }, () => defineSharedStore(start, options));
  if (reason) test(`processes over ${name} serve one registry`, { skip: reason }, () => {});
}
