// The part of a process that is JavaScript and wasm, which the platform limits. The rest of its CPU time is
// native: most of it moves bytes, which the platform does not charge for, and speaks HTTP with storage, which
// is another process only here.
import { Inspector } from "../../../tests/clients/support/inspector.mjs";

/** The maximum duration that a sample stands for, in µs: while nothing runs, there are no samples. */
const SAMPLE_US = 1_000;

const NATIVE = new Set(["(idle)", "(program)", "(root)"]);

/** Returns the milliseconds that JavaScript and wasm ran during `work`, with their garbage collector. */
export async function isolateTime(registry, work) {
  const inspector = await Inspector.connect(registry.inspector, registry.name);
  const { nodes, samples, timeDeltas } = await inspector.profileDuring(work);
  inspector.close();
  const native = new Set(nodes.filter(({ callFrame }) => NATIVE.has(callFrame.functionName)).map(({ id }) => id));
  return samples.reduce((sum, id, at) => sum + (native.has(id) ? 0 : Math.min(timeDeltas[at], SAMPLE_US)), 0) / 1000;
}

/** Returns the maximum size of the isolate's heap during `work`, with the buffers and the wasm that it refers to. */
export async function isolatePeak(registry, work) {
  const inspector = await Inspector.connect(registry.inspector, registry.name);
  const peak = await inspector.peakHeapDuring(work);
  inspector.close();
  return peak;
}
