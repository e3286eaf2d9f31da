// The API key: kept in this tab's session only, never in the page's code samples.

import { byId } from "./dom.js";

const STORED = "assize-key";

export class KeyPanel {
  #key = "";

  /// `onchange` runs when a key was set or forgotten.
  constructor(onchange) {
    this.panel = byId("key-panel");
    this.toggle = byId("key-toggle");
    this.input = byId("key-input");
    this.note = byId("key-note");
    this.plainNote = [...this.note.childNodes];
    try {
      this.#key = sessionStorage.getItem(STORED) ?? "";
    } catch {
      // Storage is blocked: the key lives as long as the page.
    }
    this.input.value = this.#key;
    this.#mark();
    const use = (key) => {
      this.#key = key;
      try {
        if (key) sessionStorage.setItem(STORED, key);
        else sessionStorage.removeItem(STORED);
      } catch {
        // As above.
      }
      this.#say(...this.plainNote);
      this.#mark();
      onchange();
    };
    byId("key-save").addEventListener("click", () => use(this.input.value.trim()));
    this.input.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" || event.ctrlKey || event.metaKey) return;
      event.preventDefault();
      use(this.input.value.trim());
    });
    byId("key-forget").addEventListener("click", () => {
      this.input.value = "";
      use("");
    });
    this.toggle.addEventListener("click", () => this.#open(this.panel.hidden));
  }

  get key() {
    return this.#key;
  }

  /// Opens with what the server says of the key.
  demand(message) {
    this.#say(message);
    this.note.classList.add("fault");
    this.#open(true);
  }

  /// Closes once the key is accepted.
  accepted() {
    if (!this.note.classList.contains("fault") && !this.#key) return;
    this.#say(...this.plainNote);
    this.#open(false, false);
  }

  #say(...children) {
    this.note.classList.remove("fault");
    this.note.replaceChildren(...children);
  }

  #open(open, focus = open) {
    this.panel.hidden = !open;
    this.toggle.setAttribute("aria-expanded", String(open));
    if (focus) this.input.focus();
  }

  #mark() {
    this.toggle.textContent = this.#key ? "API key set" : "API key";
  }
}
