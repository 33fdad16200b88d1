#!/usr/bin/env node
// Starts the registry on this machine, if Node is new enough for wrangler.
import { existsSync } from "node:fs";

const NEEDED = [22, 12];
const [major, minor] = process.versions.node.split(".").map(Number);

if (major < NEEDED[0] || (major === NEEDED[0] && minor < NEEDED[1])) {
  console.error(`Node.js ${process.versions.node} is too old: wrangler, which runs the registry, needs ${NEEDED.join(".")} or newer.`);
  process.exitCode = 1;
} else {
  const { start, wrangler } = await import("./start.mjs");
  if (existsSync(wrangler)) await start(process.env.npm_lifecycle_event === "start" ? "npm start" : "npx terrace-try");
  else {
    console.error("wrangler, which runs the registry, is not installed: run `npx terrace-try`, or install wrangler beside this package.");
    process.exitCode = 1;
  }
}
