// What stands around the forward pass of `translator.js`: words become ids and ids become words,
// and the numbers of the checkpoint become a model.
"use strict";

class Translator {
  // translation/translator.py: Translator.load
  constructor({ config, shapes, weights, special, source, target }) {
    this.model = modelOf(config, shapes, weights);
    this.special = special;
    this.source = source;
    this.target = target;
  }

  // translation/translator.py: Translator.translate
  // It takes words, and hands out a word of the translation as soon as it is known.
  *translate(words) {
    const { EOS, UNK } = this.special;
    const ids = words.map((word) => (this.knows(word) ? this.source.indexOf(word) : UNK));
    for (const { token, crossAttention } of greedy(this.model, [...ids, EOS], this.special)) {
      yield { word: this.target[token], ends: token === EOS, crossAttention };
    }
  }

  knows(word) {
    return this.source.includes(word);
  }
}

// translation/corpora/vocabulary.py: WordTokenizer.tokens
// A translator that knows neither capitals nor punctuation does not need spaCy's rules: a word is a
// run of letters and digits, which may hold apostrophes and hyphens.
function splitWords(text) {
  const word = /[\p{L}\p{N}]+(?:['’-][\p{L}\p{N}]+)*/gu;
  return text.normalize("NFC").toLowerCase().match(word) ?? [];
}

// translation/corpora/vocabulary.py: WordTokenizer.decode
// Of Moses' rules it needs one: nothing stands between *l'* and the word behind it.
function joinWords(words) {
  return words.join(" ").replaceAll("' ", "'");
}

// A weight's name is its path: "encoder.layers.0.feed_forward.expand.weight" becomes
// model.encoder.layers[0].feed_forward.expand.weight. A matrix becomes an array of rows. A table
// that parts share comes once, under the name of the first.
function modelOf(config, shapes, weights) {
  const bytes = Uint8Array.from(atob(weights), (character) => character.charCodeAt(0));
  const numbers = Float32Array.from(new Uint16Array(bytes.buffer), fromHalf);
  let start = 0;
  const next = (length) => numbers.subarray(start, (start += length));
  const model = { positions: sinusoidalEncoding(config.max_len, config.d_model) };
  for (const [name, [rows, columns]] of Object.entries(shapes)) {
    const path = name.split(".");
    const leaf = path.pop();
    const part = path.reduce((part, key) => (part[key] ??= {}), model);
    part[leaf] = columns ? Array.from({ length: rows }, () => next(columns)) : next(rows);
  }
  for (const stack of [model.encoder, model.decoder]) {
    stack.layers = Object.values(stack.layers);
    for (const part of stack.layers.flatMap(Object.values)) part.config = config;
  }
  model.target_embeddings ??= model.source_embeddings;
  model.output ??= model.target_embeddings.table;
  return model;
}

// A number in half precision: 1 bit for the sign, 5 for the exponent, 10 for the fraction.
function fromHalf(bits) {
  const sign = bits & 0x8000 ? -1 : 1;
  const exponent = (bits >> 10) & 0x1f;
  const fraction = bits & 0x3ff;
  // The smallest numbers have exponent 0, and no 1 before the fraction.
  return exponent ? sign * 2 ** (exponent - 25) * (1024 + fraction) : sign * 2 ** -24 * fraction;
}
