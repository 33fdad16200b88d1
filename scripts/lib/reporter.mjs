// What `node --test` prints for tests.mjs: failures, the reasons of skipped tests, diagnostics, and the counts as JSON in the last line.
import { relative } from "node:path";
import { inspect } from "node:util";

/** The lines that Node adds at the end. */
const TOTALS = /^(tests|suites|pass|fail|cancelled|skipped|todo|duration_ms) [\d.]+$/;

export default async function* report(events) {
  const counts = { passed: 0, failed: 0, skipped: 0 };
  for await (const { type, data } of events) {
    const isSuite = data.details?.type === "suite";
    if (type === "test:diagnostic" && !TOTALS.test(data.message)) yield `# ${data.message}\n`;
    if (type === "test:stderr") yield data.message;
    if (type === "test:pass" && data.skip !== undefined) {
      counts.skipped += 1;
      yield `skipped: ${data.name}: ${data.skip || "no reason given"}\n`;
    } else if (type === "test:pass" && !isSuite) {
      counts.passed += 1;
    } else if (type === "test:fail" && !(isSuite && /subtests? failed/.test(data.details.error.message))) {
      counts.failed += 1;
      const reason = inspect(data.details.error.cause ?? data.details.error).replaceAll("\n", "\n    ");
      yield `failed: ${relative(process.cwd(), data.file ?? "")}: ${data.name}\n    ${reason}\n`;
    }
  }
  yield `${JSON.stringify(counts)}\n`;
}
