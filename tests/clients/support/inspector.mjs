// Reads data of one Worker in workerd from V8's inspector, separately from other Workers in the same process.

/** The interval of memory samples during the work. */
const INTERVAL_MS = 20;

export class Inspector {
  #socket;
  #calls = new Map();
  #lastId = 0;

  /** Connects to the Worker with the name `name` in workerd. */
  static async connect(url, name) {
    const inspector = new Inspector();
    inspector.#socket = new WebSocket(new URL(`./${name}`, url));
    await new Promise((done, failed) => {
      inspector.#socket.onopen = done;
      inspector.#socket.onerror = () => failed(new Error(`no inspector for ${name}`));
    });
    inspector.#socket.onmessage = ({ data }) => {
      const { id, result } = JSON.parse(data);
      inspector.#calls.get(id)?.(result);
      inspector.#calls.delete(id);
    };
    return inspector;
  }

  close() {
    this.#socket.close();
  }

  /** Runs `work` and returns the maximum size of the Worker's heap during it, with the buffers that it refers to. */
  async peakHeapDuring(work) {
    let peak = 0;
    let isDone = false;
    const watching = (async () => {
      do {
        peak = Math.max(peak, await this.#heap());
        await new Promise((done) => setTimeout(done, INTERVAL_MS));
      } while (!isDone);
    })();
    try {
      await work();
    } finally {
      isDone = true;
    }
    await watching;
    return Math.max(peak, await this.#heap());
  }

  async #heap() {
    const { usedSize, embedderHeapUsedSize, backingStorageSize } = await this.#call("Runtime.getHeapUsage");
    return usedSize + embedderHeapUsedSize + backingStorageSize;
  }

  #call(method) {
    const id = ++this.#lastId;
    return new Promise((done) => {
      this.#calls.set(id, done);
      this.#socket.send(JSON.stringify({ id, method }));
    });
  }
}
