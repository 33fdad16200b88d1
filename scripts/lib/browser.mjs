// A browser for the tests of the pages; only the tests need it.
import { aptInstall, aptOffers } from "./apt.mjs";
import { isOnPath, onPath } from "./run.mjs";
import { say, step } from "./step.mjs";

/** The names of the browser that the tests control. */
export const BROWSERS = ["chromium", "chromium-browser", "google-chrome"];

/** Returns the path of the browser. */
export const browserProgram = () => BROWSERS.map(onPath).find(Boolean);

/** Installs a browser if none is present and apt can. Returns the reason if there is none, keyed by the name that tests use. */
export async function ensureBrowser() {
  // Elsewhere the tests use a browser that is present.
  if (process.platform !== "linux" || BROWSERS.some(isOnPath)) return {};
  try {
    if (!(await aptOffers(["chromium"]))) throw new Error("apt does not offer it, or this user may not install packages");
    await step("installing chromium", (log) => aptInstall(["chromium"], log));
    return {};
  } catch (error) {
    const reason = `chromium is not on PATH, and could not be installed: ${error.output?.trimEnd().split("\n").at(-1) || error.message}`;
    say(`- ${reason}`);
    return { chromium: reason };
  }
}
