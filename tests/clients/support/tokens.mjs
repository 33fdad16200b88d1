// API tokens.

/** Creates a token by the admin API. */
export async function createToken(registry, ...scopes) {
  const body = JSON.stringify({ name: "a test", scopes, expires_in: 3600 });
  const { status, answer } = await registry.admin("POST", "/admin/v1/tokens", body);
  if (status !== 201) throw new Error(`creating a token answers ${status}: ${JSON.stringify(answer)}`);
  return answer;
}
