"""Right answers in other styles, for the exercises of lesson 8."""

import math

import torch

from transformer_course import model
from transformer_course.translation import decoding
from transformer_course.translation.decoding import prefix_scorers


def probabilities_by_loops(logits, temperature=1.0, top_k=None, top_p=None):
    rows = []
    for row in (logits / temperature).softmax(-1):
        order = sorted(range(len(row)), key=lambda token: -float(row[token]))[:top_k]
        total, mass, kept = float(row[order].sum()), 0.0, []
        for token in order:
            if top_p is not None and mass >= top_p:
                break
            kept.append(token)
            mass += float(row[token]) / total
        new = torch.zeros_like(row)
        new[kept] = row[kept] / row[kept].sum()
        rows.append(new)
    return torch.stack(rows)


def probabilities_by_masks(logits, temperature=1.0, top_k=None, top_p=None):
    scores = logits / temperature
    if top_k:
        keep = torch.zeros_like(scores, dtype=torch.bool)
        keep = keep.scatter(-1, scores.topk(top_k, dim=-1).indices, True)
        scores = torch.where(keep, scores, float("-inf"))
    if top_p:
        ordered, places = scores.sort(dim=-1, descending=True)
        drop = ordered.softmax(-1).cumsum(-1) > top_p
        drop = drop.roll(1, -1)
        drop[:, 0] = False
        drop = drop.gather(-1, places.argsort(-1))
        scores = scores.masked_fill(drop, -torch.inf)
    return torch.softmax(scores, -1)


def greedy_by_lists(network, source_ids, bos, eos, max_length):
    network.eval()
    rows = [[bos] for _ in source_ids]
    with torch.no_grad():
        memory = network.encode(source_ids)
        for _ in range(max_length):
            scores = network.decode(torch.tensor(rows), memory, source_ids)
            for row, last in zip(rows, scores[:, -1], strict=True):
                row.append(network.config.pad_id if eos in row else int(last.argmax()))
            if all(eos in row for row in rows):
                break
    return torch.tensor([row[1:] for row in rows])


def greedy_with_a_rectangle(network, source_ids, bos, eos, max_length):
    with model.evaluating(network):
        batch, length = len(source_ids), 0
        target = torch.full((batch, max_length + 1), network.config.pad_id)
        target[:, 0] = bos
        memory = network.encode(source_ids)
        active = torch.ones(batch, dtype=torch.bool)
        while length < max_length and active.any():
            length += 1
            logits = network.decode(target[:, :length], memory, source_ids)
            token = logits.softmax(-1).max(dim=-1).indices[:, length - 1]
            target[active, length] = token[active]
            active &= token != eos
        return target[:, 1 : length + 1]


def greedy_of_the_course(network, source_ids, bos, eos, max_length):
    make_decoder = prefix_scorers.UncachedDecoder
    return decoding.greedy(network, source_ids, bos, eos, max_length, decoder=make_decoder)


def length_score_in_logarithms(log_probability, length, alpha=None):
    if alpha is not None:
        return log_probability * math.exp(-alpha * (math.log(5 + length) - math.log(6)))
    return log_probability / length


def length_score_as_in_the_paper(log_probability, length, alpha=None):
    penalty = length if alpha is None else (5 + length) ** alpha / (5 + 1) ** alpha
    return log_probability / penalty


def beam_with_full_width(step, bos, eos, beam, max_length, alpha):
    """As many live hypotheses as the beam has places, beside those that have ended."""

    def score(tokens, total):
        return total / ((5 + len(tokens)) / 6) ** alpha

    live, done = [([], 0.0)], []
    for _ in range(max_length):
        children = []
        for tokens, total in live:
            log_p = step([bos, *tokens])
            children += [([*tokens, t], total + log_p[t].item()) for t in range(len(log_p))]
        children = sorted(children, key=lambda child: -child[1])[: 2 * beam]
        done += [child for child in children if child[0][-1] == eos]
        live = [child for child in children if child[0][-1] != eos][:beam]
    best = max(done + live, key=lambda each: score(*each))
    return best[0], score(*best)


