// The state of the repository that a release is made from.
import { ask, run } from "../lib/run.mjs";

/** Returns the checked-out commit; `null` outside of a repository. */
export const headCommit = (directory) => ask("git", ["rev-parse", "HEAD"], { cwd: directory });

/** Returns the time of the checked-out commit, in ISO 8601, so that documents of one commit are equal; now, outside of a repository. */
export async function headTime(directory) {
  const seconds = await ask("git", ["log", "-1", "--format=%ct"], { cwd: directory });
  return (seconds === null ? new Date() : new Date(Number(seconds) * 1000)).toISOString();
}

/** Rejects if there are changes that are not committed. */
export async function requireCleanTree(directory) {
  const { stdout } = await run("git", ["status", "--porcelain"], { cwd: directory });
  if (stdout !== "") throw new Error(`there are changes that are not committed; commit or stash them, then run this again:\n${stdout.trimEnd()}`);
}

/** Rejects if there is a tag of this name. */
export async function requireNoTag(directory, tag) {
  const found = await ask("git", ["rev-parse", "--verify", "--quiet", `refs/tags/${tag}`], { cwd: directory });
  if (found !== null) throw new Error(`the tag ${tag} exists: a released version never changes, so choose the next one`);
}

/** Commits all changes and tags the commit. */
export async function commitAndTag(directory, { message, tag }) {
  await run("git", ["commit", "--quiet", "--all", "--message", message], { cwd: directory });
  await run("git", ["tag", "--annotate", tag, "--message", message], { cwd: directory });
}
