// A shell in a terminal that records every change of its screen.
import { spawn } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";

const COLUMNS = 106;

/** More rows than the shell ever prints, so that the screen never scrolls. */
const ROWS = 400;

const PROMPT = "$ ";

/** In milliseconds: between two typed letters, before a command, how often the screen is looked at, and the longest wait for a text. */
const TIMES = { letter: 45, thought: 600, look: 40, most: 90_000 };

/** Variables that would change the output, or that belong to the npm which runs this script. */
const UNWANTED = /^(npm_|TERRACE_|TF_|NO_COLOR|FORCE_COLOR|INIT_CWD|NODE_)/;

export class Shell {
  #child;
  #hasEnded = false;
  #terminal;
  #looked = "";

  /** The screens: `{ at, rows }` with the time in milliseconds since 1970, and rows of runs `{ text, style }`. */
  frames = [];

  static async open(cleanup, Terminal, directory) {
    const shell = new Shell();
    shell.#terminal = new Terminal({ cols: COLUMNS, rows: ROWS, allowProposedApi: true, convertEol: false });
    const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !UNWANTED.test(name)));
    Object.assign(env, { TERM: "xterm-256color", CHECKPOINT_DISABLE: "1", npm_config_update_notifier: "false", npm_config_loglevel: "error" });
    const command = `stty cols ${COLUMNS} rows ${ROWS}; exec env PS1='${PROMPT}' bash --norc --noprofile`;
    const child = spawn("script", ["-qec", command, "/dev/null"], { cwd: directory, env });
    shell.#child = child;
    child.once("exit", () => (shell.#hasEnded = true));
    // The shell and its programs end with their terminal.
    cleanup.add("closing a terminal", () => shell.#close());
    child.stdout.on("data", (bytes) => shell.#terminal.write(bytes));
    shell.#watch();
    await shell.isReady();
    return shell;
  }

  /** Types a line as a person does. */
  async types(line) {
    await sleep(TIMES.thought);
    for (const letter of line) {
      this.#child.stdin.write(letter);
      await sleep(TIMES.letter);
    }
    await sleep(TIMES.thought);
    this.#child.stdin.write("\r");
    await sleep(2 * TIMES.look);
  }

  /** Waits until this text is on the screen. */
  async shows(text) {
    await this.#until(() => this.#lines().some((line) => line.includes(text)), text);
  }

  /** Waits for the prompt. */
  async isReady() {
    await this.#until(() => this.#lines().at(-1) === PROMPT.trim(), "the prompt");
    await sleep(2 * TIMES.look);
  }

  /** Returns the screens below the last one of another shell, and a line that separates them. */
  framesAfter(other, title) {
    const before = [...other.frames.at(-1).rows, [], [{ text: `── ${title} ──`, style: "dim" }]];
    return this.frames.map(({ at, rows }) => ({ at, rows: [...before, ...rows] }));
  }

  async #until(isSo, what) {
    const deadline = Date.now() + TIMES.most;
    while (!isSo()) {
      if (Date.now() > deadline) throw new Error(`the terminal does not show ${what}:\n${this.#lines().join("\n")}`);
      await sleep(TIMES.look);
    }
  }

  async #watch() {
    while (!this.#hasEnded) {
      const rows = rowsOf(this.#terminal);
      const text = JSON.stringify(rows);
      if (text !== this.#looked) this.frames.push({ at: Date.now(), rows });
      this.#looked = text;
      await sleep(TIMES.look);
    }
  }

  #lines() {
    return rowsOf(this.#terminal).map((runs) => runs.map(({ text }) => text).join("").trimEnd());
  }

  async #close() {
    const ended = new Promise((done) => this.#child.once("exit", done));
    // Ctrl-C ends a program, and the second line the shell.
    this.#child.stdin.write("\x03");
    await Promise.race([this.isReady(), sleep(10_000, undefined, { ref: false })]).catch(() => {});
    this.#child.stdin.write("exit\r");
    await Promise.race([ended, sleep(5_000, undefined, { ref: false })]);
    if (!this.#hasEnded) this.#child.kill("SIGKILL");
  }
}

/** Returns the rows up to the last one with text, as runs of the same style. */
function rowsOf(terminal) {
  const buffer = terminal.buffer.active;
  const rows = [];
  for (let y = 0; y <= buffer.cursorY; y += 1) rows.push(runsOf(buffer.getLine(y)));
  return rows;
}

function runsOf(line) {
  const runs = [];
  const length = line.translateToString(true).length;
  for (let x = 0; x < length; x += 1) {
    const cell = line.getCell(x);
    const style = styleOf(cell);
    const last = runs.at(-1);
    if (last?.style === style) last.text += cell.getChars() || " ";
    else runs.push({ text: cell.getChars() || " ", style });
  }
  return runs;
}

/** Returns the class names of a cell: its colour of the sixteen, bold and dim. */
function styleOf(cell) {
  const names = [];
  if (cell.isFgPalette() && cell.getFgColor() < 16) names.push(`c${cell.getFgColor() % 8}`);
  if (cell.isBold()) names.push("b");
  if (cell.isDim()) names.push("dim");
  return names.join(" ");
}
