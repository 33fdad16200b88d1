// Preloaded into a server by `serve`: when the process that started the server has ended for any reason, the
// server ends too, with the whole process group that it leads, and is killed if it does not end.
const PATIENCE_MS = 5_000;

process.on("disconnect", () => {
  signalGroup("SIGTERM");
  setTimeout(() => signalGroup("SIGKILL"), PATIENCE_MS).unref();
});
// Without this, the channel would keep a program running that has nothing else to do.
process.channel?.unref();

function signalGroup(name) {
  try {
    process.kill(-process.pid, name);
  } catch {
    process.exit();
  }
}
