// The two routes that the page asks: which model is served, and what it decides.

/// An answer of the server that is no 200.
export class Refused extends Error {
  constructor(status, error) {
    super(error.message);
    this.status = status;
    this.kind = error.type;
    this.field = error.field ?? null;
  }
}

/// Relative to the page, so that it works below a prefix of a proxy too.
export function address(path) {
  return new URL(path, document.baseURI).href;
}

async function refusal(response) {
  let body = null;
  try {
    body = await response.json();
  } catch {
    // Something between the page and the server answered.
  }
  const error = body && typeof body.error === "object" && body.error !== null ? body.error : {};
  const message = error.message || `the server answered with status ${response.status} and without a reason`;
  return new Refused(response.status, { type: error.code ?? error.type ?? "", message, field: error.field });
}

async function ask(path, key, options = {}) {
  const headers = new Headers(options.headers);
  if (key) headers.set("authorization", `Bearer ${key}`);
  let response;
  try {
    response = await fetch(address(path), { ...options, headers, credentials: "same-origin", cache: "no-store" });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Refused(0, { type: "unreachable", message: "The server cannot be reached. Is it still running?" });
  }
  if (!response.ok) throw await refusal(response);
  return response.json();
}

/// The served model, as System One's clients read it.
export async function servedModel(key) {
  const body = await ask("v1/models", key);
  return body.models[0];
}

/// Asks for decisions: JSON alone, or parts where there are files.
export function decide(key, json, files, signal) {
  if (files.length === 0) {
    return ask("decide", key, { method: "POST", body: json, headers: { "content-type": "application/json" }, signal });
  }
  const form = new FormData();
  form.append("request", new Blob([json], { type: "application/json" }), "request.json");
  for (const { part, file } of files) form.append(part, file, file.name);
  return ask("decide", key, { method: "POST", body: form, signal });
}
