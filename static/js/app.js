// The little script of our own: copying, toasts, marking where a file may be dropped, keeping the focus where a fragment takes another's
// place, and saying when a live fragment could not be fetched. Pages work without it.
(() => {
  "use strict";

  document.addEventListener("click", async (event) => {
    const button = event.target.closest("[data-copy]");
    if (!button) return;
    const source = document.getElementById(button.dataset.copy);
    if (!source) return;
    try {
      await navigator.clipboard.writeText("value" in source ? source.value : source.textContent.trim());
      say(button, "Copied");
    } catch {
      const range = document.createRange();
      range.selectNodeContents(source);
      const selection = window.getSelection();
      selection.removeAllRanges();
      selection.addRange(range);
      say(button, "Press Ctrl+C");
    }
  });

  function say(button, words) {
    const label = button.querySelector("[data-label]") || button;
    const before = label.dataset.before ?? label.textContent;
    label.dataset.before = before;
    label.textContent = words;
    clearTimeout(button.timer);
    button.timer = setTimeout(() => { label.textContent = before; }, 1800);
  }

  // A select or check box with data-submit sends its form at once; the form keeps its own button for those without script.
  document.addEventListener("change", (event) => {
    if (event.target.matches("[data-submit]")) event.target.form.requestSubmit();
  });

  // A toast goes when it is closed, or after ten seconds in which neither the pointer nor the focus is on it.
  const toasts = document.getElementById("toasts");
  if (toasts) {
    document.addEventListener("click", (event) => event.target.closest(".toast-close")?.closest("[data-toast]").remove());
    const leave = (toast) => setTimeout(() => {
      if (toast.matches(":hover, :focus-within")) leave(toast);
      else toast.remove();
    }, 10000);
    new MutationObserver((changes) => {
      for (const change of changes) for (const node of change.addedNodes) if (node.nodeType === 1) leave(node);
    }).observe(toasts, { childList: true });
  }

  for (const [name, isOver] of [["dragenter", true], ["dragleave", false], ["drop", false]]) {
    document.addEventListener(name, (event) => {
      if (event.target.matches?.("input[type=file]")) event.target.classList.toggle("is-over", isOver);
    });
  }

  // Who stands in a part of the page that is replaced goes on in the new one: in a form that was refused at the first field to put right;
  // else where they were, found by its ID (which htmx does) or as what it says; else at the page's content. What they opened stays open.
  const saying = (each) => each.cloneNode(false).outerHTML + (each.matches("a, button, summary") ? each.textContent.trim() : "");
  let stood = "";
  let opened = [];
  document.addEventListener("htmx:beforeSwap", (event) => {
    const at = document.activeElement;
    stood = at !== document.body && event.detail.target.contains(at) ? saying(at) : "";
    opened = [...event.detail.target.querySelectorAll("details[open] > summary")].map(saying);
  });
  document.addEventListener("htmx:afterSwap", (event) => {
    for (const summary of event.target.querySelectorAll("details:not([open]) > summary")) {
      if (opened.includes(saying(summary))) summary.parentElement.open = true;
    }
    if (!stood) return;
    const field = event.detail.xhr.status === 422 ? event.target.querySelector("[aria-invalid=true]") : null;
    if (field) field.focus();
    if (document.activeElement !== document.body) return;
    const same = [...event.target.querySelectorAll("a, button, summary, [tabindex]")].find((each) => saying(each) === stood);
    (same ?? document.getElementById("content"))?.focus({ preventScroll: true });
  });

  for (const name of ["htmx:sendError", "htmx:responseError", "htmx:timeout"]) {
    document.addEventListener(name, () => {
      const notices = document.getElementById("notices");
      const template = document.getElementById("connection-lost");
      if (notices && template && !notices.querySelector("[data-connection-lost]")) notices.append(template.content.cloneNode(true));
    });
  }
  document.addEventListener("htmx:afterOnLoad", () => document.querySelector("#notices [data-connection-lost]")?.remove());
})();
