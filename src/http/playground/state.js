// The state: text as it stands, or JSON, whose exact text is what is sent.

import { byId, growWithText, segments } from "./dom.js";

const NOTES = {
  text: "Read as plain text, exactly as it stands here.",
  json: "Read as JSON and sent exactly as it stands here.",
};

/// A state that does not say it is JSON but is none.
export class NotJson extends Error {}

export class StateBox {
  constructor(onchange) {
    this.area = byId("state-text");
    this.note = byId("state-note");
    this.kind = "text";
    this.fit = growWithText(this.area);
    this.area.addEventListener("input", onchange);
    this.kinds = segments(byId("state-kind"), [["text", "Text"], ["json", "JSON"]], "text", (kind) => {
      this.#become(kind);
      onchange();
    });
    this.#become("text");
  }

  set(kind, text) {
    this.kinds.show(kind);
    this.area.value = text;
    this.#become(kind);
    this.fit();
  }

  /// The state as JSON text: numbers keep every digit, because nothing is read and written again.
  json() {
    if (this.kind === "text") return JSON.stringify(this.area.value);
    try {
      JSON.parse(this.area.value);
    } catch (error) {
      throw new NotJson(`This is not JSON: ${error.message}. Correct it, or send it as text.`);
    }
    return this.area.value.trim();
  }

  #become(kind) {
    this.kind = kind;
    this.area.classList.toggle("mono", kind === "json");
    this.note.textContent = NOTES[kind];
  }
}
