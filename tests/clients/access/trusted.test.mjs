// Trusted publishing: jobs publish with the token of their CI, and no other secret.
import assert from "node:assert/strict";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

import { cli } from "../../../scripts/build.mjs";
import { openActions } from "../support/actions.mjs";
import { openIssuer } from "../support/issuer.mjs";
import { run } from "../support/programs.mjs";
import { inBothModes, useRegistry } from "../support/registry.mjs";
import { HERE, provider } from "../support/releases.mjs";
import { scratch } from "../support/scratch.mjs";
import { newKey } from "../support/signing.mjs";
import { after, before, describe, test } from "../support/testing.mjs";

const PATIENCE_MS = 10_000;

/** The claims of GitHub's and GitLab's tokens. */
const github = (repository, ref = "refs/tags/v1.0.0") => ({
  sub: `repo:${repository}:environment:release`,
  repository,
  repository_owner: repository.split("/")[0],
  repository_owner_id: "1001",
  ref,
  ref_type: "tag",
  environment: "release",
  event_name: "push",
  job_workflow_ref: `${repository}/.github/workflows/release.yml@${ref}`,
  runner_environment: "github-hosted",
});
const gitlab = (project, isProtected = "true") => ({
  sub: `project_path:${project}:ref_type:tag:ref:v1.0.0`,
  namespace_path: project.split("/").slice(0, -1).join("/"),
  project_path: project,
  ref: "v1.0.0",
  ref_type: "tag",
  ref_protected: isProtected,
  runner_id: 1,
});

const JOBS = {
  github: github("acme/terraform-aws-vpc"),
  fork: github("evil/terraform-aws-vpc"),
  "look-alike": github("\u{430}cme/terraform-aws-vpc"),
  branch: github("acme/terraform-aws-vpc", "refs/heads/main"),
  gitlab: gitlab("acme/infra/terraform-aws-network"),
  unprotected: gitlab("acme/infra/terraform-aws-network", "false"),
};

const rules = (issuer) => [
  {
    scopes: ["publish:acme"],
    issuer,
    // This issuer imitates GitHub's, but has another name.
    identifies: true,
    claims: { repository: "acme/terraform-aws-vpc", ref: "refs/tags/v*", environment: "release" },
  },
  { scopes: ["publish:infra"], issuer, claims: { project_path: "acme/infra/terraform-*", ref_type: "tag", ref_protected: "true" } },
];

/** Starts an issuer and a registry that trusts its jobs, and runs the command as a step of such a job. */
function useTrust({ mode, asText = false }) {
  const directory = scratch();
  const module = join(directory, "module");
  const found = { directory };
  before(async () => {
    found.issuer = await openIssuer({ directory: join(directory, "issuer"), jobs: JOBS });
    await mkdir(module);
    await writeFile(join(module, "main.tf"), 'output "says" {\n  value = "hello"\n}\n');
  });
  after(() => found.issuer?.stop());
  found.registry = useRegistry(() => {
    const trusted = rules(found.issuer.url);
    const vars = { TERRACE_TRUSTED_PUBLISHERS: asText ? JSON.stringify(trusted) : trusted };
    // Each thread fetches keys of its own.
    return { mode, trusts: found.issuer.ca, vars, args: ["--threads", "1"] };
  });

  /** Publishes a module with only the token in the environment of a CI. */
  found.publishes = async (address, env) => {
    const inherited = Object.entries(process.env).filter(([name]) => !/^(TERRACE|ACTIONS)_/.test(name));
    const args = ["publish", "module", module, "--address", address, "--version", "1.0.0", "--json", "--retries", "0"];
    const ended = await run(cli, args, {
      env: { ...Object.fromEntries(inherited), TERRACE_URL: found.registry.url, ...env },
    });
    return { ...ended, report: JSON.parse(ended.stdout.toString()) };
  };

  /** Waits for a line of the registry's log, which arrives a moment later. */
  found.logs = async (pattern) => {
    const deadline = Date.now() + PATIENCE_MS;
    for (;;) {
      const log = await readFile(found.registry.logFile, "utf8");
      if (pattern.test(log)) return;
      assert.ok(Date.now() < deadline, log);
      await sleep(100);
    }
  };
  return found;
}

/** Returns the versions of a module. */
async function versionsOf(registry, address) {
  const response = await registry.request(`/v1/modules/${address}/versions`);
  if (response.status === 404) return [];
  return (await response.json()).modules[0].versions.map(({ version }) => version);
}

