// What the reader sees of a translator: a sentence goes in, words and their attention come out.
"use strict";
{
  const PAUSE = 250; // milliseconds between two words, so that the eye can follow
  const MOST_PAUSES = 20; // a translation that finds no end should not take half a minute
  // The picture has to fit, and the end of the sentence needs a place, too.
  const MOST_WORDS = Math.min(20, CHECKPOINT.config.max_len - 1);
  const LEGEND_STEPS = 10;

  const translator = new Translator(CHECKPOINT);
  const knownWords = CHECKPOINT.source.slice(Object.keys(CHECKPOINT.special).length).sort();
  const views = attentionViews(CHECKPOINT.config);
  const { source: from, target: into } = CHECKPOINT.languages;
  const [form, input, offers, nextExample, read, translation, status, picture, view, grid] =
    elements("form input offers example read translation status picture view grid");
  const [inWords, list] = elements("in-words words");

  let words = []; // the sentence on show
  let steps = []; // what the translator has said to it so far
  let runs = 0;
  let examples = 0;

  function elements(names) {
    return names.split(" ").map((name) => document.getElementById(`live-${name}`));
  }

  function element(tag, attributes, ...content) {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    made.append(...content);
    return made;
  }

  // Each way to look at the cross-attention of one word, by its name: one head, or their mean.
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

  const weightsOf = ({ crossAttention }) => views.get(view.value)(crossAttention);

  // Drawing

  function sourceWord(word) {
    return translator.knows(word) ? word : element("span", { class: "unknown" }, word);
  }

  function drawGrid() {
    const end = CHECKPOINT.source[CHECKPOINT.special.EOS];
    const heading = (text, attributes) => element("th", attributes, element("span", {}, text));
    const columns = [...words.map(sourceWord), end].map((word) => heading(word, { scope: "col" }));
    grid.tHead.replaceChildren(
      element(
        "tr",
        {},
        heading(`${into.name} word ↓`, { scope: "col", rowspan: 2, class: "corner" }),
        heading(`looked at ${from.name} word`, { scope: "colgroup", colspan: columns.length }),
      ),
      element("tr", {}, ...columns),
    );
    grid.tBodies[0].replaceChildren(...steps.map(row));
  }

  function row(step) {
    const cells = weightsOf(step).map((weight) => {
      const [colour, figures] = SHADES[Math.round(weight * (SHADES.length - 1))];
      const style = `background-color: ${colour}; color: ${figures}`;
      return element("td", { style }, weight.toFixed(2));
    });
    const word = element("th", { scope: "row", lang: into.code }, step.word);
    return element("tr", {}, word, ...cells);
  }

  function drawLegend() {
    const stops = Array.from({ length: LEGEND_STEPS + 1 }, (_, i) => {
      return SHADES[Math.round((i / LEGEND_STEPS) * (SHADES.length - 1))][0];
    });
    const bar = document.querySelector("#live-legend .bar");
    bar.style.backgroundImage = `linear-gradient(to right, ${stops.join(", ")})`;
  }

  function say() {
    const said = steps.filter(({ ends }) => !ends).map(({ word }) => word);
    translation.textContent = joinWords(said);
  }

  // The picture once more for those who do not see it: the strongest cell of each row.
  function describe() {
    const columns = [...words, "the end"];
    const looks = steps.map((step) => {
      const weights = weightsOf(step);
      const strongest = columns[weights.indexOf(Math.max(...weights))];
      const word = step.ends ? "the end" : element("span", { lang: into.code }, step.word);
      return [word, ` at ${strongest}`];
    });
    const separated = looks.flatMap((look, i) => (i ? ["; ", ...look] : look));
    inWords.replaceChildren(`Where each word looked most (${view.value}): `, ...separated, ".");
  }

  // Translating

  function complaint() {
    if (words.length === 0) return `Write a sentence in ${from.name} first.`;
    if (words.length > MOST_WORDS) {
      return `Write at most ${MOST_WORDS} words; there are ${words.length}.`;
    }
    return "";
  }

  function unknownWords() {
    const unknown = [...new Set(words.filter((word) => !translator.knows(word)))];
    if (unknown.length === 0) return "";
    const are = unknown.length === 1 ? "It does not know the word" : "It does not know the words";
    return `${are} ${unknown.join(", ")}, underlined above, and guesses. `;
  }

  // Without pauses the whole sentence appears at once.
  async function translate({ pauses, announce }) {
    const run = ++runs;
    words = splitWords(input.value);
    steps = [];
    const problem = complaint();
    input.setAttribute("aria-invalid", problem !== "");
    status.textContent = problem;
    read.replaceChildren(...words.flatMap((word) => [sourceWord(word), " "]));
    say();
    inWords.textContent = "";
    picture.hidden = problem !== "";
    if (problem) {
      input.focus();
      return;
    }
    drawGrid();
    let milliseconds = 0;
    const running = translator.translate(words);
    for (;;) {
      const before = performance.now();
      const { value: step, done } = running.next();
      milliseconds += performance.now() - before;
      if (done) break;
      steps.push(step);
      grid.tBodies[0].append(row(step));
      say();
      if (pauses && steps.length < MOST_PAUSES) {
        await new Promise((resolve) => setTimeout(resolve, PAUSE));
        if (run !== runs) return; // another sentence has taken its place
      }
    }
    describe();
    const speed = `${(milliseconds / steps.length).toFixed(1)} ms a word.`;
    const spoken = { class: "visually-hidden", lang: into.code }; // for screen readers
    const heard = announce ? [element("span", spoken, `${translation.textContent}. `)] : [];
    status.replaceChildren(...heard, unknownWords(), `Computed here, ${speed}`);
  }

  // Completes the word that is being typed.
  function offerWords() {
    const [, before = "", begun] = input.value.match(/^(.*\s)?(\S*)$/s);
    const begins = (word) => word.startsWith(begun.toLowerCase()) && word.length > begun.length;
    const fitting = begun ? knownWords.filter(begins) : [];
    offers.replaceChildren(...fitting.map((word) => element("option", { value: before + word })));
  }

  function showExample(options) {
    input.value = EXAMPLES[examples++ % EXAMPLES.length];
    translate(options);
  }

  function begin() {
    const names = [...views.keys()];
    view.replaceChildren(...names.map((name) => element("option", {}, name)));
    view.value = names.at(-1);
    list.textContent = knownWords.join(", ");
    drawLegend();
    const moves = () => !matchMedia("(prefers-reduced-motion: reduce)").matches;
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      translate({ pauses: moves(), announce: true });
    });
    nextExample.addEventListener("click", () => showExample({ pauses: moves(), announce: true }));
    input.addEventListener("input", offerWords);
    view.addEventListener("change", () => {
      drawGrid();
      describe();
    });
    nextExample.hidden = EXAMPLES.length === 0;
    if (EXAMPLES.length > 0) showExample({ pauses: false, announce: false });
  }

  begin();
}
