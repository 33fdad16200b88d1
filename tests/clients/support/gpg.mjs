// gpg with a temporary key ring.
import { chmod, mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { run, runs } from "./programs.mjs";

const NO_PASSPHRASE = ["--pinentry-mode", "loopback", "--passphrase", ""];

export class GpgHome {
  #directory;

  constructor(directory) {
    this.#directory = directory;
  }

  static async create(directory) {
    await mkdir(directory, { recursive: true });
    await chmod(directory, 0o700);
    return new GpgHome(directory);
  }

  /** Creates a primary key that signs. */
  makeKey(algorithm, { lifetime = "never", time = [] } = {}) {
    return this.#gpg([...time, ...NO_PASSPHRASE, "--quick-generate-key", "Team <team@example.com>", algorithm, "sign", lifetime]);
  }

  /** Creates a primary key that only certifies, and a subkey that signs. */
  async makeKeyWithSigningSubkey(algorithm) {
    await this.#gpg([...NO_PASSPHRASE, "--quick-generate-key", "Team <team@example.com>", algorithm, "cert", "never"]);
    const fingerprint = (await this.listKeys()).match(/^fpr:+([0-9A-F]+):/m)[1];
    await this.#gpg([...NO_PASSPHRASE, "--quick-add-key", fingerprint, algorithm, "sign", "never"]);
  }

  async exportArmored() {
    return (await this.#gpg(["--armor", "--export"])).stdout.toString();
  }

  import(armored) {
    return this.#gpg(["--import"], armored);
  }

  /** Returns all keys, in the machine-readable format. */
  async listKeys() {
    return (await this.#gpg(["--with-colons", "--fingerprint", "--list-keys"])).stdout.toString();
  }

  async signDetached(text, options = []) {
    return (await this.#gpg([...options, ...NO_PASSPHRASE, "--detach-sign"], text)).stdout;
  }

  /** Verifies a signature, and returns gpg's output. */
  async verify(text, signature) {
    const [textFile, signatureFile] = ["signed", "signature"].map((name) => join(this.#directory, name));
    await writeFile(textFile, text);
    await writeFile(signatureFile, signature);
    return (await this.#gpg(["--verify", signatureFile, textFile])).output;
  }

  /** Stops the agent that gpg started. */
  async close() {
    await run("gpgconf", ["--homedir", this.#directory, "--kill", "all"]);
  }

  #gpg(args, input) {
    return runs("gpg", ["--homedir", this.#directory, "--batch", "--no-tty", ...args], { input, env: { ...process.env, LC_ALL: "C" } });
  }
}
