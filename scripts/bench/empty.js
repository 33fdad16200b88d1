// A Worker that does nothing, to measure the cost of a runtime process that loads no code.
export default {
  fetch: () => new Response("{}"),
};
