// The command bar: opened by its button, Ctrl K or Cmd K, moved through by arrows. The server finds, this only chooses.
(() => {
  "use strict";
  const bar = document.getElementById("command");
  if (!bar?.showModal) return;
  const input = bar.querySelector("input");
  const list = document.getElementById("command-results");
  const isMac = /Mac|iP(hone|ad)/.test(navigator.platform);
  if (isMac) for (const key of document.querySelectorAll("[data-command] kbd")) key.textContent = "⌘ K";
  let isWaiting = false; // Enter was pressed before the answer to what is typed had come

  const options = () => [...list.querySelectorAll("[role=option]")];
  const chosen = () => list.querySelector("[aria-selected=true]");
  const isFresh = () => list.firstElementChild?.dataset.q === input.value.trim();

  function choose(option) {
    for (const each of options()) each.setAttribute("aria-selected", String(each === option));
    input.setAttribute("aria-expanded", String(Boolean(option)));
    input.setAttribute("aria-activedescendant", option?.id ?? "");
    option?.scrollIntoView({ block: "nearest" });
  }

  function open() {
    isWaiting = false;
    if (!bar.open) bar.showModal();
    input.select();
    input.dispatchEvent(new Event("command:open"));
  }

  document.addEventListener("click", (event) => {
    if (!event.target.closest("[data-command]") || event.metaKey || event.ctrlKey || event.shiftKey) return;
    event.preventDefault();
    open();
  });

  document.addEventListener("keydown", (event) => {
    const held = isMac ? event.metaKey : event.ctrlKey;
    if (!held || event.altKey || event.shiftKey || event.key.toLowerCase() !== "k") return;
    event.preventDefault();
    open();
  });

  input.addEventListener("keydown", (event) => {
    if (event.isComposing) return;
    const all = options();
    const at = all.indexOf(chosen());
    const to = { ArrowDown: (at + 1) % all.length, ArrowUp: (at - 1 + all.length) % all.length }[event.key];
    if (to !== undefined && all.length) {
      event.preventDefault();
      choose(all[to]);
    } else if (event.key === "Enter") {
      if (!isFresh()) isWaiting = true;
      else if (at >= 0) all[at].click();
      else return; // nothing found: the form leads to the page, which says so
      event.preventDefault();
    }
  });

  list.addEventListener("pointermove", (event) => {
    const option = event.target.closest("[role=option]");
    if (option && option !== chosen()) choose(option);
  });

  document.addEventListener("htmx:afterSwap", (event) => {
    if (event.detail.target !== list) return;
    choose(options()[0]);
    if (isWaiting && isFresh()) chosen()?.click();
    if (isFresh()) isWaiting = false;
  });
})();
