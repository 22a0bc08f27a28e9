// A tree of folders and files by keyboard: up and down move through what is visible, right and left unfold and fold a folder or go into
// and out of it, Home and End go to its ends, and Space follows a link as Enter does. Without script it is links and disclosures.
(() => {
  "use strict";
  const items = (tree) => [...tree.querySelectorAll("summary, a[href]")].filter((item) => item.checkVisibility());
  const folder = (item) => item.closest("ul").closest("details")?.querySelector(":scope > summary");

  document.addEventListener("keydown", (event) => {
    const tree = event.target.closest?.("[data-tree]");
    if (!tree || event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return;
    const item = event.target.closest("summary, a[href]");
    if (!item) return;
    const all = items(tree), at = all.indexOf(item);
    const details = item.matches("summary") ? item.parentElement : null;
    let to = null;
    switch (event.key) {
      case "ArrowDown": to = all[at + 1]; break;
      case "ArrowUp": to = all[at - 1]; break;
      case "Home": to = all[0]; break;
      case "End": to = all.at(-1); break;
      case "ArrowRight":
        if (details && !details.open) details.open = true;
        else if (details) to = details.querySelector(":scope > ul summary, :scope > ul a[href]");
        break;
      case "ArrowLeft":
        if (details?.open) details.open = false;
        else to = folder(item);
        break;
      case " ":
        if (details) return;
        item.click();
        break;
      default: return;
    }
    event.preventDefault();
    to?.focus();
  });
})();
