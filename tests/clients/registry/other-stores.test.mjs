// `terrace serve` in several processes over object stores of other kinds than that of store.test.mjs.
import { startAzure } from "../../../scripts/lib/azure-server.mjs";
import { startGateway } from "../../../scripts/lib/s3-gateway.mjs";
import { unlessOnPath } from "../support/programs.mjs";
import { defineSharedStore } from "../support/shared-store.mjs";
import { describe, test } from "../support/testing.mjs";

const STORES = [
  { name: "a container of Azure", skip: unlessOnPath("azurite"), start: startAzure, options: { scheme: "az", presigns: false } },
  { name: "a bucket over files", skip: unlessOnPath("versitygw"), start: startGateway },
];

for (const { name, skip, start, options } of STORES) {
  describe(`processes over ${name}`, { skip }, () => defineSharedStore(start, options));
  if (skip) test(`processes over ${name} serve one registry`, { skip }, () => {});
}
