// Measures a walk that repairs all indices, step by step.
import { isolateTime } from "./isolate.mjs";
import { restore, template } from "./seed.mjs";

/** The states of the indices before a walk; the last walk is a full one, which compares the indices of every version. */
const STATES = ["KV is empty", "all is right", "all is right, full"];

/** Walks over registries of these shapes, `{ packages, versions }`, with steps of each of `budgets` operations. */
export async function measureReindexing(storage, shapes, budgets) {
  const walks = [];
  for (const shape of shapes) {
    await fill(storage, shape);
    for (const budget of budgets) {
      for (const state of STATES) {
        await bring(storage, state);
        walks.push({ ...shape, budget, state, ...(await inNewProcess(storage, budget, (registry) => walk(registry, state))) });
      }
    }
  }
  return { walks, inside: await measureInside(storage, shapes[0], Math.max(...budgets)) };
}

async function fill(storage, { packages, versions }) {
  await storage.set({ forgets: "everything" });
  const { presigned, stop } = await storage.registries();
  const document = await template(presigned, storage.key);
  const addresses = Array.from({ length: packages }, (_, at) => `acme/p${at}`);
  await restore(presigned, { addresses, count: versions, document });
  await stop();
}

const bring = async (storage, state) => state === STATES[0] && (await storage.set({ forgets: "indices" }));

/** For each state, measures the number of sequential operations in a whole walk, and the run time of its JavaScript and wasm. */
async function measureInside(storage, shape, budget) {
  await fill(storage, shape);
  const inside = {};
  for (const state of STATES) {
    await bring(storage, state);
    const rounds = await inNewProcess(storage, budget, (registry) => registry.inARow(() => stepByStep(registry, state, (step) => step())));
    await bring(storage, state);
    const isolate = await inNewProcess(storage, budget, (registry) => isolateTime(registry, () => stepByStep(registry, state, (step) => step())));
    inside[state] = { ...shape, rounds, isolate };
  }
  return inside;
}

async function inNewProcess(storage, budget, work) {
  const registries = await storage.registries({ vars: { TERRACE_REPAIR_OPERATIONS: String(budget) }, inspect: true });
  try {
    return await work(registries.presigned);
  } finally {
    await registries.stop();
  }
}

async function walk(registry, state) {
  const taken = [];
  const told = await stepByStep(registry, state, async (step) => {
    const { result, ...measured } = await registry.measured(step);
    taken.push(measured);
    return result;
  });
  return { ...told, ...summary(taken) };
}

/** Walks from the beginning to the end; `take` runs each step. */
async function stepByStep(registry, state, take) {
  const told = { lookedAt: 0, rewritten: 0, removed: 0, failed: 0 };
  for (let after; after !== null; ) {
    const { status, answer } = await take(() => registry.admin("POST", "/admin/v1/reindex", JSON.stringify({ after, full: state === STATES[2] })));
    if (status !== 200) throw new Error(`reindexing answers ${status}: ${JSON.stringify(answer)}`);
    told.lookedAt += answer.looked_at;
    for (const kind of ["rewritten", "removed", "failed"]) told[kind] += answer[kind].length;
    after = answer.next ?? null;
  }
  if (told.removed + told.failed > 0) throw new Error(`reindexing removed documents or failed: ${JSON.stringify(told)}`);
  return told;
}

function summary(taken) {
  const operations = {};
  for (const step of taken) for (const [name, count] of Object.entries(step.operations)) operations[name] = (operations[name] ?? 0) + count;
  const whole = (name) => taken.reduce((sum, step) => sum + step[name], 0);
  const most = (name) => Math.max(...taken.map((step) => step[name]));
  return {
    ...{ steps: taken.length, operations, total: whole("total"), mostOperations: most("total") },
    ...{ cpu: whole("cpu"), mostCpu: most("cpu"), ms: whole("ms"), wasm: most("wasm") },
    resident: Math.max(...taken.map(({ resident }) => resident.peak)),
  };
}
