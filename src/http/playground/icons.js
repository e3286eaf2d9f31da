// Small line icons, drawn on a 16 by 16 grid in the colour of the text beside them.

const SVG = "http://www.w3.org/2000/svg";
const PATHS = {
  up: "M8 13V3.5M3.8 7.5 8 3.3l4.2 4.2",
  down: "M8 3v9.5M3.8 8.5 8 12.7l4.2-4.2",
  remove: "M3.8 3.8l8.4 8.4M12.2 3.8l-8.4 8.4",
  add: "M8 3v10M3 8h10",
  copy: "M5.5 5.5h7v8h-7zM3.5 10.5v-8h7",
  done: "M3 8.5l3.3 3.3L13 4.8",
  sun: "M8 5.2a2.8 2.8 0 1 1 0 5.6 2.8 2.8 0 0 1 0-5.6M8 1.2v1.6M8 13.2v1.6M1.2 8h1.6M13.2 8h1.6M3.2 3.2l1.1 1.1M11.7 11.7l1.1 1.1M12.8 3.2l-1.1 1.1M4.3 11.7l-1.1 1.1",
  moon: "M13.2 9.6A5.6 5.6 0 0 1 6.4 2.8a5.6 5.6 0 1 0 6.8 6.8z",
  attach: "M2.5 4.5h11v8h-11zM2.5 11l3.2-3.2 2.3 2.3 2.4-2.6 3.1 3.2M6 6.8h.01",
};

export function icon(name) {
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("viewBox", "0 0 16 16");
  svg.setAttribute("aria-hidden", "true");
  svg.setAttribute("class", "glyph");
  const path = document.createElementNS(SVG, "path");
  path.setAttribute("d", PATHS[name]);
  svg.append(path);
  return svg;
}
