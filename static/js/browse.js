// Samples by keyboard: J and K go to the next and the previous one, F and D toggle failures and disagreements. Links stay links: a key
// only follows one. On a task's page the left and right arrows do the same; in a list the arrows move along once a row has the focus.
(() => {
  "use strict";
  const STORED = "sample-keys";
  const read = () => { try { return localStorage.getItem(STORED) !== "off"; } catch { return true; } };
  let isOn = read();

  function show() {
    for (const button of document.querySelectorAll("[data-keys]")) {
      button.dataset.keys = isOn ? "on" : "off";
      button.textContent = isOn ? "Keys on" : "Keys off";
    }
  }

  const rows = () => [...document.querySelectorAll("#list .row-link")].map((row) => row.querySelector("a"));

  function move(step) {
    const links = rows();
    if (!links.length) return document.querySelector(`.page-actions a[rel=${step > 0 ? "next" : "prev"}]`)?.click();
    const at = links.indexOf(document.activeElement);
    const to = at < 0 ? (step > 0 ? 0 : links.length - 1) : at + step;
    if (links[to]) links[to].focus();
    else if (to >= links.length) document.querySelector("#list .pagination a[rel=next]")?.focus();
  }

  function toggle(name) {
    const links = [...document.querySelectorAll("[data-browse] .segment")];
    const wanted = links.find((link) => new URL(link.href).searchParams.get("show") === name);
    if (wanted) (wanted.hasAttribute("aria-current") ? links[0] : wanted).click();
  }

  document.addEventListener("click", (event) => {
    if (!event.target.closest("[data-keys]")) return;
    isOn = !isOn;
    try { localStorage.setItem(STORED, isOn ? "on" : "off"); } catch { /* it lasts until the page is left */ }
    show();
  });

  document.addEventListener("keydown", (event) => {
    if (!isOn || event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || event.shiftKey || event.isComposing) return;
    if (event.target.closest("input, textarea, select, dialog, [popover], [contenteditable]")) return;
    const isInRow = rows().includes(document.activeElement);
    const isScrolling = event.target.closest("pre, .table-frame") === event.target;
    const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    if (key === "j" || (key === "ArrowDown" && isInRow) || (key === "ArrowRight" && !rows().length && !isScrolling)) move(1);
    else if (key === "k" || (key === "ArrowUp" && isInRow) || (key === "ArrowLeft" && !rows().length && !isScrolling)) move(-1);
    else if (key === "f") toggle("failures");
    else if (key === "d") toggle("disagreements");
    else return;
    event.preventDefault();
  });

  document.addEventListener("htmx:load", show);
  show();
})();
