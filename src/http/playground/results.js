// The answers: bars of probabilities, what they cost, and what made them.

import { h } from "./dom.js";

/// With their colours, of which each keeps its own.
const KINDS = [["text", "text", 1], ["image", "pictures", 2], ["audio", "sounds", 3], ["video", "videos", 5]];
const STAGES = [["decode", 2], ["preprocess", 3], ["tokenise", 5], ["queue", 4], ["forward", 1], ["readout", 6]];
/// Below half of the last digit that is shown, two probabilities look the same.
const SAME = 0.0005;
/// Options above this many get a list of their own to scroll.
const MANY = 12;

function percent(probability) {
  return `${(100 * probability).toFixed(1)} %`;
}

function small(number) {
  if (number === null) return "not defined";
  return number !== 0 && Math.abs(number) < 0.001 ? number.toExponential(1) : number.toFixed(3);
}

function milliseconds(time) {
  return time < 10 ? time.toFixed(2) : time.toFixed(1);
}

function contentText(content) {
  return typeof content === "string" ? content : JSON.stringify(content);
}

/// A bar whose length is the probability, with a mark at the raw one where that differs.
function bar(label, probability, raw, isTop) {
  const differs = Math.abs(probability - raw) >= SAME;
  const fill = h("span", { class: "fill" });
  fill.style.width = percent(probability).replace(" ", "");
  const track = h("span", { class: "track", "aria-hidden": "true" }, fill);
  if (differs) {
    const mark = h("span", { class: "raw", title: `before calibration: ${percent(raw)}` });
    mark.style.left = percent(raw).replace(" ", "");
    track.append(mark);
  }
  return h("li", { class: isTop ? "bar top-bar" : "bar", data: { probability: String(probability), raw: String(raw) } },
    h("span", { class: "bar-label", title: label }, label),
    track,
    h("span", { class: "bar-value" }, percent(probability),
      differs && h("span", { class: "raw-value" }, h("span", { class: "hidden" }, ", before calibration "), percent(raw))));
}

function rowsOf(answer) {
  if (answer.type === "choice") {
    return answer.probabilities.map((entry, at) => [entry.option, entry.probability, entry.raw_probability, at === answer.choice_index]);
  }
  if (answer.type === "score") {
    return answer.probabilities.map((entry) => [`${entry.level} · ${contentText(entry.description)}`, entry.probability, entry.raw_probability, entry.level === answer.level]);
  }
  const { probability, raw_probability: raw } = answer;
  return [["Yes", probability, raw, probability >= 0.5], ["No", 1 - probability, 1 - raw, probability < 0.5]];
}

function verdict(answer) {
  if (answer.type === "choice") return [answer.choice === "" ? "(the empty option)" : answer.choice, percent(answer.probabilities[answer.choice_index].probability)];
  if (answer.type === "score") return [answer.score.toFixed(2), `of 0 to ${answer.probabilities.length - 1}`];
  const isYes = answer.probability >= 0.5;
  return [isYes ? "Yes" : "No", percent(isYes ? answer.probability : 1 - answer.probability)];
}

function answerCard(answer, asked, index) {
  const rows = rowsOf(answer);
  const [word, aside] = verdict(answer);
  const title = asked || answer.id || `Question ${index + 1}`;
  const facts = [`confidence ${small(answer.confidence)}`, `option mass ${small(answer.option_mass)}`];
  if (answer.orders > 1) facts.push(`${answer.orders} orders averaged`);
  const list = h("ul", { class: "bars", "aria-label": "Probabilities" }, rows.map((row) => bar(...row)));
  if (rows.length > MANY) {
    list.classList.add("many");
    list.tabIndex = 0;
  }
  return h("article", { class: "answer", "aria-label": `Answer ${index + 1}` },
    h("h3", {}, title, answer.id && answer.id !== title && h("code", {}, answer.id)),
    h("p", { class: "verdict" }, h("strong", {}, word), " ", h("span", {}, aside)),
    list,
    h("p", { class: "facts" }, facts.join(" · ")),
    rows.some(([, probability, raw]) => Math.abs(probability - raw) >= SAME) &&
      h("p", { class: "facts" }, h("span", { class: "raw-key", "aria-hidden": "true" }), "before calibration"));
}

