// A Worker that does nothing: what a process of the runtime takes that has nothing to load.
export default {
  fetch: () => new Response("{}"),
};
