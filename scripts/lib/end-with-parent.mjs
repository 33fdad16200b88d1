// Preloaded into a server by `serve`: when the process that started it is gone, however that ended, the server ends too,
// with the whole process group it leads, and is killed if it does not.
const PATIENCE_MS = 5_000;

process.on("disconnect", () => {
  signalGroup("SIGTERM");
  setTimeout(() => signalGroup("SIGKILL"), PATIENCE_MS).unref();
});
// A program that has nothing else to do ends.
process.channel?.unref();

function signalGroup(name) {
  try {
    process.kill(-process.pid, name);
  } catch {
    process.exit();
  }
}
