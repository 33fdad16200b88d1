// Repositories of git over HTTPS, and the requests of a registry of modules beside them.
import { spawn } from "node:child_process";
import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";

import { runs } from "./programs.mjs";

/** Answers a request below `/git/` as git's own server does, from the repositories in a directory. */
export function serveGit(directory, request, response) {
  const url = new URL(request.url, "https://localhost");
  const env = {
    ...process.env,
    GIT_PROJECT_ROOT: directory,
    GIT_HTTP_EXPORT_ALL: "1",
    PATH_INFO: url.pathname.replace("/git", ""),
    QUERY_STRING: url.search.slice(1),
    REQUEST_METHOD: request.method,
    CONTENT_TYPE: request.headers["content-type"] ?? "",
    HTTP_CONTENT_ENCODING: request.headers["content-encoding"] ?? "",
    GIT_PROTOCOL: request.headers["git-protocol"] ?? "",
  };
  const git = spawn("git", ["http-backend"], { env });
  const chunks = [];
  request.pipe(git.stdin);
  git.stdin.on("error", () => {});
  git.stdout.on("data", (chunk) => chunks.push(chunk));
  git.on("close", () => {
    const answer = Buffer.concat(chunks);
    const end = answer.indexOf("\r\n\r\n");
    const headers = answer.subarray(0, Math.max(end, 0)).toString().split("\r\n").filter(Boolean).map((line) => line.split(": "));
    const status = Number.parseInt(headers.find(([name]) => name === "Status")?.[1] ?? "200", 10);
    response.writeHead(end < 0 ? 500 : status, Object.fromEntries(headers.filter(([name]) => name !== "Status")));
    response.end(answer.subarray(end + 4));
  });
}

/** A repository in `directory`/NAME.git. */
export class Repository {
  constructor(directory, name) {
    this.directory = join(directory, `${name}.git`);
  }

  async git(...args) {
    const { stdout } = await runs("git", ["-c", "user.name=a", "-c", "user.email=a@b.example", ...args], { cwd: this.directory });
    return stdout.toString().trim();
  }

  /** Commits files, and moves an annotated tag there. Returns the commit. */
  async commits(files, tag) {
    await mkdir(this.directory, { recursive: true });
    await this.git("init", "--quiet");
    for (const [name, text] of Object.entries(files)) {
      await mkdir(dirname(join(this.directory, name)), { recursive: true });
      await writeFile(join(this.directory, name), text);
    }
    await this.git("add", "--force", ".");
    await this.git("commit", "--quiet", "--allow-empty", "-m", tag);
    await this.git("tag", "--force", "-a", tag, "-m", tag);
    return this.git("rev-parse", "HEAD");
  }
}
