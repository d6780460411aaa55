// Which translation the page gives: a beam of hypotheses, each with a decoder of its own.
"use strict";

// translation/decoding/beam.py: search
// A hypothesis is its newest token and its parent, so that all of them together are a tree. After
// each step it hands out the step's candidates, the most probable first, and the best hypothesis so
// far. A beam of 1 is greedy search.
function* search(model, sourceIds, special, beam) {
  const limit = Math.min(sourceIds.length + 50, model.positions.length - 1);
  const decoder = new CachedDecoder(model, encode(model, sourceIds));
  const canWin = ({ logProbability }) => !best || logProbability / limit > best.score;
  let live = [{ token: special.BOS, parent: null, length: 0, logProbability: 0, decoder }];
  let best = null;
  while (live.length > 0) {
    const candidates = live.flatMap((hypothesis) => children(hypothesis, beam, special.PAD));
    candidates.sort((a, b) => b.logProbability - a.logProbability);
    const kept = candidates.slice(0, beam);
    for (const hypothesis of kept) {
      hypothesis.ended = hypothesis.token === special.EOS || hypothesis.length === limit;
      if (hypothesis.ended && (!best || hypothesis.score > best.score)) best = hypothesis;
    }
    live = kept.filter((hypothesis) => !hypothesis.ended && canWin(hypothesis));
    yield { kept, best: best ?? live[0] };
  }
}

// A hypothesis, continued by each of its best next tokens. The score is what the ended ones are
// compared by: the mean log-probability (translation/decoding/beam.py: mean_length).
function children(parent, beam, pad) {
  const decoder = parent.decoder.copy();
  const { logits, crossAttention } = decoder.step(parent.token);
  const length = parent.length + 1;
  return bestTokens(logits, beam, pad).map((found) => {
    const logProbability = parent.logProbability + found.logProbability;
    const score = logProbability / length;
    return { token: found.token, parent, length, logProbability, score, decoder, crossAttention };
  });
}

// translation/decoding/beam.py: _best_tokens
function bestTokens(logits, beam, pad) {
  const best = [];
  logits.forEach((logit, token) => {
    if (token === pad || (best.length === beam && logit <= logits[best.at(-1)])) return;
    best.push(token);
    best.sort((a, b) => logits[b] - logits[a]);
    best.length = Math.min(best.length, beam);
  });
  const highest = Math.max(...logits);
  const sum = logits.reduce((sum, logit) => sum + Math.exp(logit - highest), 0);
  const logOfSum = highest + Math.log(sum);
  return best.map((token) => ({ token, logProbability: logits[token] - logOfSum }));
}

// A hypothesis and its ancestors, the eldest first: one for each token.
function pathTo(hypothesis) {
  const path = [];
  for (let node = hypothesis; node.parent; node = node.parent) path.unshift(node);
  return path;
}
