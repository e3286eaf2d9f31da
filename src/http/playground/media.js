// Pictures, sounds and videos: chosen, dropped or pasted, shown, ordered, removed.

import { byId, h } from "./dom.js";
import { icon } from "./icons.js";

const NAMES = { image: "picture", audio: "sound", video: "video" };
const PLURALS = { image: "pictures", audio: "sounds", video: "videos" };
const ENDINGS = [
  ["image", /\.(jpe?g|png|webp|gif|bmp|tiff?)$/i],
  ["audio", /\.(wav|mp3|flac|ogg|oga|opus|aac|m4a|amr)$/i],
  ["video", /\.(mp4|m4v|mov|webm|mkv|avi)$/i],
];

function kindOf(file) {
  const kind = file.type.split("/")[0];
  if (kind in NAMES) return kind;
  return ENDINGS.find(([, ending]) => ending.test(file.name))?.[0] ?? null;
}

function inWords(kinds) {
  const words = kinds.map((kind) => PLURALS[kind]);
  return words.length < 2 ? words.join("") : `${words.slice(0, -1).join(", ")} and ${words.at(-1)}`;
}

export function inBytes(bytes) {
  if (bytes < 1000) return `${bytes} bytes`;
  return bytes < 1e6 ? `${(bytes / 1e3).toFixed(1)} kB` : `${(bytes / 1e6).toFixed(1)} MB`;
}

export class MediaBox {
  constructor(onchange) {
    this.host = byId("media");
    this.onchange = onchange;
    this.kinds = null;
    this.modelName = "This model";
    this.media = [];
    this.refusal = "";
    this.#listen();
    this.#draw();
  }

  /// What the served model takes; `null` while that is not known.
  offer(modelName, kinds) {
    this.modelName = modelName;
    this.kinds = kinds;
    if (kinds && kinds.length === 0) this.#drop();
    this.#draw();
  }

  clear() {
    this.#drop();
    this.refusal = "";
    this.#draw();
  }

  /// As they are sent: each with the name of its part.
  parts() {
    return this.media.map(({ kind, file }, index) => ({ kind, file, part: `${kind}-${index + 1}` }));
  }

  bytes() {
    return this.media.reduce((sum, { file }) => sum + file.size, 0);
  }

  anchor(index) {
    const row = index === null ? null : this.host.querySelectorAll(".medium")[index];
    return row ? row.querySelector("select") : this.host.querySelector("input") ?? this.host.querySelector(".drop");
  }

  add(files) {
    const refused = [];
    for (const file of files) {
      const kind = kindOf(file);
      if (kind === null) refused.push(`${file.name} is not a picture, sound or video.`);
      else if (!this.kinds?.includes(kind)) refused.push(`${file.name}: ${this.modelName} takes no ${PLURALS[kind]}.`);
      else if (file.size === 0) refused.push(`${file.name} is empty.`);
      else this.media.push({ kind, file, url: URL.createObjectURL(file) });
    }
    this.refusal = refused.join(" ");
    this.#draw();
    this.onchange();
  }

  #drop() {
    for (const { url } of this.media) URL.revokeObjectURL(url);
    this.media = [];
  }

  #listen() {
    const hasFiles = (event) => event.dataTransfer?.types.includes("Files");
    const takes = () => this.kinds?.length > 0;
    let depth = 0;
    const mark = () => this.host.classList.toggle("over", depth > 0 && takes());
    addEventListener("dragenter", (event) => {
      if (hasFiles(event)) depth += 1;
      mark();
    });
    addEventListener("dragleave", (event) => {
      if (hasFiles(event)) depth = Math.max(0, depth - 1);
      mark();
    });
    addEventListener("dragover", (event) => {
      if (!hasFiles(event)) return;
      // Else the browser would leave the page to show the file.
      event.preventDefault();
      event.dataTransfer.dropEffect = takes() ? "copy" : "none";
    });
    addEventListener("drop", (event) => {
      depth = 0;
      mark();
      if (!hasFiles(event)) return;
      event.preventDefault();
      if (takes()) this.add(event.dataTransfer.files);
    });
    addEventListener("paste", (event) => {
      const files = [...(event.clipboardData?.files ?? [])];
      if (files.length === 0 || !takes()) return;
      event.preventDefault();
      this.add(files);
    });
  }

  #draw() {
    if (this.kinds === null) {
      this.host.replaceChildren(h("p", { class: "drop off" }, "Which media the model takes is not known yet."));
      return;
    }
    if (this.kinds.length === 0) {
      this.host.replaceChildren(h("p", { class: "drop off" }, icon("attach"), h("span", {}, `${this.modelName} reads text only: pictures, sounds and videos cannot be added.`)));
      return;
    }
    const picker = h("input", {
      type: "file", multiple: true, class: "picker", accept: this.kinds.map((kind) => `${kind}/*`).join(","),
      "aria-label": `Add ${inWords(this.kinds)}`,
      onchange: () => {
        this.add(picker.files);
        this.host.querySelector("input").focus();
      },
    });
    const zone = h("label", { class: "drop" }, picker, icon("attach"),
      h("span", {}, h("strong", {}, `Add ${inWords(this.kinds)}`), h("span", { class: "hint" }, " choose, drop or paste; read in this order, before the state")));
    this.host.replaceChildren(
      ...(this.media.length > 0 ? [h("ol", { class: "media-list", "aria-label": "Media" }, this.media.map((medium, at) => this.#row(medium, at)))] : []),
      zone,
      ...(this.refusal ? [h("p", { class: "fault", role: "alert" }, this.refusal)] : []),
    );
  }

  #row(medium, at) {
    const { file } = medium;
    const again = (focus) => {
      this.#draw();
      const row = this.host.querySelectorAll(".medium")[focus];
      (row?.querySelector("select") ?? this.host.querySelector("input")).focus();
      this.onchange();
    };
    const move = (by) => {
      this.media.splice(at + by, 0, ...this.media.splice(at, 1));
      again(at + by);
    };
    const kind = h("select", { "aria-label": `${file.name} is a`, onchange: () => {
      medium.kind = kind.value;
      again(at);
    } }, this.kinds.map((name) => h("option", { value: name, selected: name === medium.kind }, NAMES[name])));
    const button = (name, label, onclick, disabled) =>
      h("button", { type: "button", class: "quiet icon", "aria-label": `${label} ${file.name}`, title: label, disabled, onclick }, icon(name));
    return h("li", { class: `medium field ${medium.kind}` },
      this.#preview(medium),
      h("div", { class: "medium-text" }, h("span", { class: "file", title: file.name }, file.name), h("span", { class: "hint" }, inBytes(file.size)), kind),
      h("div", { class: "entry-tools" },
        this.media.length > 1 && button("up", "Move up", () => move(-1), at === 0),
        this.media.length > 1 && button("down", "Move down", () => move(1), at === this.media.length - 1),
        button("remove", "Remove", () => {
          URL.revokeObjectURL(medium.url);
          this.media.splice(at, 1);
          again(Math.min(at, this.media.length - 1));
        })));
  }

  #preview({ kind, file, url }) {
    if (kind === "image") return h("img", { src: url, alt: `Preview of ${file.name}` });
    const player = h(kind, { src: url, controls: true, preload: "metadata", "aria-label": `Preview of ${file.name}` });
    if (kind === "video") player.muted = true;
    return player;
  }
}
