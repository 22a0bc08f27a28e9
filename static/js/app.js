// The little script of our own: copying, and saying when a live fragment could not be fetched. Pages work without it.
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

  for (const name of ["htmx:sendError", "htmx:responseError", "htmx:timeout"]) {
    document.addEventListener(name, () => {
      const notices = document.getElementById("notices");
      const template = document.getElementById("connection-lost");
      if (notices && template && !notices.querySelector("[data-connection-lost]")) notices.append(template.content.cloneNode(true));
    });
  }
  document.addEventListener("htmx:afterOnLoad", () => document.querySelector("#notices [data-connection-lost]")?.remove());
})();
