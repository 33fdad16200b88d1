// What V8's inspector tells about one Worker in workerd, apart from the others in the same process.

/** How often memory is looked at while something is going on. */
const INTERVAL_MS = 20;

/** How often a profile looks at what is running. */
const SAMPLING_US = 200;

export class Inspector {
  #socket;
  #calls = new Map();
  #lastId = 0;

  /** Connects to the Worker that workerd calls `name`. */
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

  /** Does `work` and returns the most bytes that the Worker's heap, with the buffers it refers to, held meanwhile. */
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

  /** Does `work` and returns where the CPU went meanwhile: `Profile` of the DevTools protocol. */
  async profileDuring(work) {
    await this.#call("Profiler.enable");
    await this.#call("Profiler.setSamplingInterval", { interval: SAMPLING_US });
    await this.#call("Profiler.start");
    await work();
    const { profile } = await this.#call("Profiler.stop");
    return profile;
  }

  async #heap() {
    const { usedSize, embedderHeapUsedSize, backingStorageSize } = await this.#call("Runtime.getHeapUsage");
    return usedSize + embedderHeapUsedSize + backingStorageSize;
  }

  #call(method, params = {}) {
    const id = ++this.#lastId;
    return new Promise((done) => {
      this.#calls.set(id, done);
      this.#socket.send(JSON.stringify({ id, method, params }));
    });
  }
}
