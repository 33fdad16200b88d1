// Ignores every request to end except SIGKILL, and keeps writing to its directory.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const [, , directory] = process.argv;
for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"]) process.on(signal, () => {});

let written = 0;
setInterval(() => {
  mkdirSync(directory, { recursive: true });
  writeFileSync(join(directory, `file-${(written += 1)}`), "");
  if (written === 1) writeFileSync(join(directory, "ready"), "");
}, 1);
