// The forward pass of a translator. The comment above a function names the Python function of the
// course that it follows.
//
// A vector is a Float32Array; a sequence `x` is an array of vectors, one for each position.
"use strict";

function dot(a, b) {
  let sum = 0;
  for (let i = 0; i < a.length; i++) sum += a[i] * b[i];
  return sum;
}

// The sum of two sequences; the second may be longer.
function add(x, y) {
  return x.map((vector, position) => vector.map((number, i) => number + y[position][i]));
}

// What torch.nn.Linear does; `weight` is an array of rows, one for each number of the output.
function linear({ weight, bias }, x) {
  return x.map((vector) => bias.map((number, row) => number + dot(weight[row], vector)));
}

function softmax(scores) {
  const highest = Math.max(...scores);
  const powers = scores.map((score) => Math.exp(score - highest));
  const sum = powers.reduce((a, b) => a + b);
  return powers.map((power) => power / sum);
}

// model/positional_encoding.py: sinusoidal_encoding
function sinusoidalEncoding(length, dModel) {
  const encoding = Array.from({ length }, () => new Float32Array(dModel));
  for (let position = 0; position < length; position++) {
    for (let i = 0; i < dModel / 2; i++) {
      const angle = position * 10000 ** ((-2 * i) / dModel);
      encoding[position][2 * i] = Math.sin(angle);
      encoding[position][2 * i + 1] = Math.cos(angle);
    }
  }
  return encoding;
}

// model/attention.py: scaled_dot_product_attention
function scaledDotProductAttention(query, key, value) {
  const rootOfDk = Math.sqrt(query[0].length);
  const weights = query.map((q) => softmax(key.map((k) => dot(q, k) / rootOfDk)));
  const blend = (row, i) => row.reduce((sum, weight, j) => sum + weight * value[j][i], 0);
  const output = weights.map((row) => value[0].map((_, i) => blend(row, i)));
  return { output, weights };
}

// model/multi_head_attention.py: split_heads
function splitHeads(x, heads) {
  const piece = (vector, head) => {
    const dK = vector.length / heads;
    return vector.subarray(head * dK, (head + 1) * dK);
  };
  return Array.from({ length: heads }, (_, head) => x.map((vector) => piece(vector, head)));
}

// model/multi_head_attention.py: merge_heads
function mergeHeads(x) {
  return x[0].map((_, position) => new Float32Array(x.flatMap((head) => [...head[position]])));
}

// model/multi_head_attention.py: MultiHeadAttention.forward
function multiHeadAttention(attention, query, memory) {
  return lookUp(attention, query, keysAndValues(attention, memory)).output;
}

// model/multi_head_attention.py: MultiHeadAttention.keys_and_values
function keysAndValues(attention, memory) {
  const { heads } = attention.config;
  const key = splitHeads(linear(attention.key_projection, memory), heads);
  const value = splitHeads(linear(attention.value_projection, memory), heads);
  return { key, value };
}

// model/multi_head_attention.py: MultiHeadAttention.look_up
// It also hands out the attention weights, head by head: the page draws them. And where the reader
// has silenced a head, zeros take the place of what it gathered.
function lookUp(attention, query, { key, value }) {
  const q = splitHeads(linear(attention.query_projection, query), attention.config.heads);
  const found = q.map((_, head) => scaledDotProductAttention(q[head], key[head], value[head]));
  for (const head of attention.silenced) found[head].output.forEach((vector) => vector.fill(0));
  const merged = mergeHeads(found.map((head) => head.output));
  const weights = found.map((head) => head.weights);
  return { output: linear(attention.output_projection, merged), weights };
}

// model/feed_forward.py: FeedForward.forward
function feedForward({ expand, contract }, x) {
  const relu = (vector) => vector.map((number) => Math.max(number, 0));
  return linear(contract, linear(expand, x).map(relu));
}

