// The panel with the request as code, one tab a language, and the last answer as it came.

import { byId, h } from "./dom.js";
import { icon } from "./icons.js";

const TABS = [["curl", "curl"], ["python", "Python"], ["json", "JSON"], ["answer", "Answer"]];

async function copy(text, pre) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    // Without TLS only this host has a clipboard; the older way works everywhere.
    const range = document.createRange();
    range.selectNodeContents(pre);
    const selection = getSelection();
    selection.removeAllRanges();
    selection.addRange(range);
    return document.execCommand("copy");
  }
}

export class CodePanel {
  constructor() {
    this.texts = {};
    this.notes = {};
    this.chosen = "curl";
    this.tabs = TABS.map(([name, label]) =>
      h("button", { type: "button", role: "tab", id: `tab-${name}`, "aria-controls": "code-panel", data: { name }, onclick: () => this.choose(name), onkeydown: (event) => this.#walk(event) }, label));
    byId("code-tabs").replaceChildren(...this.tabs);
    this.pre = h("pre", { tabindex: "0", "aria-label": "Code" });
    this.note = h("p", { class: "note" });
    this.said = h("span", { class: "hidden", role: "status" });
    this.button = h("button", { type: "button", class: "copy", onclick: () => this.#copy() }, icon("copy"), h("span", {}, "Copy"));
    this.panel = h("div", { role: "tabpanel", id: "code-panel" }, h("div", { class: "code-box" }, this.button, this.pre), this.note, this.said);
    byId("code-body").replaceChildren(this.panel);
    this.choose("curl");
  }

  /// Shows texts by tab, with a note below where there is one.
  set(texts, notes = {}) {
    Object.assign(this.texts, texts);
    Object.assign(this.notes, notes);
    this.#draw();
  }

  choose(name) {
    this.chosen = name;
    for (const tab of this.tabs) {
      const isChosen = tab.dataset.name === name;
      tab.setAttribute("aria-selected", String(isChosen));
      tab.tabIndex = isChosen ? 0 : -1;
    }
    this.panel.setAttribute("aria-labelledby", `tab-${name}`);
    this.#draw();
  }

  #draw() {
    const text = this.texts[this.chosen] ?? "";
    this.pre.textContent = text;
    this.button.hidden = text === "";
    this.note.textContent = text === "" ? "Nothing was decided yet." : this.notes[this.chosen] ?? "";
  }

  #walk(event) {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    const at = this.tabs.findIndex((tab) => tab.dataset.name === this.chosen);
    const next = this.tabs[(at + step + this.tabs.length) % this.tabs.length];
    this.choose(next.dataset.name);
    next.focus();
  }

  async #copy() {
    const done = await copy(this.texts[this.chosen], this.pre);
    const label = this.button.querySelector("span");
    this.button.querySelector("svg").replaceWith(icon(done ? "done" : "copy"));
    label.textContent = done ? "Copied" : "Select and copy";
    this.said.textContent = done ? "Copied" : "The browser allows no copying: select the text";
    clearTimeout(this.timer);
    this.timer = setTimeout(() => {
      this.button.querySelector("svg").replaceWith(icon("copy"));
      label.textContent = "Copy";
      this.said.textContent = "";
    }, 2000);
  }
}
