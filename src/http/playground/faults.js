// Errors beside the field that they name.

import { byId, freshId, h } from "./dom.js";

const shown = new Set();

/// Takes every error away.
export function clearFaults() {
  for (const forget of shown) forget();
  shown.clear();
}

/// Shows a message below the field of an element, ties it to the element, and moves there.
export function showFault(element, message) {
  const id = freshId("fault");
  const note = h("p", { class: "fault", id }, message);
  const field = element.closest(".field") ?? element.parentElement;
  field.append(note);
  field.classList.add("has-fault");
  const before = element.getAttribute("aria-describedby");
  element.setAttribute("aria-invalid", "true");
  element.setAttribute("aria-describedby", [before, id].filter(Boolean).join(" "));
  const forget = () => {
    note.remove();
    field.classList.remove("has-fault");
    element.removeAttribute("aria-invalid");
    if (before) element.setAttribute("aria-describedby", before);
    else element.removeAttribute("aria-describedby");
  };
  shown.add(forget);
  element.focus({ preventScroll: true });
  const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
  field.scrollIntoView({ block: "center", behavior: calm ? "auto" : "smooth" });
}

/// The element of a setting under “More”, which is opened.
export function settingAnchor(name) {
  byId("more").open = true;
  return document.querySelector(`#more [data-field="${name}"]`).querySelector("select, input");
}
