/** Returns how often each value occurs, such as `{ 200: 3, 409: 1 }`. */
export function counts(values) {
  const found = {};
  for (const value of values) found[value] = (found[value] ?? 0) + 1;
  return found;
}
