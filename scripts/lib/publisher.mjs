// Publishing as the admin API's documentation describes it.

/** Returns a function for requests to the admin API of the registry at `url`; it returns `{ status, answer }`. */
export const adminOf = (url, token) => async (method, path, body) => {
  const headers = { authorization: `Bearer ${token}` };
  const response = await fetch(new URL(path, url), { method, headers, body });
  return { status: response.status, answer: await response.json() };
};

/**
 * Describes the release, sends the missing archives, and describes it again. Returns the last answer.
 *
 * - `path`, `body`: the request;
 * - `archives`: the bytes by their SHA-256.
 */
export async function publishRelease(admin, { path, body, archives }) {
  const describe = () => admin("PUT", path, JSON.stringify(body));
  const first = await describe();
  if (first.status !== 202) return first;
  for (const { sha256, upload } of first.answer.missing) await send(upload, archives.get(sha256));
  return describe();
}

/** Sends an archive in the form that the registry requested. */
async function send({ method, url, headers }, body) {
  const response = await fetch(url, { method, headers, body });
  if (!response.ok) throw new Error(`${method} ${url} answers ${response.status}: ${await response.text()}`);
}
