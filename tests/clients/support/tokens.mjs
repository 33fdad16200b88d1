// API tokens in the registry's own format, so that tests can create expired ones.
import { createHash, createHmac } from "node:crypto";

/** Returns the text of a token. `expires` is in seconds since 1970. */
export function tokenText(adminToken, { id = "0123456789abcdef", scopes, name = "a test", expires = "" }) {
  const key = createHmac("sha256", adminToken).update("terrace API token 1").digest();
  const signed = `terrace_${id}.${Buffer.from(`${expires}\n${scopes.join(" ")}\n${name}`).toString("base64url")}`;
  const whole = `${signed}.${createHmac("sha256", key).update(signed).digest("base64url")}`;
  return `${whole}.${createHash("sha256").update(whole).digest("hex").slice(0, 8)}`;
}

/** Creates a token by the admin API. */
export async function createToken(registry, ...scopes) {
  const body = JSON.stringify({ name: "a test", scopes, expires_in: 3600 });
  const { status, answer } = await registry.admin("POST", "/admin/v1/tokens", body);
  if (status !== 201) throw new Error(`creating a token answers ${status}: ${JSON.stringify(answer)}`);
  return answer;
}