inBothModes((mode) => {
  // One registry has the rules as a list, as in wrangler.toml, the other as a text, as in the dashboard.
  const trust = useTrust({ mode, asText: mode === "worker" });

  test("a job of GitHub Actions publishes a module", async (t) => {
    const actions = await openActions((audience) => trust.issuer.tokenOf("github", audience));
    t.after(actions.stop);
    const { code, output, report } = await trust.publishes("acme/vpc/aws", actions.env);
    assert.equal(code, 0, output);
    assert.equal(report.status, "created");
    assert.deepEqual(await versionsOf(trust.registry, "acme/vpc/aws"), ["1.0.0"]);
    await trust.logs(/access: token [0-9a-f]{16} issued to "repo:acme\/terraform-aws-vpc:environment:release" of "https:.* for publish:acme/);
    // The token given to the job grants nothing else.
    const other = await trust.publishes("infra/vpc/aws", actions.env);
    assert.equal(other.code, 5, other.output);
    assert.match(other.report.errors[0], /requires the scope publish:infra, admin:infra or admin; the token has publish:acme/);
  });

  test("a job of GitLab CI publishes a module", async () => {
    const token = await trust.issuer.tokenOf("gitlab", trust.registry.url);
    const { code, output } = await trust.publishes("infra/network/aws", { TERRACE_ID_TOKEN: token });
    assert.equal(code, 0, output);
    assert.deepEqual(await versionsOf(trust.registry, "infra/network/aws"), ["1.0.0"]);
  });

  for (const [what, job, pattern] of [
    ["another repository", "fork", /"repository" to be "acme\/terraform-aws-vpc", and found "evil\/terraform-aws-vpc"/],
    ["a repository that looks like it", "look-alike", /and found "\\u\{430\}cme\/terraform-aws-vpc"/],
    ["a branch", "branch", /"ref" to be "refs\/tags\/v\*", and found "refs\/heads\/main"/],
    ["a tag that is not protected", "unprotected", /"ref_protected" to be "true", and found "false"/],
  ]) {
    test(`a job of ${what} is refused, and only the log has the reason`, async () => {
      const token = await trust.issuer.tokenOf(job, trust.registry.url);
      const { code, output, report } = await trust.publishes("acme/stolen/aws", { TERRACE_ID_TOKEN: token });
      assert.equal(code, 5, output);
      assert.match(report.errors[0], /^the registry does not trust this CI job: check the rules in its TERRACE_TRUSTED_PUBLISHERS/);
      assert.doesNotMatch(output, /refs|repository|protected/);
      await trust.logs(pattern);
      assert.deepEqual(await versionsOf(trust.registry, "acme/stolen/aws"), []);
    });
  }

  test("a token for another registry is refused", async () => {
    const token = await trust.issuer.tokenOf("github", "https://registry.example.com");
    const { code, output } = await trust.publishes("acme/stolen/aws", { TERRACE_ID_TOKEN: token });
    assert.equal(code, 5, output);
    await trust.logs(/its audience is "https:\/\/registry\.example\.com", not "http:\/\/127\.0\.0\.1/);
  });

  test("a modified token is refused", async () => {
    const [header, , signature] = (await trust.issuer.tokenOf("fork", trust.registry.url)).split(".");
    const [, claims] = (await trust.issuer.tokenOf("github", trust.registry.url)).split(".");
    const { code, output } = await trust.publishes("acme/stolen/aws", { TERRACE_ID_TOKEN: [header, claims, signature].join(".") });
    assert.equal(code, 5, output);
    await trust.logs(/its signature is invalid/);
  });

  test("the keys of the issuer are fetched once", () => {
    assert.equal(trust.issuer.asked.filter((path) => path === "/jwks").length, 1);
  });
});

describe("an issuer with invalid answers", () => {
  const trust = useTrust({ mode: "worker" });

  test("gets no request for its redirect, and is asked again after a while", async () => {
    trust.issuer.answers = (path, response) => {
      if (path !== "/jwks") return false;
      response.writeHead(302, { location: `${trust.issuer.url}/elsewhere` }).end();
      return true;
    };
    const token = await trust.issuer.tokenOf("github", trust.registry.url);
    const { code, output } = await trust.publishes("acme/vpc/aws", { TERRACE_ID_TOKEN: token });
    assert.equal(code, 6, output);
    await trust.logs(/cannot be verified: .*\/jwks answers with status 302/);
    assert.ok(!trust.issuer.asked.includes("/elsewhere"));
    trust.issuer.answers = () => false;
    await sleep(5_500);
    const again = await trust.publishes("acme/vpc/aws", { TERRACE_ID_TOKEN: token });
    assert.equal(again.code, 0, again.output);
  });
});

describe("a provider", () => {
  const trust = useTrust({ mode: "presigned" });

  test("is published by a job that exchanges its token itself", async () => {
    const key = await newKey(trust.directory);
    await trust.registry.trusts("acme", key);
    const form = new URLSearchParams({
      grant_type: "urn:ietf:params:oauth:grant-type:token-exchange",
      subject_token: await trust.issuer.tokenOf("github", trust.registry.url),
      subject_token_type: "urn:ietf:params:oauth:token-type:id_token",
    });
    const answer = await trust.registry.request("/oauth/exchange", { method: "POST", body: form });
    assert.equal(answer.status, 200);
    const given = await answer.json();
    assert.ok(given.expires_in > 290 && given.expires_in <= 300, given.expires_in);
    const release = await provider({ address: "acme/hello", version: "1.0.0", key, platforms: [HERE] });
    const init = { method: "PUT", headers: { authorization: `Bearer ${given.access_token}` }, body: JSON.stringify(release.body) };
    assert.equal((await trust.registry.request(release.path, init)).status, 202);
  });
});
