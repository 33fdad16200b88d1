// A map that lists its keys in order.
export class SortedMap {
  #values = new Map();
  #keys = [];
  #isSorted = true;

  get size() {
    return this.#values.size;
  }

  get(key) {
    return this.#values.get(key);
  }

  set(key, value) {
    if (!this.#values.has(key)) {
      this.#isSorted &&= this.#keys.length === 0 || this.#keys.at(-1) < key;
      this.#keys.push(key);
    }
    this.#values.set(key, value);
  }

  delete(key) {
    if (this.#values.delete(key)) this.#keys = this.#keys.filter((other) => other !== key);
  }

  clear() {
    this.#values.clear();
    this.#keys = [];
    this.#isSorted = true;
  }

  /** Returns at most `most` keys that begin with `prefix` and sort after `key`. */
  keysAfter(prefix, key, most) {
    if (!this.#isSorted) this.#keys.sort((a, b) => (a < b ? -1 : 1));
    this.#isSorted = true;
    const from = prefix > key ? this.#firstAt(prefix) : this.#firstAt(`${key}\0`);
    const keys = this.#keys.slice(from, from + most);
    const end = keys.findIndex((found) => !found.startsWith(prefix));
    return end < 0 ? keys : keys.slice(0, end);
  }

  #firstAt(key) {
    let [low, high] = [0, this.#keys.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.#keys[middle] < key) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
