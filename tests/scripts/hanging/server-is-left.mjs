import { Cleanup } from "../../../scripts/lib/cleanup.mjs";
import { test } from "../../clients/support/testing.mjs";
import { startStubbornServer } from "./support.mjs";

test("a test forgets a server", () => startStubbornServer(new Cleanup()));