// model/layers.py: layer_norm
function layerNorm({ gain, bias }, x, eps = 1e-5) {
  return x.map((vector) => {
    const mean = vector.reduce((sum, number) => sum + number) / vector.length;
    const squares = vector.reduce((sum, number) => sum + (number - mean) ** 2, 0);
    const root = Math.sqrt(squares / vector.length + eps);
    return vector.map((number, i) => (gain[i] * (number - mean)) / root + bias[i]);
  });
}

// model/layers.py: AddNorm.forward
function addNorm({ norm, config }, x, sublayer) {
  if (config.norm_first) return add(x, sublayer(layerNorm(norm, x)));
  return layerNorm(norm, add(x, sublayer(x)));
}

// model/layers.py: _final_norm
function finalNorm({ norm }, x) {
  return norm ? layerNorm(norm, x) : x;
}

// model/layers.py: EncoderLayer.forward
function encoderLayer(layer, x) {
  x = addNorm(layer.add_norm_attention, x, (x) => multiHeadAttention(layer.self_attention, x, x));
  return addNorm(layer.add_norm_feed_forward, x, (x) => feedForward(layer.feed_forward, x));
}

// model/transformer.py: Embeddings.forward
function embeddings({ table }, ids) {
  const scale = Math.sqrt(table.weight[0].length);
  return ids.map((id) => table.weight[id].map((number) => number * scale));
}

// model/transformer.py: Transformer.encode
function encode(model, sourceIds) {
  let x = add(embeddings(model.source_embeddings, sourceIds), model.positions);
  for (const layer of model.encoder.layers) x = encoderLayer(layer, x);
  return finalNorm(model.encoder, x);
}

class CachedDecoder {
  // translation/decoding/cached.py: CachedDecoder.__init__
  constructor(model, memory) {
    this.model = model;
    const { layers } = model.decoder;
    this.source = layers.map((layer) => keysAndValues(layer.cross_attention, memory));
    this.target = layers.map((layer) => keysAndValues(layer.self_attention, []));
    this.length = 0;
  }

  // translation/decoding/cached.py: CachedDecoder.step
  // The output layer has no bias: a logit is the product of the vector and a row of its matrix.
  step(token) {
    const { target_embeddings: embedded, positions, decoder, output } = this.model;
    const crossAttention = [];
    let x = add(embeddings(embedded, [token]), [positions[this.length]]);
    decoder.layers.forEach((layer, number) => {
      x = this.through(layer, number, x, crossAttention);
    });
    this.length += 1;
    const [last] = finalNorm(decoder, x);
    return { logits: output.weight.map((row) => dot(row, last)), crossAttention };
  }

  // translation/decoding/cached.py: CachedDecoder.reorder
  // Here each prefix has a decoder of its own, and who goes on from it takes a copy. That copies no
  // numbers: what was appended never changes, so both may hold it.
  copy() {
    const copy = Object.assign(Object.create(CachedDecoder.prototype), this);
    copy.target = [...this.target];
    return copy;
  }

  // translation/decoding/cached.py: CachedLayer.step
  // Each head's weights have one row, that of the new word.
  through(layer, number, x, crossAttention) {
    const lookAtTarget = (x) => {
      const added = keysAndValues(layer.self_attention, x);
      this.target[number] = append(this.target[number], added);
      return lookUp(layer.self_attention, x, this.target[number]).output;
    };
    const lookAtSource = (x) => {
      const { output, weights } = lookUp(layer.cross_attention, x, this.source[number]);
      crossAttention.push(weights.map(([row]) => row));
      return output;
    };
    x = addNorm(layer.add_norm_self_attention, x, lookAtTarget);
    x = addNorm(layer.add_norm_cross_attention, x, lookAtSource);
    return addNorm(layer.add_norm_feed_forward, x, (x) => feedForward(layer.feed_forward, x));
  }
}

// translation/decoding/cached.py: CachedLayer._append
function append(old, added) {
  const longer = (heads, more) => heads.map((head, number) => [...head, ...more[number]]);
  return { key: longer(old.key, added.key), value: longer(old.value, added.value) };
}
