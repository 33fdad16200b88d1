// A browser for the tests of the pages: for them alone, so that nobody has to have one.
import { aptInstall, aptOffers } from "./apt.mjs";
import { isOnPath } from "./run.mjs";
import { say, step } from "./step.mjs";

/** What the tests drive, by the names that it goes by. */
export const BROWSERS = ["chromium", "chromium-browser", "google-chrome"];

/** Brings one where none is and apt may. Returns why there is none, by the name that tests know it by. */
export async function ensureBrowser() {
  // The terminals that it is needed for are those of Linux.
  if (process.platform !== "linux" || BROWSERS.some(isOnPath)) return {};
  try {
    if (!(await aptOffers(["chromium"]))) throw new Error("apt does not offer it, or we may not install it");
    await step("installing chromium", (log) => aptInstall(["chromium"], log));
    return {};
  } catch (error) {
    const reason = `chromium is not on PATH, and could not be installed: ${error.output?.trimEnd().split("\n").at(-1) || error.message}`;
    say(`- ${reason}`);
    return { chromium: reason };
  }
}
