// A run that takes too long ends itself and reports the steps under way, before CI ends it without a report.
import { randomUUID } from "node:crypto";

import { killAllWith } from "./processes.mjs";
import { endAll } from "./run.mjs";
import { say, stepsUnderWay } from "./step.mjs";

/**
 * The environment variables that mark all processes of the run and hold its deadline. The script inherits
 * both when it continues under another Node.
 */
const MARK = "TERRACE_RUN";
const ENDS = "TERRACE_RUN_ENDS";

const EXIT_CODE = 1;

export class Deadline {
  #title;
  #minutes;
  #underWay;
  #timer;

  /** `underWay` resolves with lines about the work within the steps. */
  constructor(title, minutes, underWay = async () => []) {
    this.#title = title;
    this.#minutes = minutes;
    this.#underWay = underWay;
    process.env[MARK] ??= randomUUID();
    process.env[ENDS] ??= String(Date.now() + minutes * 60_000);
    this.resume();
  }

  /** Pauses until `resume`, while the script continues in another process with the same deadline. */
  pause() {
    clearTimeout(this.#timer);
  }

  resume() {
    this.#timer = setTimeout(() => this.#end(), Number(process.env[ENDS]) - Date.now()).unref();
  }

  async #end() {
    say(`\n${this.#title} did not end within ${this.#minutes} minutes and was stopped. It was waiting for:`);
    for (const line of [...stepsUnderWay(), ...(await this.#underWay())]) say(`  ${line}`);
    // All at once, so that no program continues with its next step.
    endAll();
    killAllWith(MARK, process.env[MARK]);
    process.exit(EXIT_CODE);
  }
}
