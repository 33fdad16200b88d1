// Kills `terrace serve` during publishes into a directory. TERRACE_KILLS sets the number of kills (2 by default).
import { defineKills } from "../support/kills.mjs";
import { useRegistry } from "../support/registry.mjs";
import { describe } from "../support/testing.mjs";

const KILLS = Number(process.env.TERRACE_KILLS ?? 2);
const PUBLISHERS = 64;

describe("terrace serve --data", () => {
  defineKills(useRegistry(), { kills: KILLS, publishers: PUBLISHERS });
});
