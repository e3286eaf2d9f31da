// Elements made from names, properties and children. Text is always a text node: nothing is parsed as markup.

/// Makes an element: `on…` properties are listeners, `data` is the data set, `class` the class, others are attributes.
export function h(name, properties = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(properties)) {
    if (value === undefined || value === null || value === false) continue;
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (key === "data") Object.assign(element.dataset, value);
    else if (key === "value") element.value = value;
    else element.setAttribute(key, value === true ? "" : value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

export function byId(id) {
  return document.getElementById(id);
}

let last = 0;

/// An id that no other element of the page has.
export function freshId(prefix) {
  last += 1;
  return `${prefix}-${last}`;
}

/// Lets a text area be as tall as its text, within the bounds of the style sheet.
export function growWithText(area) {
  const fit = () => {
    area.style.height = "auto";
    if (area.scrollHeight > 0) area.style.height = `${area.scrollHeight + 2}px`;
  };
  area.addEventListener("input", fit);
  queueMicrotask(fit);
  return fit;
}

/// A group of buttons of which one is pressed.
export function segments(host, choices, chosen, onchoose) {
  const buttons = choices.map(([value, label]) =>
    h("button", { type: "button", "aria-pressed": String(value === chosen), data: { value }, onclick: () => choose(value) }, label),
  );
  function show(value) {
    for (const button of buttons) button.setAttribute("aria-pressed", String(button.dataset.value === value));
  }
  function choose(value) {
    show(value);
    onchoose(value);
  }
  host.replaceChildren(...buttons);
  return { show, buttons };
}
