// The import wizard's script, all of it an addition: sending a file in parts that can be gone on with after a lost connection, telling
// the browser's tabs apart so that a draft is not overwritten unseen, and putting a placeholder into the prompt by a click.
(() => {
  "use strict";
  const PART = 4 * 1024 * 1024;
  const WAITS = [1, 2, 4, 8, 15, 30];

  // ── Which tab, and when ──────────────────────────────────────────────────────────────────────────────────────────

  let tab = "";
  try {
    tab = sessionStorage.getItem("import-tab") || crypto.randomUUID();
    sessionStorage.setItem("import-tab", tab);
  } catch { /* without a store the revision alone decides */ }
  const stamp = (form) => {
    for (const input of form.querySelectorAll("[data-tab]")) input.value = tab;
    for (const input of form.querySelectorAll("[data-at]")) input.value = String(Date.now());
  };
  document.addEventListener("submit", (event) => stamp(event.target), true);

  // The row to look at, as it was chosen last: an answer that was under way may bring the choice before it back.
  let row = "";
  document.addEventListener("change", (event) => { if (event.target.name === "row") row = event.target.value; }, true);
  document.addEventListener("htmx:configRequest", (event) => {
    const { parameters } = event.detail;
    if (row && (parameters.has?.("row") ?? "row" in parameters)) {
      if (parameters.set) parameters.set("row", row); else parameters.row = row;
    }
    if (parameters.has?.("revision") ?? "revision" in parameters) {
      if (parameters.set) { parameters.set("tab", tab); parameters.set("at", String(Date.now())); } else Object.assign(parameters, { tab, at: String(Date.now()) });
    }
  });

  // ── Placeholders ─────────────────────────────────────────────────────────────────────────────────────────────────

  function armTokens() {
    for (const list of document.querySelectorAll("[data-tokens]")) {
      for (const code of list.querySelectorAll("code")) {
        const button = document.createElement("button");
        button.type = "button";
        button.className = "button button-small token";
        button.textContent = code.textContent;
        button.title = "Put it into the prompt";
        code.replaceWith(button);
      }
    }
  }
  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-tokens] .token");
    if (!button) return;
    const area = document.getElementById(button.closest("[data-tokens]").dataset.tokens);
    area.setRangeText(button.textContent, area.selectionStart, area.selectionEnd, "end");
    area.focus();
    area.dispatchEvent(new Event("input", { bubbles: true }));
  });

  // ── Sending a file ───────────────────────────────────────────────────────────────────────────────────────────────

  const words = (bytes) => {
    const units = ["bytes", "KiB", "MiB", "GiB"];
    let size = bytes, unit = 0;
    while (size >= 1024 && unit < units.length - 1) { size /= 1024; unit += 1; }
    return `${unit ? size.toFixed(1).replace(/\.0$/, "") : size} ${units[unit]}`;
  };

  class Refusal extends Error {}
  class Lost extends Error {}

  function arm(form) {
    const input = form.querySelector("input[type=file]");
    const part = (name) => form.querySelector(`[data-upload-${name}]`);
    const panel = part("progress"), bar = part("bar"), status = part("status"), retry = part("retry"), actions = part("actions");
    const token = form.querySelector("[name=csrfmiddlewaretoken]").value;
    const headers = { "X-CSRFToken": token, "X-Workspace-Id": form.dataset.workspace };
    let sending = null;

    const say = (text) => { status.textContent = text; };
    const show = (file, sent) => {
      part("name").textContent = file.name;
      part("words").textContent = `${words(sent)} of ${words(file.size)}`;
      bar.max = file.size || 1;
      bar.value = sent;
    };

    async function ask(url, options = {}) {
      let response;
      try {
        response = await fetch(url, { ...options, headers: { ...headers, ...options.headers }, signal: sending.stop.signal });
      } catch (error) {
        if (error.name === "AbortError") throw error;
        throw new Lost();
      }
      if (response.status >= 500 || response.status === 429) throw new Lost();
      const answer = await response.json().catch(() => ({}));
      if (!response.ok) {
        const refusal = new Refusal(answer.error?.message || "The file was not taken. Reload the page and try again.");
        refusal.code = answer.error?.code;
        refusal.details = answer.error?.details || {};
        throw refusal;
      }
      return answer;
    }

    // One part, by a request that tells how far it is.
    function put(url, file, from) {
      const to = Math.min(from + PART, file.size);
      return new Promise((resolve, reject) => {
        const request = new XMLHttpRequest();
        request.open("PUT", url);
        for (const [name, value] of Object.entries(headers)) request.setRequestHeader(name, value);
        request.setRequestHeader("Content-Type", "application/octet-stream");
        request.setRequestHeader("Content-Range", `bytes ${from}-${to - 1}/${file.size}`);
        request.upload.onprogress = (event) => show(file, from + Math.min(event.loaded, to - from));
        request.onload = () => {
          let answer = {};
          try { answer = JSON.parse(request.responseText); } catch { /* an answer of something in between */ }
          if (request.status >= 200 && request.status < 300) resolve(answer.received ?? to);
          else if (request.status >= 500 || request.status === 429 || request.status === 0) reject(new Lost());
          else {
            const refusal = new Refusal(answer.error?.message || "The file was not taken. Reload the page and try again.");
            refusal.code = answer.error?.code;
            refusal.details = answer.error?.details || {};
            reject(refusal);
          }
        };
        request.onerror = request.ontimeout = () => reject(new Lost());
        request.onabort = () => reject(new DOMException("stopped", "AbortError"));
        sending.stop.signal.addEventListener("abort", () => request.abort(), { once: true });
        request.send(file.slice(from, to));
      });
    }

    const pause = (seconds) => new Promise((resolve, reject) => {
      let left = seconds;
      const tick = () => {
        if (sending.stop.signal.aborted) return reject(new DOMException("stopped", "AbortError"));
        if (left <= 0) { retry.hidden = true; return resolve(); }
        say(`The connection was lost. What has arrived is kept; trying again in ${left} s.`);
        left -= 1;
        sending.timer = setTimeout(tick, 1000);
      };
      retry.hidden = false;
      retry.onclick = () => { left = 0; clearTimeout(sending.timer); tick(); };
      addEventListener("online", () => { left = 0; }, { once: true });
      tick();
    });

    // Does a step until it is done, waiting longer each time the connection is lost. A part that moves the file on begins anew.
    async function insist(step) {
      for (let tries = 0; ; tries += 1) {
        try { return await step(); } catch (error) {
          if (!(error instanceof Lost)) throw error;
          await pause(WAITS[Math.min(tries, WAITS.length - 1)]);
          say("Going on.");
        }
      }
    }

    async function begin(file) {
      const held = [...document.querySelectorAll("[data-unfinished]")].find((each) => each.dataset.name === file.name && Number(each.dataset.bytes) === file.size);
      if (held) return { id: held.dataset.uploadId, received: Number(held.dataset.received), url: `${form.dataset.uploads}/${held.dataset.uploadId}/files/${encodeURIComponent(file.name)}` };
      const made = await insist(() => ask(form.dataset.uploads, { method: "POST", body: JSON.stringify({ files: [{ name: file.name, bytes: file.size }] }), headers: { "Content-Type": "application/json" } }));
      return { id: made.id, received: 0, url: made.files[0].upload_url };
    }

    async function send(file) {
      show(file, 0);
      say("Sending.");
      const upload = await begin(file);
      let at = upload.received;
      while (at < file.size) {
        try {
          at = await insist(() => put(upload.url, file, at).catch(async (error) => {
            // Part of a part may have arrived: what the server has decides where it goes on.
            if (error.code === "upload_offset_mismatch" && Number.isInteger(error.details.received)) return error.details.received;
            throw error;
          }));
        } catch (error) {
          if (error.code === "upload_offset_mismatch") { at = error.details.received; continue; }
          throw error;
        }
        show(file, at);
        say("Sending.");
      }
      say("All of it is here. Reading it.");
      const done = await insist(() => ask(`${form.dataset.uploads}/${upload.id}/complete`, { method: "POST", body: "{}", headers: { "Content-Type": "application/json" } }));
      const chosen = document.getElementById("uploaded-form");
      chosen.elements.source.value = done.source || done.files?.[0]?.source;
      say("Looking at its rows.");
      chosen.submit();
    }

    function refuse(text) {
      panel.hidden = true;
      actions.hidden = false;
      input.setAttribute("aria-invalid", "true");
      let error = form.querySelector(".file .field-error");
      if (!error) {
        error = document.createElement("div");
        error.className = "field-error";
        error.setAttribute("role", "alert");
        form.querySelector(".file").append(error);
      }
      error.textContent = text;
      input.value = "";
      input.focus();
    }

    async function start(file) {
      if (file.size > Number(form.dataset.most)) return refuse(`${file.name} has ${words(file.size)}; a file has at most ${words(Number(form.dataset.most))}.`);
      if (!file.size) return refuse(`${file.name} is empty.`);
      sending = { stop: new AbortController(), timer: 0 };
      form.querySelector(".file .field-error")?.remove();
      input.removeAttribute("aria-invalid");
      actions.hidden = true;
      panel.hidden = false;
      retry.hidden = true;
      try { await send(file); } catch (error) {
        if (error.name === "AbortError") return refuse("Stopped. Choose the same file again within a day, and it goes on from where it was.");
        refuse(error instanceof Refusal ? error.message : "The file could not be read. Was it moved or changed? Choose it again.");
      } finally { sending = null; }
    }

    form.addEventListener("submit", (event) => {
      if (!input.files.length) return;
      event.preventDefault();
      if (!sending) start(input.files[0]);
    });
    part("stop").addEventListener("click", () => sending?.stop.abort());
    addEventListener("beforeunload", (event) => { if (sending && panel.querySelector("progress").value < bar.max) event.preventDefault(); });
  }

  function armAll() {
    armTokens();
    for (const form of document.querySelectorAll("[data-upload]:not([data-armed])")) {
      form.dataset.armed = "";
      arm(form);
    }
  }
  document.addEventListener("htmx:load", armAll);
  armAll();
})();