def beam_with_tensors(step, bos, eos, beam, max_length, alpha):
    prefixes, totals = [(bos,)], torch.zeros(1, dtype=torch.float64)
    ended = {}
    for _ in range(max_length):
        if not prefixes:
            break
        scores = totals[:, None] + torch.stack([step(prefix) for prefix in prefixes])
        best = scores.flatten().topk(min(beam, scores.numel()))
        grown = [
            (*prefixes[place // scores.shape[1]], place % scores.shape[1])
            for place in best.indices.tolist()
        ]
        alive = [prefix[-1] != eos for prefix in grown]
        for prefix, total, lives in zip(grown, best.values, alive, strict=True):
            if not lives:
                ended[prefix[1:]] = float(total)
        prefixes = [prefix for prefix, lives in zip(grown, alive, strict=True) if lives]
        totals = best.values[torch.tensor(alive)]
    ended |= {prefix[1:]: float(total) for prefix, total in zip(prefixes, totals, strict=True)}
    scored = {tokens: total / ((5 + len(tokens)) / 6) ** alpha for tokens, total in ended.items()}
    tokens = max(scored, key=scored.get)
    return torch.tensor(tokens), scored[tokens]


class ToyDecoder:
    def __init__(self, step):
        self.function, self.prefixes = step, [()]

    def step(self, tokens):
        self.prefixes = [(*p, t) for p, t in zip(self.prefixes, tokens.tolist(), strict=True)]
        return torch.stack([self.function(prefix) for prefix in self.prefixes])

    def reorder(self, parents):
        self.prefixes = [self.prefixes[parent] for parent in parents.tolist()]


def beam_of_the_course(step, bos, eos, beam, max_length, alpha):
    penalty = decoding.gnmt(alpha)
    ((best,),) = decoding.search(ToyDecoder(step), bos, eos, [max_length], beam, penalty)
    ended = len(best.tokens) < max_length
    return (*best.tokens, *[eos] * ended), best.score


def cached_step_prepending(decoder, token, memory, cache):
    """The order of the keys does not matter: each carries its position already."""
    place = cache["keys"][0].size(1) if cache else 0
    x = decoder.embed(token, place)
    if not cache:
        cache["keys"] = [x[:, :0]] * len(decoder.layers)
        cache["values"] = list(cache["keys"])
        cache["memory"] = [
            (part.cross_key(memory), part.cross_value(memory)) for part in decoder.layers
        ]
    for i, layer in enumerate(decoder.layers):
        cache["keys"][i] = torch.cat((layer.key(x), cache["keys"][i]), dim=1)
        cache["values"][i] = torch.cat((layer.value(x), cache["values"][i]), dim=1)
        x = x + model.fused_attention(layer.query(x), cache["keys"][i], cache["values"][i])
        x = x + model.fused_attention(layer.cross_query(x), *cache["memory"][i])
        x = x + layer.feed_forward(x)
    return decoder.output(x).squeeze(1)


def cached_step_by_hand(decoder, token, memory, cache):
    """Keys as lists of vectors, attention written out."""

    def attend(query, keys, values):
        weights = (query @ keys.mT / keys.size(-1) ** 0.5).softmax(-1)
        return weights @ values

    count = cache.setdefault("count", 0)
    cache["count"] += 1
    x = decoder.embed(token, first=count)
    for layer in decoder.layers:
        mine = cache.setdefault(layer, {"k": [], "v": []})
        mine["k"].append(layer.key(x))
        mine["v"].append(layer.value(x))
        if "memory" not in mine:
            mine["memory"] = [layer.cross_key(memory), layer.cross_value(memory)]
        x = x + attend(layer.query(x), torch.cat(mine["k"], 1), torch.cat(mine["v"], 1))
        x = x + attend(layer.cross_query(x), *mine["memory"])
        x = x + layer.feed_forward(x)
    return decoder.output(x[:, 0])


VARIANTS = {
    "next_token_probabilities": [probabilities_by_loops, probabilities_by_masks],
    "greedy": [greedy_by_lists, greedy_with_a_rectangle, greedy_of_the_course],
    "length_score": [length_score_in_logarithms, length_score_as_in_the_paper],
    "beam_search": [
        beam_with_full_width,
        beam_with_tensors,
        beam_of_the_course,
    ],
    "cached_step": [cached_step_prepending, cached_step_by_hand],
}
