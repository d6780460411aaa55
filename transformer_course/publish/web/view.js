// What the reader does with a translator: choose one, write a sentence, look at what became of it.
"use strict";
{
  const PAUSE = 250; // milliseconds between two steps, so that the eye can follow
  const MOST_PAUSES = 20; // a translation that finds no end should not take half a minute
  const UNITS = {
    word: { most: 20, reads: "It reads neither capital letters nor punctuation." },
    piece: { most: 60, reads: "▁ marks the beginning of a word." },
  }; // most: the picture has to fit

  // The scripts of translators that are loaded on request are beside this one.
  const FOLDER = document.currentScript.src;

  const ready = new Map(); // translators by their names, once they are loaded
  let name = ""; // of the translator on show
  let translator = null;
  let views = new Map();
  let sentence = ""; // on show, as it was written
  let tokens = []; // of it
  let steps = []; // what the search kept at each step
  let best = null; // and the best hypothesis so far
  let runs = 0;
  let examples = 0;
  let loading = false;

  const [form, input, offers, nextExample, beam] = elements("form input offers example beam");
  const [hint, read, translation, status] = elements("hint read translation status");
  const [picture, view, grid, inWords] = elements("picture view grid in-words");
  const [beams, tree, ended] = elements("beams tree ended");
  const [heads, allHeads, list] = elements("heads all-heads words");
  const [choices, progress] = elements("choices loading");

  function elements(names) {
    return names.split(" ").map((name) => document.getElementById(`live-${name}`));
  }

  const checkpoint = () => TRANSLATORS[name];
  const language = (side) => checkpoint().languages[side];
  const targetToken = ({ token }) => translator.target.all[token];
  const saysEnd = ({ token }) => token === translator.special.EOS;
  const weightsOf = ({ crossAttention }) => views.get(view.value)(crossAttention);
  const idsOf = (hypothesis) => pathTo(hypothesis).map((node) => node.token);
  const textOf = (hypothesis) => translator.target.text(idsOf(hypothesis));

  // What the search found

  function sourceToken(token) {
    return translator.source.knows(token) ? token : element("span", { class: "unknown" }, token);
  }

  function drawGrid() {
    const { unit } = translator.source;
    const end = translator.source.all[translator.special.EOS];
    const columns = [...tokens.map(sourceToken), end];
    const named = (side) => `${language(side).name} ${unit}`;
    grid.tHead.replaceChildren(...gridHead(named("target"), named("source"), columns));
    const row = (node) => gridRow(targetToken(node), language("target").code, weightsOf(node));
    grid.tBodies[0].replaceChildren(...pathTo(best).map(row));
  }

  // The picture once more for those who do not see it: the strongest cell of each row.
  function describe() {
    const columns = [...tokens, "the end"];
    const looks = pathTo(best).map((node) => {
      const weights = weightsOf(node);
      const strongest = columns[weights.indexOf(Math.max(...weights))];
      const word = element("span", { lang: language("target").code }, targetToken(node));
      return [saysEnd(node) ? "the end" : word, ` at ${strongest}`];
    });
    const separated = looks.flatMap((look, i) => (i ? ["; ", ...look] : look));
    const { unit } = translator.source;
    inWords.replaceChildren(`Where each ${unit} looked most (${view.value}): `, ...separated, ".");
  }

  function drawSearch() {
    drawTree(tree, steps, best, targetToken);
    const found = steps.flat().filter((hypothesis) => hypothesis.ended);
    found.sort((a, b) => b.score - a.score);
    const row = (hypothesis) => {
      const { logProbability, length, score } = hypothesis;
      const figures = [logProbability.toFixed(2), length, score.toFixed(3)];
      const cells = figures.map((figure) => element("td", {}, figure));
      return element("tr", {}, element("th", { scope: "row" }, textOf(hypothesis)), ...cells);
    };
    ended.tBodies[0].replaceChildren(...found.map(row));
  }

  function draw() {
    translation.textContent = textOf(best);
    drawGrid();
    if (!beams.hidden) drawSearch();
  }

  // Translating

  function complaint() {
    const { unit } = translator.source;
    const most = Math.min(UNITS[unit].most, checkpoint().config.max_len - 1);
    if (tokens.length === 0) return `Write a sentence in ${language("source").name} first.`;
    if (tokens.length > most) return `Write at most ${most} ${unit}s; there are ${tokens.length}.`;
    return "";
  }

  function unknownTokens() {
    const unknown = [...new Set(tokens.filter((token) => !translator.source.knows(token)))];
    if (unknown.length === 0) return "";
    const units = translator.source.unit + (unknown.length === 1 ? "" : "s");
    return `It does not know the ${units} ${unknown.join(", ")}, underlined above, and guesses. `;
  }

  // translation/evaluation/sureness.py: in_small_letters
  function inSmallLetters(sentence) {
    const letters = sentence.match(/[\p{Lowercase}\p{Uppercase}]/gu) ?? [];
    if (letters.length < 4 || /\p{Lowercase}/u.test(sentence)) return null;
    return sentence.charAt(0) + sentence.slice(1).toLowerCase();
  }

  // How surprising the translator finds its own words, beside what is usual.
  function doubts() {
    const small = inSmallLetters(sentence) === null ? "" : "It reads capitals as small letters. ";
    const { doubt } = checkpoint();
    const isSure = doubt === null || best.score >= doubt;
    return small + (isSure ? "" : "It is not sure of this translation. ");
  }

  // Says whether the sentence can be translated, and clears away what belonged to the last one.
  function readSentence() {
    tokens = translator.source.tokens(inSmallLetters(sentence) ?? sentence);
    [steps, best] = [[], null];
    const problem = complaint();
    input.setAttribute("aria-invalid", problem !== "");
    status.textContent = problem;
    read.replaceChildren(...tokens.flatMap((token) => [sourceToken(token), " "]));
    translation.textContent = "";
    inWords.textContent = "";
    picture.hidden = problem !== "";
    beams.hidden = picture.hidden || beam.value === "1";
    if (problem) input.focus();
    return problem === "";
  }

  // Without pauses the whole sentence appears at once.
  async function translate({ pauses, announce }, written = input.value) {
    const run = ++runs;
    sentence = written;
    if (!readSentence()) return;
    let milliseconds = 0;
    const running = translator.translate(tokens, Number(beam.value));
    for (;;) {
      const before = performance.now();
      const { value: state, done } = running.next();
      milliseconds += performance.now() - before;
      if (done) break;
      steps.push(state.kept);
      best = state.best;
      if (pauses && steps.length < MOST_PAUSES) {
        draw();
        await new Promise((resolve) => setTimeout(resolve, PAUSE));
        if (run !== runs) return; // another sentence has taken its place
      }
    }
    draw();
    describe();
    report(milliseconds / steps.length, announce);
  }

  function report(milliseconds, announce) {
    const speed = `${milliseconds.toFixed(1)} ms a ${translator.source.unit}`;
    // For screen readers.
    const spoken = { class: "visually-hidden", lang: language("target").code };
    const said = translation.textContent.replace(/\.?$/, ". ");
    const heard = announce ? [element("span", spoken, said)] : [];
    status.replaceChildren(...heard, unknownTokens(), doubts(), `Computed here, ${speed}${silence()}.`);
  }

  const moves = () => !matchMedia("(prefers-reduced-motion: reduce)").matches;

  function translateAgain() {
    if (!picture.hidden) translate({ pauses: false, announce: true }, sentence);
  }

  // Completes the word that is being typed.
  function offerWords() {
    if (translator.source.unit !== "word") return;
    const [, before = "", begun] = input.value.match(/^(.*\s)?(\S*)$/s);
    const begins = (word) => word.startsWith(begun.toLowerCase()) && word.length > begun.length;
    const fitting = begun ? translator.source.known.filter(begins).sort() : [];
    offers.replaceChildren(...fitting.map((word) => element("option", { value: before + word })));
  }

  function showExample(options) {
    const all = checkpoint().examples;
    input.value = all[examples++ % all.length];
    translate(options);
  }

  // Heads that are switched off

  function attentions() {
    const { encoder, decoder } = translator.model;
    const named = (kind, part) => (layer, number) => [`${kind}, layer ${number}`, layer[part]];
    return [
      ...encoder.layers.map(named("encoder", "self_attention")),
      ...decoder.layers.map(named("decoder", "self_attention")),
      ...decoder.layers.map(named("cross-attention", "cross_attention")),
    ];
  }

  function silence() {
    const silenced = attentions().reduce((sum, [, attention]) => sum + attention.silenced.size, 0);
    if (silenced === 0) return "";
    return silenced === 1 ? "; one head is off" : `; ${silenced} heads are off`;
  }

  function drawHeads() {
    const numbers = [...Array(checkpoint().config.heads).keys()];
    const heading = (head) => element("th", { scope: "col" }, `head ${head}`);
    heads.tHead.replaceChildren(element("tr", {}, element("td", {}), ...numbers.map(heading)));
    const row = ([title, attention]) => {
      const cells = numbers.map((head) => element("td", {}, headSwitch(title, attention, head)));
      return element("tr", {}, element("th", { scope: "row" }, title), ...cells);
    };
    heads.tBodies[0].replaceChildren(...attentions().map(row));
  }

  function headSwitch(title, attention, head) {
    const box = element("input", { type: "checkbox", "aria-label": `${title}, head ${head}` });
    box.checked = !attention.silenced.has(head);
    box.addEventListener("change", () => {
      if (box.checked) attention.silenced.delete(head);
      else attention.silenced.add(head);
      translateAgain();
    });
    return box;
  }

  function switchAllOn() {
    for (const [, attention] of attentions()) attention.silenced.clear();
    drawHeads();
    translateAgain();
  }

  // Which translator

  function open(chosen) {
    name = chosen;
    if (!ready.has(name)) ready.set(name, new Translator(checkpoint()));
    translator = ready.get(name);
    views = attentionViews(checkpoint().config);
    const { unit } = translator.source;
    const names = [...views.keys()];
    view.replaceChildren(...names.map((name) => element("option", {}, name)));
    view.value = names.at(-1);
    fillIn("[data-unit]", () => unit);
    fillIn("[data-name]", ({ dataset }) => language(dataset.name).name);
    for (const part of parts("[data-lang]")) part.lang = language(part.dataset.lang).code;
    for (const button of choices.children) {
      button.setAttribute("aria-pressed", button.value === name);
    }
    const known = translator.source.known.sort();
    const number = known.length.toLocaleString("en");
    hint.textContent = `It knows ${number} ${unit}s. ${UNITS[unit].reads}`;
    list.textContent = known.join(", ");
    offers.replaceChildren();
    drawHeads();
    examples = 0;
    nextExample.hidden = checkpoint().examples.length === 0;
    if (!nextExample.hidden) showExample({ pauses: false, announce: false });
  }

  function parts(selector) {
    return document.querySelectorAll(`.live-translator ${selector}`);
  }

  function fillIn(selector, text) {
    for (const part of parts(selector)) part.textContent = text(part);
  }

  async function choose({ name, title, scripts, megabytes }) {
    if (loading) return;
    loading = true;
    try {
      if (!ready.has(name)) await loadAll(scripts, `${title}: loading ${megabytes} MB `);
      progress.replaceChildren();
      open(name);
    } catch (error) {
      progress.textContent = error.message;
    }
    loading = false;
  }

  async function loadAll(scripts, title) {
    const bar = element("progress", { max: scripts.length, value: 0, "aria-label": title });
    progress.replaceChildren(title, bar);
    for (const script of scripts) {
      await load(script);
      bar.value += 1;
    }
  }

  // A page that is opened from a folder may load scripts, but fetch nothing.
  function load(script) {
    return new Promise((resolve, reject) => {
      const loaded = element("script", { src: new URL(script, FOLDER) });
      const [file] = script.split("?");
      const remedy = "see to the connection, then press the button again";
      const problem = new Error(`${file} could not be loaded: ${remedy}.`);
      loaded.addEventListener("load", resolve);
      loaded.addEventListener("error", () => reject(problem));
      document.head.append(loaded);
    });
  }

  function begin() {
    const button = (choice) => {
      const made = element("button", { type: "button", value: choice.name }, choice.title);
      if (choice.megabytes) made.append(` (${choice.megabytes} MB)`);
      made.addEventListener("click", () => choose(choice));
      return made;
    };
    choices.replaceChildren(...CHOICES.map(button));
    choices.hidden = CHOICES.length === 1;
    document.querySelector("#live-legend .bar").style.backgroundImage = gradient();
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      translate({ pauses: moves(), announce: true });
    });
    nextExample.addEventListener("click", () => showExample({ pauses: moves(), announce: true }));
    input.addEventListener("input", offerWords);
    beam.addEventListener("change", translateAgain);
    allHeads.addEventListener("click", switchAllOn);
    view.addEventListener("change", () => {
      drawGrid();
      describe();
    });
    open(CHOICES[0].name);
  }

  begin();
}
