// Archives that exceed the Worker's memory.
//
// The measurements and their sources:
// - wasm memory, read inside workerd: it never shrinks, so its size is its maximum;
// - the heap of the Worker's isolate with the buffers it refers to, read from V8's inspector every few milliseconds;
// - the bytes of the requests that reached the Worker, and of the R2 objects that it requested.
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";

import { zipSync } from "fflate";

import { HOST, usingProvider, withEachClient } from "../support/client.mjs";
import { HERE, packaged, provider, signedProvider } from "../support/releases.mjs";
import { after, before, describe, test } from "../support/testing.mjs";
import { useWatchedRegistry } from "../support/watched.mjs";

const MB = 1_000_000;
/** More than a release document and the inspection of a zip need, and much less than any of the archives. */
const LITTLE = 1 * MB;
/** The maximum heap for handling a request: many times the actual use, and far less than any of the archives. */
const SOME_HEAP = 16 * MB;

/** `received` and `read` state whether the archive reaches the Worker during a publish. */
const CASES = [
  { title: "presigned URLs", mode: "presigned", keepsChecksums: true, megabytes: 60, received: false, read: false },
  { title: "presigned URLs, when the bucket kept no checksum", mode: "presigned", keepsChecksums: false, megabytes: 60, received: false, read: true },
  { title: "worker URLs", mode: "worker", keepsChecksums: false, megabytes: 60, received: true, read: false },
];

for (const { title, mode, keepsChecksums, megabytes, received, read } of CASES) {
  describe(`an archive of ${megabytes} MB, ${title}`, () => {
    const registry = useWatchedRegistry({ mode, keepsChecksums });
    let release;
    let inspector;

    before(async () => {
      const key = await registry.trusts("acme");
      // Publishes a small release, so that memory that the first publish allocates is not counted.
      await registry.publishes(provider({ address: "acme/small", version: "1.0.0", key }));
      release = await bigProvider(megabytes, key);
      inspector = await registry.inspector();
    });
    after(() => inspector?.close());

    test("is published", async (t) => {
      const used = await measured(t, () => registry.publishes(release));
      const size = release.body.packages[0].size;
      assert.ok(received ? used.received >= size : used.received < LITTLE, `${used.received} bytes reach the Worker`);
      assert.ok(read ? used.read >= size : used.read < LITTLE, `the Worker reads ${used.read} bytes`);
      assert.ok(used.wasm < LITTLE, `wasm memory grows by ${used.wasm} bytes`);
      // A digest computed by the platform leaves garbage in the Worker's heap.
      if (!read) assert.ok(used.heap < SOME_HEAP, `the heap grows by ${used.heap} bytes`);
    });

    withEachClient((client) => {
      test("is installed", async (t) => {
        const work = await client.workspace(t, registry, { "main.tf": usingProvider(`${HOST}/acme/big`, "1.0.0") });
        const used = await measured(t, () => work.runs("init"));
        const archivePaths = used.paths.filter((path) => path.startsWith("/archives/"));
        assert.equal(archivePaths.length > 0, mode === "worker", archivePaths.join());
        assert.ok(used.wasm < LITTLE, `wasm memory grows by ${used.wasm} bytes`);
        assert.ok(used.heap < SOME_HEAP, `the heap grows by ${used.heap} bytes`);
      });
    });

    /** Runs `work`, prints its cost, and returns it. */
    async function measured(t, work) {
      const { wasmBytes: wasmBefore } = await registry.watched();
      const heapBefore = await inspector.peakHeapDuring(() => {});
      const heapPeak = await inspector.peakHeapDuring(work);
      const { requests, operations, wasmBytes } = await registry.watched();
      const used = {
        wasm: wasmBytes - wasmBefore,
        heap: heapPeak - heapBefore,
        received: sum(requests.map(({ bytes }) => bytes)),
        read: sum(operations.map(({ bytes }) => bytes ?? 0)),
        paths: requests.map(({ path }) => path),
      };
      t.diagnostic(JSON.stringify({ ...used, paths: used.paths.length }));
      return used;
    }
  });
}

/** Creates a release of one zip with this many megabytes of filler, which is random and stored without compression. */
function bigProvider(megabytes, key) {
  const files = { "terraform-provider-big_v1.0.0": [Buffer.from("#!/bin/sh\n"), { os: 3, attrs: 0o100755 << 16 }], "ballast.bin": randomBytes(megabytes * MB) };
  const zips = [packaged(`terraform-provider-big_1.0.0_${HERE}.zip`, HERE, Buffer.from(zipSync(files, { level: 0 })))];
  return signedProvider({ address: "acme/big", version: "1.0.0", key, zips });
}

const sum = (numbers) => numbers.reduce((total, number) => total + number, 0);
