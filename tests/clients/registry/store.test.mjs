// `terrace serve` in several processes over one object store.
import { unlessOnPath } from "../support/programs.mjs";
import { defineSharedStore } from "../support/shared-store.mjs";
import { startAzure, startGateway } from "../support/stores.mjs";
import { describe, test } from "../support/testing.mjs";

const STORES = [
  { name: "a container of Azure", program: "azurite", start: startAzure, options: { scheme: "az", presigns: false } },
  { name: "a bucket", program: "versitygw", start: startGateway },
];

for (const { name, program, start, options } of STORES) {
  const skip = unlessOnPath(program);
  describe(`processes over ${name}`, { skip }, () => defineSharedStore(start, options));
  if (skip) test(`processes over ${name} serve one registry`, { skip }, () => {});
}
