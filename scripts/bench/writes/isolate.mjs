// What of a process is JavaScript and wasm, which is what the platform limits. The rest of its CPU is native: most of it moves bytes, for which the platform
// charges nobody, and speaks HTTP with storage, which is another process only here.
import { Inspector } from "../../../tests/clients/support/inspector.mjs";

/** How long a sample stands for at most, in µs: while nothing runs there is none. */
const SAMPLE_US = 1_000;

const NATIVE = new Set(["(idle)", "(program)", "(root)"]);

/** Milliseconds that JavaScript and wasm ran during `work`, with their garbage collector. */
export async function isolateTime(registry, work) {
  const inspector = await Inspector.connect(registry.inspector, registry.name);
  const { nodes, samples, timeDeltas } = await inspector.profileDuring(work);
  inspector.close();
  const native = new Set(nodes.filter(({ callFrame }) => NATIVE.has(callFrame.functionName)).map(({ id }) => id));
  return samples.reduce((sum, id, at) => sum + (native.has(id) ? 0 : Math.min(timeDeltas[at], SAMPLE_US)), 0) / 1000;
}

/** The most bytes that the heap of the isolate held during `work`, with the buffers and the wasm that it refers to. */
export async function isolatePeak(registry, work) {
  const inspector = await Inspector.connect(registry.inspector, registry.name);
  const peak = await inspector.peakHeapDuring(work);
  inspector.close();
  return peak;
}
