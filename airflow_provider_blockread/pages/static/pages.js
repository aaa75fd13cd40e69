"use strict";

// Light and dark.
const root = document.documentElement;
document.querySelector("[data-theme-switch]")?.addEventListener("click", () => {
  const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark";
  localStorage.setItem("blockread-theme", root.dataset.theme);
});

// Airflow shows pages in a frame that cannot open others; its own document can. Its header is above.
const framed = window.parent !== window;
root.classList.toggle("framed", framed);
document.addEventListener("click", (event) => {
  const out = event.target.closest?.("a[data-out]");
  if (!framed || !out || event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
  event.preventDefault();
  const link = window.parent.document.createElement("a");
  link.href = out.href;
  if (out.origin !== location.origin) Object.assign(link, { target: "_blank", rel: "noopener noreferrer" });
  window.parent.document.body.append(link);
  link.click();
  link.remove();
});

// The exact time on hover, also in the reader's own zone, and by a switch for all times, since there are fingers and keys.
const times = document.querySelector("[data-times]");
function showTimes(within) {
  const exactly = localStorage.getItem("blockread-times") === "exact";
  times?.setAttribute("aria-pressed", String(exactly));
  for (const time of within.querySelectorAll("time[title]")) {
    if (!time.dataset.words) {
      Object.assign(time.dataset, { words: time.textContent, exact: time.title });
      time.title += ` · ${new Date(time.dateTime).toLocaleString()} here`;
    }
    time.textContent = exactly ? time.dataset.exact : time.dataset.words;
  }
}
times?.addEventListener("click", () => {
  localStorage.setItem("blockread-times", times.ariaPressed === "true" ? "words" : "exact");
  showTimes(document);
});
showTimes(document);

// A strip or a calendar says below it what the pointer or the focus is on. It is one stop of the Tab key; arrows lead
// along it.
const STRIPS = "svg.strip, svg.chart, .calendar";
function readOut(event) {
  const strip = event.target.closest?.(STRIPS);
  const line = strip?.nextElementSibling;
  if (!line?.matches(".readout")) return;
  line.dataset.title ??= line.textContent;
  const on = event.type === "pointerout" ? document.activeElement : event.target;
  const piece = on.closest?.("a, [role=img]");
  line.textContent = strip.contains(piece) ? piece.getAttribute("aria-label") ?? piece.title : line.dataset.title;
}
for (const type of ["pointerover", "pointerout", "focusin"]) document.addEventListener(type, readOut);
function oneStop(within) {
  for (const strip of within.querySelectorAll(STRIPS)) {
    strip.querySelectorAll("a").forEach((link, index) => link.setAttribute("tabindex", index ? "-1" : "0"));
  }
}
oneStop(document);
document.addEventListener("keydown", (event) => {
  const strip = event.target.closest?.(STRIPS);
  if (!strip || event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return;
  const links = [...strip.querySelectorAll("a")];
  const at = links.indexOf(event.target);
  const next = links[{ ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: links.length - 1 }[event.key]];
  if (!next) return;
  event.preventDefault();
  event.target.setAttribute("tabindex", "-1");
  next.setAttribute("tabindex", "0");
  next.focus();
});

// Commands to copy.
document.addEventListener("click", async (event) => {
  const button = event.target.closest?.("button[data-copy]");
  if (!button) return;
  const text = button.parentElement.querySelector("code").textContent;
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const range = document.createRange();
    range.selectNodeContents(button.parentElement.querySelector("code"));
    getSelection().removeAllRanges();
    getSelection().addRange(range);
    document.execCommand("copy");
  }
  button.textContent = "copied";
  setTimeout(() => { button.textContent = "copy"; }, 1500);
});

// What moves is asked for again, until nothing moves; then the page is reloaded, since more than this has changed. What
// a person has opened, scrolled or begun to write stays: the page is not reloaded under an open dialog.
const FOCUSABLE = "a, button, summary, .scroll, .bytes";
const KEPT = "details, .scroll, .bytes";
const live = document.querySelector("[data-live]");
async function look() {
  if (document.hidden) return setTimeout(look, 2000);
  let over = false;
  try {
    const answer = await fetch(live.dataset.live, { headers: { accept: "application/json" } });
    if (answer.ok) {
      const now = await answer.json();
      if (now.html !== live.dataset.shown) {
        const left = [...live.querySelectorAll(KEPT)].map((one) => [one.open, one.scrollLeft, one.scrollTop]);
        const focused = [...live.querySelectorAll(FOCUSABLE)].indexOf(document.activeElement);
        live.innerHTML = now.html;
        live.dataset.shown = now.html;
        showTimes(live);
        oneStop(live);
        live.querySelectorAll(KEPT).forEach((one, index) => {
          const [open, across, down] = left[index] ?? [];
          if (open) one.open = true;
          one.scrollTo({ left: across ?? 0, top: down ?? 0, behavior: "instant" });
        });
        live.querySelectorAll(FOCUSABLE)[focused]?.focus({ preventScroll: true });
      }
      over = !now.moving || now.state !== live.dataset.state;
    } else {
      over = answer.status < 500; // signed out, or the window is gone: the page says so
    }
    if (over && !document.querySelector("dialog[open]")) return location.reload();
  } catch { /* the server is away; it is asked again */ }
  return setTimeout(look, 2000);
}
if (live?.dataset.moving === "true") setTimeout(look, 2000);

// A search covers the files seen last first; while it has found none, it goes on by itself.
async function lookFurther() {
  const found = document.querySelector(".found:not(:has(tbody))");
  const link = found?.querySelector("a[data-further]");
  if (!link) return;
  try {
    const page = new DOMParser().parseFromString(await (await fetch(link.href)).text(), "text/html");
    found.replaceWith(page.querySelector(".found") ?? page.querySelector(".empty") ?? found);
  } catch { return; /* the server is away; the link stays */ }
  if (!found.isConnected) await lookFurther();
}
lookFurther();
