// The cost of a new isolate's first answers. Isolates of one process share compiled wasm, so each is measured
// in its own process: Terrace, the floor and an empty Worker in turn, so that the cost of the process itself
// can be separated.
import { execFileSync, spawn } from "node:child_process";
import { closeSync, openSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";

import { root, stateDir } from "../lib/paths.mjs";
import { DEPLOYMENTS, cases } from "./cases.mjs";
import { Meter } from "./cpu.mjs";
import { Connection, wire } from "./load.mjs";
import { BUNDLE, FLOOR, startStore } from "./servers.mjs";
import { median, share } from "./statistics.mjs";
import { configure, workerd } from "./workerd.mjs";

const directory = join(stateDir, "bench", "start");
const DEPLOYMENT = "presigned";

/** The first requests of a first `terraform init`, in its order. */
const ASKED = ["discovery", "provider versions of 50", "provider download by S3 of 50"];

const SIDES = { Terrace: BUNDLE, floor: FLOOR, empty: { "empty.js": join(root, "scripts", "bench", "empty.js") } };

const WHOLE = "from start to first answer";
const MORE = "the same, more than the empty one";

/**
 * The measured stages: until the process listens, each first request, the same requests once more, and the
 * total until the first answer.
 */
const STAGES = ["until it listens", ...ASKED.map((name) => `first ${name}`), "the same three again", WHOLE, MORE];

/**
 * Starts each side `rounds` times; returns `{ side: { stage: { wall, cpu } } }`,
 * in milliseconds, each `{ median, low, high }`. The first start is not counted, because its files are not in
 * memory yet.
 */
export async function measureStart(entries, { rounds }) {
  await mkdir(directory, { recursive: true });
  const store = await startStore(entries);
  try {
    const configs = {};
    for (const [side, files] of Object.entries(SIDES)) {
      const place = join(directory, side);
      const deployments = { [DEPLOYMENT]: DEPLOYMENTS[DEPLOYMENT] };
      configs[side] = compiled(await configure({ place, files, deployments, ports: { [DEPLOYMENT]: 0 }, storePort: store.port }));
    }
    const runs = Object.fromEntries(Object.keys(configs).map((side) => [side, []]));
    for (let round = 0; round <= rounds; round += 1) {
      const inRound = {};
      for (const side of inTurn(Object.keys(configs), round)) inRound[side] = await coldStart(configs[side]);
      if (round === 0) continue;
      const { empty } = inRound;
      for (const [side, run] of Object.entries(inRound)) runs[side].push({ ...run, [MORE]: difference(run[WHOLE], empty[WHOLE]) });
    }
    return Object.fromEntries(Object.entries(runs).map(([side, of]) => [side, summary(of)]));
  } finally {
    await store.stop();
  }
}

/**
 * Returns the configuration compiled together with the modules, which the runtime reads directly: reading two
 * megabytes as text takes 8 ms of CPU.
 */
function compiled(config) {
  const binary = `${config}.bin`;
  const file = openSync(binary, "w", 0o600);
  execFileSync(workerd, ["compile", "--config-only", config], { cwd: dirname(config), stdio: ["ignore", file, "inherit"] });
  closeSync(file);
  return binary;
}

const difference = (one, other) => ({ wall: one.wall - other.wall, cpu: one.cpu - other.cpu });

/** Alternates the order, so that no side always follows the same other side. */
const inTurn = (sides, round) => (round % 2 ? sides.toReversed() : sides);

/** Runs one process from its start to its end; returns `{ stage: { wall, cpu } }`. */
async function coldStart(config) {
  const began = performance.now();
  const log = openSync(`${config}.log`, "w");
  // workerd writes the port that it listens on to the third pipe, as soon as it listens.
  const child = spawn(workerd, ["serve", "--binary", "--control-fd=3", config], { cwd: dirname(config), stdio: ["ignore", log, log, "pipe"] });
  closeSync(log);
  const clock = new Stopwatch(child.pid, began);
  const ended = new Promise((done) => child.on("exit", done).on("error", done));
  const end = () => child.kill();
  process.on("exit", end);
  try {
    const port = await portOf(child, `${config}.log`);
    clock.lap(STAGES[0]);
    const connection = await Connection.open(port);
    clock.skip();
    for (const [at, request] of requests().entries()) {
      await connection.ask(request);
      clock.lap(STAGES[at + 1]);
    }
    for (const request of requests()) await connection.ask(request);
    clock.lap("the same three again");
    connection.close();
  } finally {
    process.off("exit", end);
    child.kill();
    await ended;
  }
  const { laps } = clock;
  const [load, first] = STAGES.map((stage) => laps[stage]);
  laps[WHOLE] = { wall: load.wall + first.wall, cpu: load.cpu + first.cpu };
  return laps;
}

async function portOf(child, log) {
  for await (const line of createInterface({ input: child.stdio[3] })) {
    const { event, port } = JSON.parse(line);
    if (event === "listen") return port;
  }
  throw new Error(`workerd did not start: see ${log}`);
}

const requests = () => ASKED.map((wanted) => wire(cases().find(({ name }) => name === wanted)));

/** Measures the time and CPU of a process between two calls. */
class Stopwatch {
  laps = {};
  #pid;
  #at;
  #meter;

  constructor(pid, began) {
    this.#pid = pid;
    this.#at = began;
    this.#meter = Meter.ofAll(pid);
  }

  lap(stage) {
    this.laps[stage] = { wall: performance.now() - this.#at, cpu: this.#meter.used() / 1e6 };
    this.skip();
  }

  /** Excludes the time and CPU since the last call. */
  skip() {
    this.#at = performance.now();
    this.#meter = new Meter(this.#pid);
  }
}

function summary(runs) {
  const of = (stage, what) => {
    const values = runs.map((run) => run[stage][what]);
    return { median: median(values), low: share(values, 0.25), high: share(values, 0.75) };
  };
  return Object.fromEntries(STAGES.map((stage) => [stage, { wall: of(stage, "wall"), cpu: of(stage, "cpu") }]));
}