/// One bar of several parts, with a legend that says each in numbers.
function stack(title, total, parts, unit, format) {
  const seen = parts.filter(([, value]) => value > 0);
  const sum = seen.reduce((all, [, value]) => all + value, 0) || 1;
  const pieces = seen.map(([, value, colour]) => {
    const piece = h("span", { class: `piece c${colour}` });
    piece.style.flexGrow = String(value / sum);
    return piece;
  });
  return h("div", { class: "stack" },
    h("div", { class: "stack-head" }, h("h3", {}, title), h("span", { class: "stack-total" }, `${total} ${unit}`)),
    h("div", { class: "stack-bar", "aria-hidden": "true" }, pieces),
    h("ul", { class: "legend" }, seen.map(([name, value, colour]) =>
      h("li", {}, h("span", { class: `swatch c${colour}`, "aria-hidden": "true" }), `${name} `, h("b", {}, format(value))))));
}

function costs(decided) {
  const { usage, timings_ms: times } = decided;
  const known = STAGES.reduce((sum, [stage]) => sum + times[stage], 0);
  const stages = STAGES.map(([stage, colour]) => [stage, times[stage], colour]);
  stages.push(["other", Math.max(0, times.total - known), 7]);
  return h("div", { class: "costs" },
    stack("Tokens", usage.input_tokens, KINDS.map(([kind, name, colour]) => [name, usage[`${kind}_tokens`], colour]), "tokens", String),
    stack("Time", milliseconds(times.total), stages, "ms", milliseconds));
}

function mediumLine(medium, index) {
  const facts = [`${medium.soft_tokens} tokens`];
  if (medium.frames !== undefined) facts.push(`${medium.frames} frames`);
  if (medium.seconds !== undefined) facts.push(`${medium.seconds.toFixed(1)} s`);
  if (medium.cut_to_seconds !== undefined) facts.push(`cut to ${medium.cut_to_seconds.toFixed(1)} s`);
  if (medium.sound_ignored) facts.push("its sound is not heard");
  if (medium.others_ignored) facts.push("only the first of its frames, pages or tracks is read");
  return h("div", {}, h("dt", {}, `${medium.type} ${index + 1}`), h("dd", {}, facts.join(" · ")));
}

function made(decided) {
  const { engine } = decided;
  const line = (name, value, kind = "") => h("div", {}, h("dt", {}, name), h("dd", { class: kind }, value));
  return h("dl", { class: "made" },
    line("model", decided.model),
    line("artifact", decided.artifact, "mono"),
    line("engine", `${engine.name} ${engine.version} · ${engine.precision} · ${engine.kernels} · ${engine.threads} ${engine.threads === 1 ? "thread" : "threads"}`),
    line("calibration", decided.calibration ?? "none loaded: probabilities are raw", decided.calibration ? "mono" : ""),
    line("head", decided.head ?? "none: the model’s own readout", decided.head ? "mono" : ""),
    decided.truncated_tokens > 0 && line("truncated", `${decided.truncated_tokens} tokens of the state were dropped`, "warn"),
    decided.mismatch.length > 0 && line("mismatch", `made for another artifact and used all the same: ${JSON.stringify(decided.mismatch)}`, "warn"),
    decided.media.map(mediumLine));
}

/// Shows what was decided; `asked` are the texts of the questions.
export function showAnswers(host, decided, asked) {
  host.replaceChildren(
    h("div", { class: "panel-head" },
      h("h2", {}, decided.answers.length === 1 ? "Answer" : `${decided.answers.length} answers`),
      h("span", { class: "hint" }, `in ${milliseconds(decided.timings_ms.total)} ms`),
      h("span", { class: "stale" }, "The request was changed since")),
    h("div", { class: "answers" }, decided.answers.map((answer, index) => answerCard(answer, asked[index], index))),
    costs(decided),
    made(decided));
}

/// The answers in one sentence each, to be read aloud.
export function inWords(decided, asked) {
  return decided.answers.map((answer, index) => `${asked[index] || `Question ${index + 1}`} ${verdict(answer).join(", ")}.`).join(" ");
}

/// Shows why nothing was decided.
export function showRefusal(host, { status, kind, field, message }) {
  const facts = [status > 0 && `status ${status}`, kind, field && `field ${field}`].filter(Boolean);
  host.replaceChildren(
    h("div", { class: "panel-head" }, h("h2", {}, "Not decided")),
    h("div", { class: "refusal" }, h("p", {}, message), facts.length > 0 && h("p", { class: "facts mono" }, facts.join(" · "))));
}

export function showNothing(host) {
  host.replaceChildren(
    h("div", { class: "panel-head" }, h("h2", {}, "Answer")),
    h("p", { class: "empty" }, "Press ", h("b", {}, "Decide"), " to ask the model. The answer is one forward pass: a probability for every option, and no text is generated."));
}
