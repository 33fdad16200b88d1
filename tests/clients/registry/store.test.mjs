// `terrace serve` in several processes over one object store.
import { startS3 } from "../../../scripts/lib/s3-server.mjs";
import { unlessOnPath } from "../support/programs.mjs";
import { defineSharedStore } from "../support/shared-store.mjs";
import { describe, test } from "../support/testing.mjs";

const skip = unlessOnPath("moto");

describe("processes over one store", { skip }, () => defineSharedStore(startS3));

if (skip) test("processes over one store serve one registry", { skip }, () => {});
