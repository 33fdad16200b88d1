// data "hello_greeting": greets a name, and reports which build of the provider did so.

import { release } from "./release.mjs";

const STRING = Buffer.from(JSON.stringify("string"));

export const greeting = {
  schema: {
    block: {
      description: "A greeting, and the build of the provider that gave it.",
      attributes: [
        { name: "name", type: STRING, optional: true, description: "The name to greet; the world by default." },
        { name: "message", type: STRING, computed: true, description: "The greeting." },
        { name: "provider_version", type: STRING, computed: true, description: "The version of this provider." },
        { name: "platform", type: STRING, computed: true, description: "The platform it was packaged for." },
      ],
    },
  },

  /** Returns faults of the configuration, which may contain values that are not known yet. */
  validate({ name }) {
    if (name !== "") return [];
    return [
      {
        severity: "ERROR",
        summary: "Empty name",
        detail: "The name to greet is empty. Omit it to greet the world.",
        attribute: { steps: [{ attribute_name: "name" }] },
      },
    ];
  },

  /** Returns the configuration's attributes with the computed ones. */
  read({ name }) {
    return {
      name,
      message: `Hello, ${name ?? "world"}!`,
      provider_version: release.version,
      platform: release.platform,
    };
  },
};
