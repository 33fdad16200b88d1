// Checks that the floor does the same work: its answers and log lines must equal the Worker's, byte for byte.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";

/**
 * The number of tries. Signed URLs contain the second of their creation, so two answers can differ if that
 * second passes in between.
 */
const TRIES = 5;

/** Compares both answers to a request, and returns the Worker's. */
export async function sameAnswer({ name, status }, request, ours, floor) {
  let answers;
  for (let tried = 0; tried < TRIES; tried += 1) {
    answers = await Promise.all([ours, floor].map((connection) => connection.ask(request, { keep: true })));
    if (answers[0].body.equals(answers[1].body)) break;
  }
  const [[own, expected], [floors, found]] = answers.map((answer) => [answer, { headers: headersOf(answer), body: answer.body.toString() }]);
  assert.equal(own.status, status, `${name}: the Worker answers ${own.status}: ${expected.body}`);
  assert.equal(floors.status, status, `${name}: the floor answers ${floors.status}: ${found.body}`);
  assert.deepEqual(found, expected, `${name}: the floor's answer differs from the Worker's`);
  return own;
}

/** Returns the status line and all headers, sorted. */
const headersOf = ({ head }) => head.split("\r\n").sort();

export const etagOf = ({ head }) => /^etag: *(.+)$/im.exec(head)?.[1];

/** Compares the log lines of both, except durations, and lookups in R2 that each repeats when 30 seconds have passed. */
export async function sameLog(ours, floor) {
  const [expected, found] = await Promise.all([ours, floor].map(({ logFile }) => linesOf(logFile)));
  assert.deepEqual(found, expected, "the floor's log differs from the Worker's");
}

async function linesOf(file) {
  const lines = (await readFile(file, "utf8")).split("\n").filter((line) => line.startsWith('{"route"'));
  const timeless = lines.map((line) => line.replaceAll(/"((?:\w+_)?ms)":\d+/g, '"$1":0'));
  return timeless.map((line) => (line.includes('"index":"miss"') ? line.replace(/"r2":\d+/, '"r2":0') : line)).sort();
}
