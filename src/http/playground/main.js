// The page: its parts, and what happens between them.

import { CodePanel } from "./code.js";
import { byId } from "./dom.js";
import { clearFaults, settingAnchor, showFault } from "./faults.js";
import { Gallery } from "./gallery.js";
import { icon } from "./icons.js";
import { KeyPanel } from "./key.js";
import { MediaBox, inBytes } from "./media.js";
import { QuestionList } from "./questions.js";
import { placeOfField, requestJson } from "./request.js";
import { inWords, showAnswers, showNothing, showRefusal } from "./results.js";
import { Refused, address, decide, servedModel } from "./server.js";
import { curl, python } from "./snippets.js";
import { NotJson, StateBox } from "./state.js";

const results = byId("results");
const decideButton = byId("decide");
const status = byId("status");
const said = byId("said");
const settings = { truncate: byId("truncate"), orderAverages: byId("order-averages"), deadline: byId("deadline") };
const code = new CodePanel();
const state = new StateBox(changed);
const media = new MediaBox(changed);
const questions = new QuestionList(changed);
const key = new KeyPanel(() => {
  changed();
  learnModel();
});
const gallery = new Gallery(fill);
/// Most bytes of a body, once the server has said it.
let mostBytes = Infinity;
let running = null;

function filledIn(parts) {
  return requestJson({
    state: state.json(),
    media: parts,
    questions: questions.questions,
    truncate: settings.truncate.value,
    orderAverages: settings.orderAverages.value.trim(),
    deadline: settings.deadline.value.trim(),
  });
}

/// Writes the code samples again, and marks the answers as older than the request.
function changed() {
  results.classList.add("is-stale");
  const parts = media.parts();
  let json;
  let alone;
  try {
    json = filledIn(parts);
    alone = filledIn([]);
  } catch (error) {
    if (!(error instanceof NotJson)) throw error;
    const text = "The state is not JSON yet.";
    code.set({ curl: text, python: text, json: text });
    return;
  }
  const url = address("decide");
  const hasKey = key.key !== "";
  const from = "The file is read from the folder that the command runs in.";
  const keyNote = hasKey ? "The key is read from the variable ASSIZE_API_KEY." : "";
  const isMany = parts.length > 0;
  code.set(
    { curl: curl(url, json, parts, hasKey), python: python(url, alone, parts, hasKey), json },
    {
      curl: [isMany && from, keyNote].filter(Boolean).join(" "),
      python: [isMany ? from : "Standard library only.", keyNote].filter(Boolean).join(" "),
      json: isMany ? "The part named request of a multipart/form-data body; the files are the other parts." : "The body of POST /decide.",
    },
  );
}

function fill(example, files) {
  clearFaults();
  state.set(example.kind ?? "text", example.state);
  media.clear();
  if (files.length > 0) media.add(files);
  questions.set(example.questions);
  for (const setting of Object.values(settings)) setting.value = "";
  changed();
}

async function learnModel() {
  const line = byId("model");
  try {
    const model = await servedModel(key.key);
    const kinds = model.x_takes_media ?? [];
    mostBytes = model.x_max_body_bytes ?? Infinity;
    line.textContent = `${model.name} · ${model.x_engine.name} ${model.x_engine.precision} · ${["text", ...kinds].join(", ")}`;
    line.title = model.description;
    media.offer(model.name, kinds);
    gallery.offer(kinds, model.x_head);
    key.accepted();
    return model;
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    line.textContent = error.message;
    if (error.status === 401 || error.status === 403) key.demand(error.message);
    return null;
  }
}

/// Shows an error in the answers, and beside its field where it names one.
function refused(error) {
  showRefusal(results, error);
  said.textContent = `Not decided: ${error.message}`;
  if (error.status === 401 || error.status === 403) return key.demand(error.message);
  if (error.field === null) return undefined;
  const place = placeOfField(error.field, questions.questions.length);
  const anchor = {
    state: () => state.area,
    media: () => media.anchor(place.index),
    setting: () => settingAnchor(place.name),
    question: () => questions.anchor(place.index, place.path),
    questions: () => byId("add-question"),
  }[place.at]();
  if (anchor) showFault(anchor, error.message);
  return undefined;
}

async function run() {
  if (running) {
    running.abort();
    return;
  }
  clearFaults();
  const parts = media.parts();
  let json;
  try {
    json = filledIn(parts);
  } catch (error) {
    if (!(error instanceof NotJson)) throw error;
    refused({ status: 0, kind: "", field: "state", message: error.message });
    return;
  }
  const bytes = media.bytes() + new Blob([json]).size;
  if (bytes > mostBytes) {
    const message = `The request is ${inBytes(bytes)} and this server reads at most ${inBytes(mostBytes)}: send smaller or fewer files, or less text.`;
    refused({ status: 0, kind: "", field: parts.length > 0 ? "media" : "state", message });
    return;
  }
  running = new AbortController();
  decideButton.textContent = "Stop";
  status.textContent = "Deciding…";
  said.textContent = "";
  results.setAttribute("aria-busy", "true");
  const asked = questions.questions.map(({ question }) => question);
  try {
    const decided = await decide(key.key, json, parts, running.signal);
    showAnswers(results, decided, asked);
    results.classList.remove("is-stale");
    said.textContent = inWords(decided, asked);
    code.set({ answer: JSON.stringify(decided, null, 2) });
    key.accepted();
    status.textContent = "";
    // Below the form on a narrow screen, the answer would come unseen.
    if (matchMedia("(max-width: 979px)").matches) results.scrollIntoView({ block: "start", behavior: matchMedia("(prefers-reduced-motion: reduce)").matches ? "auto" : "smooth" });
  } catch (error) {
    if (error.name === "AbortError") status.textContent = "Stopped.";
    else if (error instanceof Refused) {
      status.textContent = "";
      refused(error);
    } else throw error;
  } finally {
    running = null;
    decideButton.textContent = "Decide";
    results.removeAttribute("aria-busy");
  }
}

function themes() {
  const root = document.documentElement;
  const button = byId("theme-toggle");
  const system = matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : system.matches);
  const draw = () => {
    const label = isDark() ? "Light theme" : "Dark theme";
    button.replaceChildren(icon(isDark() ? "sun" : "moon"));
    button.setAttribute("aria-label", label);
    button.title = label;
  };
  button.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    try {
      localStorage.setItem("assize-theme", root.dataset.theme);
    } catch {
      // Storage is blocked: the choice lasts as long as the page.
    }
    draw();
  });
  system.addEventListener("change", draw);
  draw();
}

themes();
showNothing(results);
for (const setting of Object.values(settings)) setting.addEventListener("input", changed);
decideButton.addEventListener("click", run);
addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey) || event.isComposing) return;
  event.preventDefault();
  run();
});
fill(gallery.first, []);
learnModel().then((model) => {
  // A head answers its own question only.
  if (model?.x_head) fill(gallery.first, []);
});
