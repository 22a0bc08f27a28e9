// A list with a search over select[data-search]. The select stays where it is, holds the value and fires its events.
(() => {
  "use strict";
  let serial = 0;

  function make(tag, attributes, ...children) {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    element.append(...children);
    return element;
  }

  function enhance(select) {
    if (select.multiple || select.closest(".picker") || !("popoverTargetElement" in HTMLButtonElement.prototype)) return;
    const id = `picker-${++serial}`;
    const label = select.labels[0];
    if (label && !label.id) label.id = `${id}-label`;

    const words = make("span", { id: `${id}-value` });
    const button = make("button", { type: "button", class: "picker-button", id: `${id}-button`, "aria-haspopup": "dialog", "aria-labelledby": `${label?.id ?? ""} ${words.id}` }, words);
    for (const name of ["aria-describedby", "aria-invalid"]) if (select.hasAttribute(name)) button.setAttribute(name, select.getAttribute(name));
    const search = make("input", { type: "text", role: "combobox", "aria-expanded": "true", "aria-autocomplete": "list", "aria-controls": `${id}-options`, "aria-labelledby": label?.id ?? words.id, placeholder: "Search", autofocus: "", autocomplete: "off", spellcheck: "false" });
    const options = make("div", { class: "picker-options", role: "listbox", id: `${id}-options`, "aria-labelledby": label?.id ?? words.id });
    const none = make("div", { class: "command-none", hidden: "" }, "Nothing matches");
    const list = make("div", { class: "picker-list", popover: "", id, role: "dialog", "aria-labelledby": label?.id ?? words.id }, make("div", { class: "picker-search" }, search), options, none);
    const holder = make("div", { class: "picker" });
    select.replaceWith(holder);
    holder.append(select, button, list);
    select.tabIndex = -1;
    select.setAttribute("aria-hidden", "true");
    button.popoverTargetElement = list;

    const shown = () => [...options.querySelectorAll("[role=option]:not([hidden])")];
    let active = null;
    let begun = ""; // what was typed on the button, which the search begins with

    function show() {
      words.textContent = select.selectedOptions[0]?.label ?? "";
      button.disabled = select.disabled;
    }

    function mark(option) {
      active?.setAttribute("aria-selected", "false");
      active = option ?? null;
      active?.setAttribute("aria-selected", "true");
      active?.scrollIntoView({ block: "nearest" });
      search.setAttribute("aria-activedescendant", active?.id ?? "");
    }

    function fill() {
      options.replaceChildren();
      active = null;
      let group = null;
      [...select.options].forEach((option, index) => {
        const parent = option.parentElement;
        if (parent.tagName === "OPTGROUP" && group?.source !== parent) {
          group = make("div", { class: "command-group", role: "group", "aria-label": parent.label }, make("div", { class: "command-kind", "aria-hidden": "true" }, parent.label));
          group.source = parent;
          options.append(group);
        }
        const row = make("div", { class: "command-item", role: "option", id: `${id}-${index}`, "aria-selected": "false" }, make("span", { class: "command-words" }, option.label));
        if (option.dataset.note) row.append(make("span", { class: "command-note" }, option.dataset.note));
        if (option.disabled) row.setAttribute("aria-disabled", "true");
        if (option.selected) row.dataset.chosen = "";
        row.option = option;
        row.text = `${option.label} ${option.value} ${option.dataset.note ?? ""} ${parent.label ?? ""}`.toLowerCase();
        (parent.tagName === "OPTGROUP" ? group : options).append(row);
      });
    }

    function filter() {
      const wanted = search.value.toLowerCase().split(/\s+/).filter(Boolean);
      for (const row of options.querySelectorAll("[role=option]")) row.hidden = !wanted.every((word) => row.text.includes(word));
      for (const group of options.querySelectorAll("[role=group]")) group.hidden = !group.querySelector("[role=option]:not([hidden])");
      none.hidden = shown().length > 0;
      mark(shown().find((row) => !wanted.length && row.option.selected) ?? shown()[0]);
    }

    function take(row) {
      if (!row || row.option.disabled) return;
      const isNew = !row.option.selected;
      row.option.selected = true;
      list.hidePopover();
      button.focus();
      show();
      if (isNew) for (const name of ["input", "change"]) select.dispatchEvent(new Event(name, { bubbles: true }));
    }

    // The search has autofocus, so that the next key already goes there: all this happens before the click is over.
    list.addEventListener("beforetoggle", (event) => {
      if (event.newState !== "open") return;
      search.value = begun;
      begun = "";
      fill();
      filter();
    });
    list.addEventListener("toggle", () => active?.scrollIntoView({ block: "nearest" }));
    button.addEventListener("keydown", (event) => {
      const isLetter = event.key.length === 1 && event.key !== " " && !event.ctrlKey && !event.metaKey && !event.altKey;
      if (!isLetter && event.key !== "ArrowDown" && event.key !== "ArrowUp") return;
      event.preventDefault();
      begun = isLetter ? event.key : "";
      button.click();
    });
    search.addEventListener("input", (event) => { event.stopPropagation(); filter(); }); // what is typed here is no change of the form
    search.addEventListener("change", (event) => event.stopPropagation());
    search.addEventListener("keydown", (event) => {
      const all = shown();
      const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
      if (step && all.length) mark(all[(all.indexOf(active) + step + all.length) % all.length]);
      else if (event.key === "Enter") take(active);
      else if (event.key === "Tab") { list.hidePopover(); button.focus(); return; }
      else return;
      event.preventDefault();
    });
    options.addEventListener("click", (event) => take(event.target.closest("[role=option]")));
    select.addEventListener("focus", () => button.focus());
    select.addEventListener("change", show);
    select.form?.addEventListener("reset", () => setTimeout(show));
    show();
  }

  const enhanceAll = (root) => root.querySelectorAll?.("select[data-search]").forEach(enhance);
  enhanceAll(document);
  document.addEventListener("htmx:load", (event) => enhanceAll(event.detail.elt));
})();
