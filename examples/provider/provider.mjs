// The provider, as Terraform calls it: one function for each RPC of plugin protocol 6.

import { decode, encode } from "@msgpack/msgpack";

import { greeting } from "./greeting.mjs";

const dataSources = { hello_greeting: greeting };

export const provider = {
  GetProviderSchema() {
    return {
      provider: { block: {} },
      data_source_schemas: mapValues(dataSources, ({ schema }) => schema),
      // The schema is constant, so Terraform may request it once and cache it.
      server_capabilities: { get_provider_schema_optional: true },
    };
  },

  ValidateProviderConfig: () => ({}),

  ConfigureProvider: () => ({}),

  ValidateDataResourceConfig({ type_name, config }) {
    return { diagnostics: dataSources[type_name].validate(decode(config.msgpack)) };
  },

  ReadDataSource({ type_name, config }) {
    const state = dataSources[type_name].read(decode(config.msgpack));
    return { state: { msgpack: encode(state) } };
  },

  // A request to stop running operations: nothing here takes long enough to be stopped.
  StopProvider: () => ({}),
};

function mapValues(object, change) {
  return Object.fromEntries(Object.entries(object).map(([key, value]) => [key, change(value)]));
}
