/** Returns the maximum number of intervals, each a begin and an end, that follow each other without an overlap. */
export function inARow(intervals) {
  let [count, last] = [0, -Infinity];
  for (const [began, ended] of intervals.toSorted((one, other) => one[1] - other[1])) {
    if (began < last) continue;
    count += 1;
    last = ended;
  }
  return count;
}
