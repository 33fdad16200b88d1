// Ends a script when the process that requested it has ended.

/**
 * Ends this process together with the npm that runs it (npm passes a signal to a shell, and that shell ends
 * without passing it on), and with the older Node that started it.
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
