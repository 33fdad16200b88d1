// Reloads the page when the files have changed.
const shown = document.currentScript.dataset.revision;

setInterval(async () => {
  try {
    const response = await fetch("/_preview/revision", { cache: "no-store" });
    if (response.ok && (await response.text()) !== shown) location.reload();
  } catch {
    // The preview has ended. If it starts again, the page reloads.
  }
}, 1000);
