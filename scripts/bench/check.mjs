// Whether the floor does the same work: its answers and its lines of the log must be the Worker's, byte for byte.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";

/** Signed URLs hold the second in which they were made. Who was asked in the next one is asked again. */
const TRIES = 5;

/** Compares what both answer to a request; returns what that is. */
export async function sameAnswer({ name, status }, request, ours, floor) {
  let answers;
  for (let tried = 0; tried < TRIES; tried += 1) {
    answers = await Promise.all([ours, floor].map((connection) => connection.ask(request, { keep: true })));
    if (answers[0].body.equals(answers[1].body)) break;
  }
  const [[own, expected], [floors, found]] = answers.map((answer) => [answer, { headers: headersOf(answer), body: answer.body.toString() }]);
  assert.equal(own.status, status, `${name}: the Worker answers ${own.status}: ${expected.body}`);
  assert.equal(floors.status, status, `${name}: the floor answers ${floors.status}: ${found.body}`);
  assert.deepEqual(found, expected, `${name}: the floor answers something else`);
  return own;
}

/** The status line and all headers, in one order. */
const headersOf = ({ head }) => head.split("\r\n").sort();

export const etagOf = ({ head }) => /^etag: *(.+)$/im.exec(head)?.[1];

/** Compares what both have logged. How long something took is nobody's promise. */
export async function sameLog(ours, floor) {
  const [expected, found] = await Promise.all([ours, floor].map(({ logFile }) => linesOf(logFile)));
  assert.deepEqual(found, expected, "the floor logs something else");
}

async function linesOf(file) {
  const lines = (await readFile(file, "utf8")).split("\n").filter((line) => line.startsWith('{"route"'));
  return lines.map((line) => line.replaceAll(/"((?:\w+_)?ms)":\d+/g, '"$1":0')).sort();
}
