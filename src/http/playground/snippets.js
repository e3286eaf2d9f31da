// The request as code. Every value is quoted for the language that it stands in.

/// One word of a POSIX shell, whatever it holds: only the quote itself ends a quoted word.
export function shellWord(text) {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

/// The value of curl's `-F`: within its double quotes, a backslash and a double quote are escaped.
function curlFile(name) {
  return `@"${name.replaceAll("\\", "\\\\").replaceAll('"', '\\"')}"`;
}

const KEY_VARIABLE = "ASSIZE_API_KEY";

export function curl(url, json, files, withKey) {
  const lines = [`curl -sS ${shellWord(url)}`];
  if (withKey) lines.push(`  -H "authorization: Bearer $${KEY_VARIABLE}"`);
  if (files.length === 0) {
    lines.push(`  -H 'content-type: application/json'`, `  --data-raw ${shellWord(json)}`);
  } else {
    lines.push(`  --form-string ${shellWord(`request=${json}`)}`);
    for (const { part, file } of files) lines.push(`  -F ${shellWord(`${part}=${curlFile(file.name)}`)}`);
  }
  return lines.join(" \\\n");
}

/// A JSON text as a Python expression. Numbers stay as they are written; strings are written again, because Python does
/// not know every escape of JSON.
export function pythonLiteral(json) {
  const names = { true: "True", false: "False", null: "None" };
  return json.replace(/"(?:[^"\\]|\\.)*"|\b(?:true|false|null)\b/g, (token) => names[token] ?? pythonString(JSON.parse(token)));
}

/// A Python string; what JSON writes of a string is one, but for a line separator that editors may break at.
function pythonString(text) {
  return JSON.stringify(text).replace(/[\u007f-\u009f\u2028\u2029\ufeff]/g, (letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

export function python(url, json, files, withKey) {
  const imports = ["json", "urllib.request"];
  if (files.length > 0) imports.push("base64");
  if (withKey) imports.push("os");
  const headers = ['"content-type": "application/json"'];
  if (withKey) headers.push(`"authorization": "Bearer " + os.environ["${KEY_VARIABLE}"]`);
  const lines = imports.sort().map((name) => `import ${name}`);
  if (files.length > 0) {
    lines.push("", "", "def medium(kind, path):", '    with open(path, "rb") as file:', '        return {"type": kind, "data_base64": base64.b64encode(file.read()).decode()}', "");
  }
  lines.push("", `body = ${pythonLiteral(json)}`);
  if (files.length > 0) {
    lines.push('body["media"] = [', ...files.map(({ kind, file }) => `    medium(${pythonString(kind)}, ${pythonString(file.name)}),`), "]");
  }
  lines.push(
    "request = urllib.request.Request(",
    `    ${pythonString(url)},`,
    "    data=json.dumps(body).encode(),",
    `    headers={${headers.join(", ")}},`,
    ")",
    "with urllib.request.urlopen(request) as response:",
    "    decided = json.load(response)",
    'for answer in decided["answers"]:',
    "    print(json.dumps(answer, ensure_ascii=False))",
  );
  return lines.join("\n");
}
