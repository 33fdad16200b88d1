// Preloaded into a server by `serve`: when the process that started it is gone, however that ended, the server ends too,
// with the whole process group it leads.
process.on("disconnect", () => {
  try {
    process.kill(-process.pid, "SIGTERM");
  } catch {
    process.exit();
  }
});
