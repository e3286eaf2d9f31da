// The list of questions and the editor of each. The questions are plain objects; a card is drawn again only when its
// shape changes, so that typing never loses the cursor.

import { byId, freshId, growWithText, h, segments } from "./dom.js";
import { icon } from "./icons.js";

const TYPES = [["choice", "Choice"], ["predicate", "Yes or no"], ["score", "Score"]];

function iconButton(name, label, onclick, properties = {}) {
  return h("button", { type: "button", class: "quiet icon", "aria-label": label, title: label, onclick, ...properties }, icon(name));
}

/// A question with every field of every type, so that nothing typed is lost when the type is changed.
export function blankQuestion(given = {}) {
  return {
    type: "choice", id: "", question: "", when_true: "", when_false: "",
    ...given,
    options: (given.options ?? ["", ""]).map((option) => (typeof option === "string" ? { name: option, description: "" } : { description: "", ...option })),
    levels: [...(given.levels ?? ["", ""])],
  };
}

export class QuestionList {
  constructor(onchange) {
    this.host = byId("questions");
    this.onchange = onchange;
    this.questions = [];
    const add = byId("add-question");
    add.append(icon("add"), "Add a question");
    add.addEventListener("click", () => {
      this.questions.push(blankQuestion());
      this.#draw();
      this.#focus(this.questions.length - 1, "question");
      onchange();
    });
  }

  set(questions) {
    this.questions = questions.map(blankQuestion);
    this.#draw();
  }

  /// The element of a field of one question, the nearest that the editor has.
  anchor(index, path) {
    const card = this.host.children[index];
    if (!card) return null;
    const find = (field) => card.querySelector(`[data-field="${CSS.escape(field)}"]`);
    for (let rest = path; rest; rest = rest.slice(0, Math.max(0, rest.lastIndexOf("."), rest.lastIndexOf("[")))) {
      // An option is at fault as a whole where its name is.
      const found = find(`${rest}.name`) ?? find(rest);
      if (found) return found;
    }
    return card.querySelector("textarea");
  }

  #draw() {
    this.host.replaceChildren(...this.questions.map((question, index) => this.#card(question, index)));
  }

  #redraw(index) {
    this.host.children[index].replaceWith(this.#card(this.questions[index], index));
  }

  #focus(index, field) {
    this.anchor(index, field)?.focus();
  }

