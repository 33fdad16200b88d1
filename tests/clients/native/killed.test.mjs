// Kills `terrace serve` during publishes into a directory. TERRACE_KILLS sets the number of kills (2 by default).
import { defineKills } from "../support/kills.mjs";
import { useNativeRegistry } from "../support/native.mjs";
import { describe } from "../support/testing.mjs";

const KILLS = Number(process.env.TERRACE_KILLS ?? 2);
const PUBLISHERS = 64;

describe("terrace serve --data", () => {
  defineKills(useNativeRegistry(), { kills: KILLS, publishers: PUBLISHERS });
});
