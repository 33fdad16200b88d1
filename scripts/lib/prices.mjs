// What Cloudflare takes for what, in US dollars, on the plan Workers Paid. One place: docs/cost.md is made of it.

/** Of when the pages below are that these prices were taken from. They change: look again before you rely on a bill. */
export const LOOKED_UP = "August to November 2026";

export const SOURCES = {
  Workers: "https://developers.cloudflare.com/workers/platform/pricing/",
  "Workers KV": "https://developers.cloudflare.com/kv/platform/pricing/",
  R2: "https://developers.cloudflare.com/r2/pricing/",
  "Workers Logs": "https://developers.cloudflare.com/workers/observability/logs/workers-logs/#pricing",
};

/** What an account pays each month for the plan itself. */
export const PLAN = 5;

/**
 * Of each unit how many are included in a month, and what a million more costs; of storage what a gigabyte more costs. `step`
 * is what usage is rounded up to, where the platform says that it is.
 */
export const PRICES = {
  requests: { of: "Workers", unit: "requests", included: 10e6, price: 0.3, per: 1e6 },
  cpu: { of: "Workers", unit: "milliseconds of CPU", included: 30e6, price: 0.02, per: 1e6 },
  kvReads: { of: "Workers KV", unit: "reads", included: 10e6, price: 0.5, per: 1e6 },
  kvWrites: { of: "Workers KV", unit: "writes", included: 1e6, price: 5, per: 1e6 },
  kvDeletes: { of: "Workers KV", unit: "deletes", included: 1e6, price: 5, per: 1e6 },
  kvLists: { of: "Workers KV", unit: "lists", included: 1e6, price: 5, per: 1e6 },
  kvStored: { of: "Workers KV", unit: "GB stored", included: 1, price: 0.5, per: 1 },
  r2A: { of: "R2", unit: "operations of class A (put, copy, list)", included: 1e6, price: 4.5, per: 1e6, step: 1e6 },
  r2B: { of: "R2", unit: "operations of class B (get, head)", included: 10e6, price: 0.36, per: 1e6, step: 1e6 },
  r2Stored: { of: "R2", unit: "GB stored", included: 10, price: 0.015, per: 1, step: 1 },
  logs: { of: "Workers Logs", unit: "events", included: 20e6, price: 0.6, per: 1e6 },
};

/** What the plan Workers Free allows in a day. Beyond it requests fail. */
export const FREE_A_DAY = { requests: 100_000, kvReads: 100_000, kvWrites: 1_000, kvDeletes: 1_000, kvLists: 1_000, logs: 200_000 };

/** What one unit costs in a month. */
export function priceOf(name, used) {
  const { included, price, per, step } = PRICES[name];
  const charged = Math.max(0, used - included);
  const rounded = step ? Math.ceil(charged / step) * step : charged;
  return (rounded / per) * price;
}
