// The numbers and tokens of a checkpoint become a translator.
"use strict";

class Translator {
  // translation/translator.py: Translator.load
  constructor({ config, shapes, weights, special, source, target, scores }) {
    const tokenizer = (tokens) =>
      scores ? new SubwordTokenizer(tokens, special, scores) : new WordTokenizer(tokens, special);
    this.model = modelOf(config, shapes, weights);
    this.special = special;
    this.source = tokenizer(source);
    this.target = tokenizer(target);
  }

  // translation/translator.py: Translator.translate
  // It takes tokens, and hands out how far the search has come after each step.
  translate(tokens, beam = 1) {
    const ids = this.source.ids(tokens);
    return search(this.model, [...ids, this.special.EOS], this.special, beam);
  }
}

// A weight's name is its path: "encoder.layers.0.feed_forward.expand.weight" becomes
// model.encoder.layers[0].feed_forward.expand.weight. A matrix becomes an array of rows. A table
// that parts share comes once, under the name of the first.
function modelOf(config, shapes, weights) {
  const numbers = numbersOf(weights);
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
    for (const part of stack.layers.flatMap(Object.values)) {
      part.config = config;
      part.silenced = new Set(); // of an attention's heads, by their numbers
    }
  }
  model.target_embeddings ??= model.source_embeddings;
  model.output ??= model.target_embeddings.table;
  return model;
}

// Numbers in half precision, as base64: two bytes each, the lower one first. There are millions of
// them, but only 65,536 different ones.
function numbersOf(base64) {
  const bytes = atob(base64);
  const byte = (place) => bytes.charCodeAt(place);
  const all = Float32Array.from({ length: 2 ** 16 }, (_, bits) => fromHalf(bits));
  return new Float32Array(bytes.length / 2).map((_, i) => all[byte(2 * i) + 256 * byte(2 * i + 1)]);
}

// A number in half precision: 1 bit for the sign, 5 for the exponent, 10 for the fraction.
function fromHalf(bits) {
  const sign = bits & 0x8000 ? -1 : 1;
  const exponent = (bits >> 10) & 0x1f;
  const fraction = bits & 0x3ff;
  // The smallest numbers have exponent 0, and no 1 before the fraction.
  return exponent ? sign * 2 ** (exponent - 25) * (1024 + fraction) : sign * 2 ** -24 * fraction;
}
