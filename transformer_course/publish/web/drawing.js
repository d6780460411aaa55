// The pictures: where the decoder looked, and how the search went.
"use strict";

const LEGEND_STEPS = 10;
// Pixels of the tree.
const TREE = { letter: 8, margin: 18, row: 50, top: 28, mark: 5 };

function element(tag, attributes, ...content) {
  return filled(document.createElement(tag), attributes, content);
}

function shape(tag, attributes, ...content) {
  const { namespaceURI } = document.querySelector("svg.tree");
  return filled(document.createElementNS(namespaceURI, tag), attributes, content);
}

function filled(made, attributes, content) {
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...content);
  return made;
}

// The head of the grid: what its rows are, and a column for each source token.
function gridHead(rows, columns, tokens) {
  const heading = (text, attributes) => element("th", attributes, element("span", {}, text));
  return [
    element(
      "tr",
      {},
      heading(`${rows} ↓`, { scope: "col", rowspan: 2, class: "corner" }),
      heading(`looked at ${columns}`, { scope: "colgroup", colspan: tokens.length }),
    ),
    element("tr", {}, ...tokens.map((token) => heading(token, { scope: "col" }))),
  ];
}

function gridRow(token, language, weights) {
  const cells = weights.map((weight) => {
    const [colour, figures] = SHADES[Math.round(weight * (SHADES.length - 1))];
    const style = `background-color: ${colour}; color: ${figures}`;
    return element("td", { style }, weight.toFixed(2));
  });
  return element("tr", {}, element("th", { scope: "row", lang: language }, token), ...cells);
}

// The colours from weight 0 to weight 1.
function gradient() {
  const stops = Array.from({ length: LEGEND_STEPS + 1 }, (_, i) => {
    return SHADES[Math.round((i / LEGEND_STEPS) * (SHADES.length - 1))][0];
  });
  return `linear-gradient(to right, ${stops.join(", ")})`;
}

// Each way to look at the cross-attention of one token, by its name: one head, or their mean.
function attentionViews({ decoder_layers, heads }) {
  const found = new Map();
  for (let layer = 0; layer < decoder_layers; layer++) {
    for (let head = 0; head < heads; head++) {
      found.set(`layer ${layer}, head ${head}`, (attention) => attention[layer][head]);
    }
    found.set(`layer ${layer}, mean of heads`, (attention) => meanOfRows(attention[layer]));
  }
  return found;
}

function meanOfRows(rows) {
  return rows[0].map((_, i) => rows.reduce((sum, row) => sum + row[i], 0) / rows.length);
}

// The tree of a search grows to the right: a column for each step, below each other what it kept.
function drawTree(svg, steps, best, tokenOf) {
  const onBestPath = new Set(pathTo(best));
  const places = new Map();
  let [left, height] = [TREE.margin, 0];
  for (const kept of steps) {
    const longest = Math.max(...kept.map((hypothesis) => tokenOf(hypothesis).length), 5);
    const width = longest * TREE.letter + TREE.margin;
    kept.forEach((hypothesis, rank) => {
      places.set(hypothesis, { x: left + width / 2, y: TREE.top + rank * TREE.row });
    });
    left += width;
    height = Math.max(height, TREE.top + kept.length * TREE.row);
  }
  const lines = [...places].map(([node, place]) => {
    return edge(places.get(node.parent), place, onBestPath.has(node));
  });
  const marks = [...places].flatMap(([node, place]) => mark(node, place, tokenOf(node)));
  svg.setAttribute("width", left);
  svg.setAttribute("height", height);
  svg.replaceChildren(...lines, ...marks);
}

// All first tokens come from one place, at the left of the first of them.
function edge(from, to, best) {
  const { x, y } = from ?? { x: TREE.mark, y: TREE.top };
  return shape("line", { x1: x, y1: y, x2: to.x, y2: to.y, class: best ? "best" : "" });
}

function mark({ ended, logProbability }, { x, y }, token) {
  const size = TREE.mark;
  const square = { x: x - size, y: y - size, width: 2 * size, height: 2 * size };
  return [
    ended ? shape("rect", square) : shape("circle", { cx: x, cy: y, r: size }),
    shape("text", { x, y: y - 2 * size }, token),
    shape("text", { x, y: y + 4 * size, class: "figure" }, logProbability.toFixed(2)),
  ];
}
