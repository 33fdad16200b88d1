// An S3-compatible store for tests: moto, which checks the conditions of writes. It is installed by pip, once per user, unless
// the Python on PATH has it.
import { existsSync } from "node:fs";
import { readFile, rm } from "node:fs/promises";
import { join } from "node:path";

import { cacheDir, isWindows, root } from "./paths.mjs";
import { ask, lastLine, run, serveProgram } from "./run.mjs";
import { step } from "./step.mjs";

const MOTO = "5.2.1";
const PYTHONS = ["python3", "python"];
const SERVER = join(root, "scripts", "lib", "s3_server.py");

/** In milliseconds: the maximum time until the server listens, and the pause between two looks at its log. */
const START_MS = 30_000;
const PAUSE_MS = 50;

/** The maximum time of an installation. */
const PATIENCE_MS = 5 * 60_000;

const home = join(cacheDir, `moto-${MOTO}`);
const installed = join(home, isWindows ? "Scripts/python.exe" : "bin/python");

/** Returns a Python with moto, which is installed if necessary; throws the reason why there is none. */
async function pythonWithMoto() {
  const probe = ["-c", `import moto, flask, sys; sys.exit(moto.__version__ != "${MOTO}")`];
  for (const python of [installed, ...PYTHONS]) {
    if ((python !== installed || existsSync(installed)) && (await ask(python, probe)) !== null) return python;
  }
  for (const python of PYTHONS) {
    if ((await ask(python, ["--version"])) !== null) return install(python);
  }
  throw new Error("Python is not on PATH");
}

async function install(python) {
  // A virtual environment contains its own path, so it is made in place, and removed if that fails.
  try {
    await step(`installing moto ${MOTO}`, async (log) => {
      await run(python, ["-m", "venv", home], { log, timeout: PATIENCE_MS });
      await run(installed, ["-m", "pip", "install", "--quiet", `moto[server,s3]==${MOTO}`], { log, timeout: PATIENCE_MS });
    });
  } catch (error) {
    await rm(home, { recursive: true, force: true });
    throw new Error(`moto could not be installed: ${lastLine(error)}`);
  }
  return installed;
}

/** Returns the reason why there can be no S3 server here, or `null`. */
export async function whyNoS3() {
  try {
    await pythonWithMoto();
    return null;
  } catch (error) {
    return error.message;
  }
}

/**
 * Starts an S3 server with these empty buckets. `cleanup` stops it.
 *
 * Returns `{ endpoint, region, accessKeyId, secretAccessKey, env }`; `env` are the variables for its clients.
 */
export async function startS3(cleanup, { buckets, log }) {
  const server = await serveProgram(await pythonWithMoto(), [SERVER, ...buckets], { log });
  cleanup.add("stopping the S3 server", server.stop);
  const port = await portIn(log, server);
  const s3 = { endpoint: `http://127.0.0.1:${port}`, region: "us-east-1", accessKeyId: "terrace", secretAccessKey: "a-key-that-opens-nothing" };
  const env = {
    AWS_ENDPOINT_URL: s3.endpoint,
    AWS_ALLOW_HTTP: "true",
    AWS_REGION: s3.region,
    AWS_ACCESS_KEY_ID: s3.accessKeyId,
    AWS_SECRET_ACCESS_KEY: s3.secretAccessKey,
  };
  return { ...s3, env };
}

/** Waits for the line with the port. */
async function portIn(log, server) {
  let hasEnded = false;
  server.ended.then(() => (hasEnded = true));
  for (const until = Date.now() + START_MS; Date.now() < until && !hasEnded; ) {
    const port = (await readFile(log, "utf8").catch(() => "")).match(/^(\d+)$/m);
    if (port) return Number(port[1]);
    await new Promise((done) => setTimeout(done, PAUSE_MS));
  }
  throw new Error(`the S3 server did not start: see ${log}`);
}
