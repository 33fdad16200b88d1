// Kills workerd during publishes. TERRACE_KILLS sets the number of kills (10 by default).
import { defineKills } from "../support/kills.mjs";
import { MODES } from "../support/registry.mjs";
import { describe } from "../support/testing.mjs";
import { useWatchedRegistry } from "../support/watched.mjs";

const KILLS = Math.ceil(Number(process.env.TERRACE_KILLS ?? 10) / MODES.length);
const PUBLISHERS = 4;

const isLinux = process.platform === "linux";

for (const mode of MODES) {
  describe(`${mode} URLs`, { skip: !isLinux && "finding workerd takes Linux" }, () => {
    defineKills(useWatchedRegistry({ mode }), { kills: KILLS, publishers: PUBLISHERS });
  });
}
