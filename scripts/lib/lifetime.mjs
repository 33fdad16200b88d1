// No script goes on when whoever asked for it is gone.

/**
 * Ends this process with the npm that runs it (npm hands a signal on to a shell, and that shell ends without handing it
 * on), and with the older Node that started it.
 */
export function endWithParent() {
  const end = () => process.exit(1);
  if (process.channel) {
    process.on("disconnect", end);
    process.channel.unref();
  }
  if (process.env.npm_lifecycle_event) {
    const parent = process.ppid;
    setInterval(() => process.ppid === parent || end(), 500).unref();
  }
}
