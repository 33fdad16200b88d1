// Cloudflare's prices, in US dollars, on the plan Workers Paid. docs/cost.md is generated from them.

/** The date of the pages below from which these prices were taken. They change: check again before you rely on a bill. */
export const LOOKED_UP = "August to November 2026";

export const SOURCES = {
  Workers: "https://developers.cloudflare.com/workers/platform/pricing/",
  "Workers KV": "https://developers.cloudflare.com/kv/platform/pricing/",
  R2: "https://developers.cloudflare.com/r2/pricing/",
  "Workers Logs": "https://developers.cloudflare.com/workers/observability/logs/workers-logs/#pricing",
};

/** The monthly price of the plan itself. */
export const PLAN = 5;

/**
 * For each unit: the monthly amount included, and the price of a million more, or of a gigabyte of storage.
 * `step` is the amount to which usage is rounded up, if the platform does so.
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

/** The daily limits of the plan Workers Free. Beyond them, requests fail. */
export const FREE_A_DAY = { requests: 100_000, kvReads: 100_000, kvWrites: 1_000, kvDeletes: 1_000, kvLists: 1_000, logs: 200_000 };

/** Returns the monthly price of the usage of one unit. */
export function priceOf(name, used) {
  const { included, price, per, step } = PRICES[name];
  const charged = Math.max(0, used - included);
  const rounded = step ? Math.ceil(charged / step) * step : charged;
  return (rounded / per) * price;
}
