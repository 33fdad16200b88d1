// Ends a script when the process that requested it, or the server that it runs, has ended.
import { endAll } from "./run.mjs";
import { say } from "./step.mjs";

/**
 * Ends this process together with the npm that runs it (npm passes a signal to a shell, and that shell ends
 * without passing it on), and with the older Node that started it.
 */
export function endWithParent() {
  const end = () => {
    endAll();
    process.exit(1);
  };
  if (process.channel) {
    process.on("disconnect", end);
    process.channel.unref();
  }
  if (process.env.npm_lifecycle_event) {
    const parent = process.ppid;
    setInterval(() => process.ppid === parent || end(), 500).unref();
  }
}

/** Ends the server with this process, and this process with the server. */
export function endTogether(server, cleanup) {
  const stop = async () => {
    await cleanup.run();
    say("\nStopped.");
    process.exit(0);
  };
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, stop);
  server.ended.then(() => {
    if (cleanup.isOver) return;
    say(`The server ended by itself. Its log: ${server.logFile}`);
    process.exit(1);
  });
}
