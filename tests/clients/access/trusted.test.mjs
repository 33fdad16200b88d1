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
import { scratch } from "../support/scratch.mjs";
import { after, before, test } from "../support/testing.mjs";

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
});
