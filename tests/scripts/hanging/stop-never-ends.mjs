import { after, test } from "../../clients/support/testing.mjs";
import { forever } from "./support.mjs";

after(forever, "stop that never ends");
after(() => console.log("# the hook before it has run"));

test("a test passes", () => {});