  #changed(index, focus) {
    this.#redraw(index);
    if (focus) this.#focus(index, focus);
    this.onchange();
  }

  #card(question, index) {
    const count = this.questions.length;
    const name = `Question ${index + 1}`;
    const move = (by) => {
      this.questions.splice(index + by, 0, ...this.questions.splice(index, 1));
      this.#draw();
      const card = this.host.children[index + by];
      const same = card.querySelector(by < 0 ? ".move-up" : ".move-down");
      (same.disabled ? card.querySelector("textarea") : same).focus();
      this.onchange();
    };
    const types = h("div", { class: "segments", role: "group", "aria-label": `Type of question ${index + 1}`, data: { field: "type" } });
    segments(types, TYPES, question.type, (type) => {
      question.type = type;
      this.#redraw(index);
      this.host.children[index].querySelector('.segments [aria-pressed="true"]').focus();
      this.onchange();
    });
    const asked = h("textarea", {
      rows: 1, value: question.question, placeholder: "What is asked?", "aria-label": `${name}: what is asked`, data: { field: "question" },
      oninput: () => this.#typed(() => (question.question = asked.value)),
    });
    growWithText(asked);
    const remove = () => {
      this.questions.splice(index, 1);
      this.#draw();
      if (this.questions.length > 0) this.#focus(Math.min(index, this.questions.length - 1), "question");
      else byId("add-question").focus();
      this.onchange();
    };
    return h("li", { class: "question", "aria-label": name },
      h("div", { class: "question-head" },
        h("span", { class: "number", "aria-hidden": "true" }, String(index + 1)),
        types,
        h("span", { class: "spring" }),
        // Ids tell several answers apart; one needs none.
        (count > 1 || question.id !== "") && this.#identity(question, index),
        h("div", { class: "entry-tools" },
          count > 1 && iconButton("up", `Move question ${index + 1} up`, () => move(-1), { class: "quiet icon move-up", disabled: index === 0 }),
          count > 1 && iconButton("down", `Move question ${index + 1} down`, () => move(1), { class: "quiet icon move-down", disabled: index === count - 1 }),
          iconButton("remove", `Remove question ${index + 1}`, remove))),
      h("div", { class: "field" }, asked),
      this.#body(question, index));
  }

  #body(question, index) {
    if (question.type === "predicate") {
      return h("div", { class: "pair" },
        this.#line(question, "when_true", "Yes means", "what counts as yes (optional)"),
        this.#line(question, "when_false", "No means", "what counts as no (optional)"));
    }
    const isChoice = question.type === "choice";
    const field = isChoice ? "options" : "levels";
    const entries = question[field];
    const word = isChoice ? "option" : "level";
    const add = () => {
      entries.push(isChoice ? { name: "", description: "" } : "");
      this.#changed(index, isChoice ? `options[${entries.length - 1}].name` : `levels[${entries.length - 1}]`);
    };
    const rows = entries.map((_, at) => this.#entry(question, index, field, at, add));
    return h("div", { class: "field entries", data: { field }, tabindex: "-1" },
      h("ul", { "aria-label": isChoice ? "Options" : "Levels, lowest first" }, rows),
      h("button", { type: "button", class: "add", onclick: add }, icon("add"), `Add ${isChoice ? "an option" : "a level"}`),
      !isChoice && h("p", { class: "note" }, "Lowest first; the score counts from 0."),
      entries.length === 0 && h("p", { class: "note" }, `No ${word} yet.`));
  }

  #entry(question, index, field, at, add) {
    const entries = question[field];
    const isChoice = field === "options";
    const label = isChoice ? `Option ${at + 1}` : `Level ${at}`;
    const path = `${field}[${at}]`;
    const move = (by) => {
      entries.splice(at + by, 0, ...entries.splice(at, 1));
      this.#changed(index);
      const row = this.host.children[index].querySelectorAll(".entry")[at + by];
      const same = row.querySelector(by < 0 ? ".move-up" : ".move-down");
      (same.disabled ? row.querySelector("input") : same).focus();
    };
    const remove = () => {
      entries.splice(at, 1);
      const next = Math.min(at, entries.length - 1);
      this.#changed(index, isChoice ? `options[${next}].name` : `levels[${next}]`);
    };
    const onkeydown = (event) => {
      if (event.key === "Enter" && !event.ctrlKey && !event.metaKey && !event.isComposing) {
        event.preventDefault();
        add();
      }
    };
    const input = (key, properties) => {
      const element = h("input", {
        autocomplete: "off", spellcheck: "false", onkeydown,
        oninput: () => this.#typed(() => (key ? (entries[at][key] = element.value) : (entries[at] = element.value))),
        ...properties,
      });
      return element;
    };
    const inputs = isChoice
      ? [input("name", { class: "name", value: entries[at].name, placeholder: "option", "aria-label": label, data: { field: `${path}.name` } }),
         input("description", { class: "description", value: entries[at].description, placeholder: "what it means (optional)", "aria-label": `${label}: what it means`, data: { field: `${path}.description` } })]
      : [h("span", { class: "level", "aria-hidden": "true" }, String(at)),
         input(null, { class: "description", value: entries[at], placeholder: "what this level is", "aria-label": label, data: { field: path } })];
    return h("li", { class: "entry field" }, inputs, h("div", { class: "entry-tools" },
      iconButton("up", `Move ${label.toLowerCase()} up`, () => move(-1), { class: "quiet icon move-up", disabled: at === 0 }),
      iconButton("down", `Move ${label.toLowerCase()} down`, () => move(1), { class: "quiet icon move-down", disabled: at === entries.length - 1 }),
      iconButton("remove", `Remove ${label.toLowerCase()}`, remove)));
  }

  #line(question, key, label, placeholder) {
    const id = freshId(key);
    const input = h("input", {
      id, value: question[key], placeholder, autocomplete: "off", data: { field: key },
      oninput: () => this.#typed(() => (question[key] = input.value)),
    });
    return h("div", { class: "field" }, h("label", { for: id }, label), input);
  }

  #identity(question, index) {
    const label = `Id of question ${index + 1}, returned with its answer`;
    const input = h("input", {
      class: "id mono", value: question.id, placeholder: "id (optional)", autocomplete: "off", spellcheck: "false",
      "aria-label": label, title: label, data: { field: "id" },
      oninput: () => this.#typed(() => (question.id = input.value)),
    });
    return h("div", { class: "field id-field" }, input);
  }

  #typed(keep) {
    keep();
    this.onchange();
  }
}
