// The catalogue on workerd: 64 packages of one owner that are published at once.
import assert from "node:assert/strict";

import { module, saying } from "../support/releases.mjs";
import { describe, test } from "../support/testing.mjs";
import { useWatchedRegistry } from "../support/watched.mjs";

const CROWD = 64;

describe("the catalogue", () => {
  const registry = useWatchedRegistry();

  test(`${CROWD} modules of one namespace that are published concurrently are all listed`, async () => {
    const names = Array.from({ length: CROWD }, (_, number) => `network${number}`);
    const releases = names.map((name) => module({ address: `acme/${name}/aws`, version: "1.0.0", files: saying(name) }));
    const answers = await Promise.all(releases.map(async (release) => registry.publish(await release)));
    assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([201]));
    const lines = async () => {
      const indices = await registry.indices();
      const text = indices.find(({ key }) => key === "catalog/acme").text;
      // A header, the lines of packages, and an empty line.
      const [, ...packages] = text.split("\n\n")[0].split("\n");
      return packages.map((line) => JSON.parse(line)[0]);
    };
    const wanted = names.map((name) => `modules/acme/${name}/aws`).sort();
    assert.deepEqual(await lines(), wanted);
    // The catalogue of all owners is built in turns, of which five may follow each other.
    const { operations } = await registry.watched();
    const merged = operations.filter(({ name, key }) => name === "KV put" && key.startsWith("merged-catalog/"));
    assert.ok(merged.length >= 1 && merged.length <= 5, `${merged.length} rebuilds`);
  });
});
