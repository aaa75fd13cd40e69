"use strict";

// An action opens over its page: what it will do is fetched, shown in a dialog and confirmed there once. Without this
// script, and where the fetch fails, the same opens as a page of its own.
async function show(dialog, address) {
  const answer = await fetch(address, { headers: { accept: "text/html" } });
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  const found = page.querySelector(".action");
  if (!found) throw new Error("no action");
  dialog.replaceChildren(found);
  if (!dialog.open) dialog.showModal();
  (dialog.querySelector("input:not([type=hidden]), select, a[data-close]"))?.focus();
}
document.addEventListener("click", async (event) => {
  const link = event.target.closest?.("a[data-dialog]");
  const close = event.target.closest?.("dialog a[data-close]");
  if (event.ctrlKey || event.metaKey || event.shiftKey || event.button || !(link || close)) return;
  event.preventDefault();
  if (close) return close.closest("dialog").close();
  if (document.querySelector("dialog")) return; // of the first click of two
  const dialog = document.createElement("dialog");
  dialog.setAttribute("aria-labelledby", "action-title");
  dialog.addEventListener("close", () => { dialog.remove(); link.focus(); });
  document.body.append(dialog);
  try {
    await show(dialog, link.href);
  } catch {
    dialog.remove();
    location.assign(link.href);
  }
});
document.addEventListener("submit", async (event) => {
  const dialog = event.target.closest("dialog");
  if (!dialog || event.target.method !== "get") return;
  event.preventDefault();
  const address = new URL(event.target.action);
  address.search = new URLSearchParams(new FormData(event.target));
  try {
    await show(dialog, address);
  } catch {
    location.assign(address);
  }
});

// An action is sent once, however long it takes; a page that the browser has kept may send it again.
function allowSending(within, allowed) {
  for (const button of within.querySelectorAll("button")) button.disabled = !allowed;
}
document.addEventListener("submit", (event) => {
  if (event.target.method === "post") allowSending(event.target, false);
});
window.addEventListener("pageshow", (event) => {
  if (event.persisted) document.querySelectorAll("form[method=post]").forEach((form) => allowSending(form, true));
});
