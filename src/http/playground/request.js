// From what was filled in to the JSON that is sent, and from a field of that JSON back to where it was filled in.

/// A question as it goes on the wire: only the fields of its type, and only those that say something.
function wireQuestion(question, isAlone) {
  const wire = {};
  if (question.id !== "") wire.id = question.id;
  // Options and levels say the type by themselves.
  if (question.type === "predicate") wire.type = "predicate";
  if (question.question !== "" || !isAlone) wire.question = question.question;
  if (question.type === "choice") {
    wire.options = question.options.map(({ name, description }) => (description === "" ? name : { name, description }));
  } else if (question.type === "score") {
    wire.levels = [...question.levels];
  } else {
    if (question.when_true !== "") wire.when_true = question.when_true;
    if (question.when_false !== "") wire.when_false = question.when_false;
  }
  return wire;
}

/// A whole number where the text is one, so that anything else reaches the server as it was typed.
function wholeNumber(text) {
  return /^-?\d{1,15}$/.test(text) ? Number(text) : text;
}

/// Everything that was filled in: `state` is JSON text; `media` are `{kind, part}`.
export function requestJson({ state, media, questions, truncate, orderAverages, deadline }) {
  const rest = {};
  if (media.length > 0) rest.media = media.map(({ kind, part }) => ({ type: kind, part }));
  if (questions.length === 1) Object.assign(rest, wireQuestion(questions[0], true));
  else rest.questions = questions.map((question) => wireQuestion(question, false));
  if (truncate !== "") rest.truncate = truncate;
  if (orderAverages !== "") rest.order_averages = wholeNumber(orderAverages);
  if (deadline !== "") rest.deadline_ms = wholeNumber(deadline);
  // A line break never stands inside a JSON string, so that lines can be indented without changing any value.
  const stateText = state.replace(/\r\n?|\n/g, "\n  ");
  const more = JSON.stringify(rest, null, 2);
  return more === "{}" ? `{\n  "state": ${stateText}\n}` : `{\n  "state": ${stateText},${more.slice(1)}`;
}

/// Where the field of an error was filled in: `{at: "state" | "media" | "question" | …}`.
export function placeOfField(field, questionCount) {
  const media = /^media(?:\[(\d+)\])?/.exec(field);
  if (media) return { at: "media", index: media[1] === undefined ? null : Number(media[1]) };
  const part = /^(?:image|audio|video)-(\d+)/.exec(field);
  if (part) return { at: "media", index: Number(part[1]) - 1 };
  if (/^state(?:[.[]|$)/.test(field)) return { at: "state" };
  const setting = /^(truncate|order_averages|deadline_ms)(?:[.[]|$)/.exec(field);
  if (setting) return { at: "setting", name: setting[1] };
  const one = /^questions\[(\d+)\]\.?(.*)$/.exec(field);
  if (one) return { at: "question", index: Number(one[1]), path: one[2] || "question" };
  if (field === "questions" || questionCount !== 1) return { at: "questions" };
  return { at: "question", index: 0, path: field };
}
