// `terrace serve` in several processes over one object store.
import { startS3, whyNoS3 } from "../../../scripts/lib/s3-server.mjs";
import { defineSharedStore } from "../support/shared-store.mjs";
import { describe, test } from "../support/testing.mjs";

const reason = await whyNoS3();

describe("processes over one store", { skip: reason ?? false }, () => defineSharedStore(startS3));

if (reason) test("processes over one store serve one registry", { skip: reason }, () => {});
