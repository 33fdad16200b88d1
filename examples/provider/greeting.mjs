// data "hello_greeting": greets someone, and says which build of the provider did it.

import { release } from "./release.mjs";

const STRING = Buffer.from(JSON.stringify("string"));

export const greeting = {
  schema: {
    block: {
      description: "A greeting, and the build of the provider that gave it.",
      attributes: [
        { name: "name", type: STRING, optional: true, description: "Whom to greet; the world if not given." },
        { name: "message", type: STRING, computed: true, description: "The greeting." },
        { name: "provider_version", type: STRING, computed: true, description: "The version of this provider." },
        { name: "platform", type: STRING, computed: true, description: "The platform it was packaged for." },
      ],
    },
  },

  /** Problems with the configuration, which may hold values that are not known yet. */
  validate({ name }) {
    if (name !== "") return [];
    return [
      {
        severity: "ERROR",
        summary: "Nobody to greet",
        detail: "The name is empty. Leave it out to greet the world.",
        attribute: { steps: [{ attribute_name: "name" }] },
      },
    ];
  },

  /** The configuration's attributes with the computed ones filled in. */
  read({ name }) {
    return {
      name,
      message: `Hello, ${name ?? "world"}!`,
      provider_version: release.version,
      platform: release.platform,
    };
  },
};
