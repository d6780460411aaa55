"""Velan -> Ostro, a made-up language pair and a small post-norm Transformer for it.

    python healthy.py [steps]      trains, and translates a few held-out lines
"""

import math
import random
import sys
from dataclasses import dataclass

import torch
import torch.nn as nn
import torch.nn.functional as F

PAD, BOS, EOS, UNK = 0, 1, 2, 3
SPECIALS = ["<pad>", "<s>", "</s>", "<unk>"]


# ------------------------------------------------------------------ the text

NOUNS = {  # velan: (ostro, gender)
    "tarn": ("milu", "a"), "bosk": ("feno", "o"), "wren": ("pika", "a"), "holm": ("suro", "o"),
    "carl": ("dano", "o"), "maid": ("lenna", "a"), "hound": ("koro", "o"), "loaf": ("pana", "a"),
    "boat": ("navo", "o"), "star": ("zela", "a"), "stone": ("gruto", "o"), "flame": ("ignia", "a"),
}
ADJECTIVES = {"red": "rub", "old": "vet", "small": "min", "bright": "luc", "cold": "frid", "good": "bon"}
VERBS = {"sees": "vidar", "seeks": "queris", "holds": "tenar", "fears": "timis", "finds": "trovar", "sells": "vendis"}
NUMBERS = {"two": "du", "three": "tri", "many": "multe", "no": "nul"}
ADVERBS = {"now": "nun", "often": "oft", "never": "nevre"}


def phrase(rng, particle):
    """[number] [adjective] noun  ->  noun [adjective+gender] [number] [plural mark] particle."""
    noun = rng.choice(sorted(NOUNS))
    word, gender = NOUNS[noun]
    velan, ostro = [noun], [word]
    if rng.random() < 0.5:
        adjective = rng.choice(sorted(ADJECTIVES))
        velan.insert(0, adjective)
        ostro.append(ADJECTIVES[adjective] + gender)
    if rng.random() < 0.4:
        number = rng.choice(sorted(NUMBERS))
        velan.insert(0, number)
        ostro.append(NUMBERS[number])
        if number != "no":
            ostro.append("ek")
    return velan, ostro + [particle]


def clause(rng):
    """subject verb object [adverb]  ->  [adverb] subject object verb."""
    (s, ts), (o, to) = phrase(rng, "ga"), phrase(rng, "wo")
    verb = rng.choice(sorted(VERBS))
    velan, ostro = s + [verb] + o, ts + to + [VERBS[verb]]
    if rng.random() < 0.3:
        adverb = rng.choice(sorted(ADVERBS))
        velan, ostro = velan + [adverb], [ADVERBS[adverb]] + ostro
    return velan, ostro


def sentence(rng):
    """One clause, or two of them joined by `and`."""
    velan, ostro = clause(rng)
    if rng.random() < 0.4:
        more, mehr = clause(rng)
        velan, ostro = velan + ["and"] + more, ostro + ["kaj"] + mehr
    return " ".join(velan), " ".join(ostro)


def corpus(count, seed):
    """Two lists of lines as two files would give them; a few lines were never filled in."""
    rng = random.Random(seed)
    left, right = [], []
    for _ in range(count):
        a, b = sentence(rng)
        fate = rng.random()
        left.append("" if fate < 0.02 else a)
        right.append("" if fate > 0.98 else b)
    return left, right


def tidy(left, right):
    """Lines that have something on both sides."""
    kept = [(a, b) for a, b in zip(left, right) if a.strip() and b.strip()]
    return [a for a, _ in kept], [b for _, b in kept]


class Vocabulary:
    def __init__(self, lines):
        self.words = SPECIALS + sorted({w for line in lines for w in line.split()})
        self.index = {w: i for i, w in enumerate(self.words)}

    def __len__(self):
        return len(self.words)

    def ids(self, line):
        return [self.index.get(w, UNK) for w in line.split()]

    def text(self, ids):
        return " ".join(self.words[i] for i in ids)


class Data:
    def __init__(self, train_lines=900, test_lines=60):
        left, right = tidy(*corpus(train_lines, seed=11))
        self.source, self.target = Vocabulary(left), Vocabulary(right)
        self.train = self.pairs(left, right)
        seen = set(left)
        left, right = tidy(*corpus(test_lines, seed=12))
        fresh = [(a, b) for a, b in zip(left, right) if a not in seen]
        self.test = self.pairs([a for a, _ in fresh], [b for _, b in fresh])

    def pairs(self, left, right):
        return [(self.source.ids(a), self.target.ids(b)) for a, b in zip(left, right)]


def block(rows):
    """Rows of ids, padded behind, as one tensor."""
    width = max(len(r) for r in rows)
    return torch.tensor([r + [PAD] * (width - len(r)) for r in rows], dtype=torch.long)


def collate(pairs):
    source = block([list(s) + [EOS] for s, _ in pairs])
    target_in = block([[BOS] + list(t) for _, t in pairs])
    target_out = block([list(t) + [EOS] for _, t in pairs])
    return source, target_in, target_out


# --------------------------------------------------------------- the network


@dataclass
class Size:
    source: int
    target: int
    width: int = 32
    heads: int = 4
    inner: int = 64
    depth: int = 2
    longest: int = 128
    dropout: float = 0.1


class Norm(nn.Module):
    def __init__(self, width, eps=1e-5):
        super().__init__()
        self.gain = nn.Parameter(torch.ones(width))
        self.shift = nn.Parameter(torch.zeros(width))
        self.eps = eps

    def forward(self, x):
        centred = x - x.mean(-1, keepdim=True)
        variance = centred.pow(2).mean(-1, keepdim=True)
        return self.gain * centred / torch.sqrt(variance + self.eps) + self.shift


class Attention(nn.Module):
    """Queries, keys and values come out of one packed matrix."""

    def __init__(self, size):
        super().__init__()
        self.heads, self.width = size.heads, size.width
        self.packed = nn.Linear(size.width, 3 * size.width)
        self.out = nn.Linear(size.width, size.width)
        self.rate = size.dropout
        nn.init.xavier_uniform_(self.packed.weight)
        nn.init.xavier_uniform_(self.out.weight)
        nn.init.zeros_(self.packed.bias)
        nn.init.zeros_(self.out.bias)

    def split(self, x):
        b, t, _ = x.shape
        return x.view(b, t, self.heads, self.width // self.heads).transpose(1, 2)

    def own(self, x):
        """Queries, keys, values of x, each (batch, heads, length, head width)."""
        return [self.split(part) for part in self.packed(x).chunk(3, dim=-1)]

    def query(self, x):
        w = self.width
        return self.split(F.linear(x, self.packed.weight[:w], self.packed.bias[:w]))

    def key_value(self, x):
        w = self.width
        both = F.linear(x, self.packed.weight[w:], self.packed.bias[w:])
        return [self.split(part) for part in both.chunk(2, dim=-1)]

    def mix(self, q, k, v, allowed):
        """allowed: True where a query may look, broadcastable to (batch, heads, queries, keys)."""
        fit = q @ k.transpose(-2, -1) / math.sqrt(q.size(-1))
        if allowed is not None:
            fit = fit.masked_fill(~allowed, torch.finfo(fit.dtype).min)
        weights = fit.softmax(dim=-1)
        weights = F.dropout(weights, self.rate, training=self.training)
        mixed = (weights @ v).transpose(1, 2)
        return self.out(mixed.reshape(mixed.size(0), mixed.size(1), self.width))


class Inner(nn.Sequential):
    def __init__(self, size):
        super().__init__(
            nn.Linear(size.width, size.inner),
            nn.ReLU(),
            nn.Dropout(size.dropout),
            nn.Linear(size.inner, size.width),
        )


class Reader(nn.Module):
    """One layer of the encoder."""

    def __init__(self, size):
        super().__init__()
        self.attend, self.inner = Attention(size), Inner(size)
        self.norms = nn.ModuleList(Norm(size.width) for _ in range(2))
        self.drop = nn.Dropout(size.dropout)

    def forward(self, x, allowed):
        x = self.norms[0](x + self.drop(self.attend.mix(*self.attend.own(x), allowed)))
        return self.norms[1](x + self.drop(self.inner(x)))


class Writer(nn.Module):
    """One layer of the decoder. `cache` is a dict of its own for each layer, or None in training."""

    def __init__(self, size):
        super().__init__()
        self.attend, self.consult, self.inner = Attention(size), Attention(size), Inner(size)
        self.norms = nn.ModuleList(Norm(size.width) for _ in range(3))
        self.drop = nn.Dropout(size.dropout)

    def forward(self, x, memory, allowed, readable, cache=None):
        q, k, v = self.attend.own(x)
        if cache is not None:
            if "k" in cache:
                k, v = torch.cat([cache["k"], k], dim=2), torch.cat([cache["v"], v], dim=2)
            cache["k"], cache["v"] = k, v
        x = self.norms[0](x + self.drop(self.attend.mix(q, k, v, allowed)))

        if cache is None:
            k, v = self.consult.key_value(memory)
        else:
            if "memory" not in cache:
                cache["memory"] = self.consult.key_value(memory)
            k, v = cache["memory"]
        x = self.norms[1](x + self.drop(self.consult.mix(self.consult.query(x), k, v, readable)))
        return self.norms[2](x + self.drop(self.inner(x)))


def first_vectors(count, width):
    """Where the word vectors start; a file of ready-made ones would have the same shape."""
    table = torch.randn(count, width) / math.sqrt(width)
    table[PAD] = 0
    return table


class Entrance(nn.Module):
    """Word vectors plus learned positions."""

    def __init__(self, count, size):
        super().__init__()
        self.words = nn.Embedding.from_pretrained(first_vectors(count, size.width), freeze=False, padding_idx=PAD)
        self.places = nn.Parameter(torch.randn(size.longest, size.width) * 0.3)
        self.scale = math.sqrt(size.width)
        self.drop = nn.Dropout(size.dropout)

    def forward(self, ids, start=0):
        places = self.places[start : start + ids.size(1)]
        return self.drop(self.words(ids) * self.scale + places)


class Translator(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.size = size
        self.enter_source = Entrance(size.source, size)
        self.enter_target = Entrance(size.target, size)
        self.readers = nn.ModuleList(Reader(size) for _ in range(size.depth))
        self.writers = nn.ModuleList(Writer(size) for _ in range(size.depth))
        self.to_words = nn.Linear(size.width, size.target)

    def encode(self, source):
        readable = (source != PAD)[:, None, None, :]
        x = self.enter_source(source)
        for layer in self.readers:
            x = layer(x, readable)
        return x, readable

    def forward(self, source, target):
        memory, readable = self.encode(source)
        present = (target != PAD)[:, None, None, :]
        length = target.size(1)
        past = torch.ones(length, length, dtype=torch.bool, device=target.device).tril()
        allowed = past & present
        x = self.enter_target(target)
        for layer in self.writers:
            x = layer(x, memory, allowed, readable)
        return self.to_words(x)

    def fresh_cache(self):
        return [{} for _ in self.writers]

    def next_scores(self, last, memory, readable, cache):
        """Scores of what follows `last`, one id a row; everything earlier is in the cache."""
        done = cache[0]["k"].size(2) if cache[0] else 0
        x = self.enter_target(last[:, None], start=done)
        for layer, own in zip(self.writers, cache):
            x = layer(x, memory, None, readable, own)
        scores = self.to_words(x[:, -1])
        scores[:, [PAD, BOS]] = float("-inf")  # nobody says these
        return scores


# -------------------------------------------------------------- the training


def smoothed_sum(scores, target_out, smoothing=0.1):
    """Label-smoothed cross-entropy, summed over the words that are not padding."""
    log_probs = scores.log_softmax(dim=-1)
    blank = target_out == PAD
    right = -log_probs.gather(-1, target_out[..., None]).squeeze(-1).masked_fill(blank, 0.0)
    even = -log_probs.mean(dim=-1).masked_fill(blank, 0.0)
    return ((1 - smoothing) * right + smoothing * even).sum()


def loss(scores, target_out):
    return smoothed_sum(scores, target_out) / (target_out != PAD).sum().clamp(min=1)


class Coach:
    """Adam under the Noam rate; every batch is worked through in pieces before one update."""

    def __init__(self, network, pieces=2, warmup=60, factor=0.25, clip=1.0):
        self.network, self.pieces, self.clip = network, pieces, clip
        self.warmup, self.factor, self.updates = warmup, factor, 0
        self.optimiser = self.adam()

    def adam(self):
        return torch.optim.Adam(self.network.parameters(), lr=0.0, betas=(0.9, 0.98), eps=1e-9)

    def rate(self):
        n = self.updates
        return self.factor * self.network.size.width**-0.5 * min(n**-0.5, n * self.warmup**-1.5)

    def step(self, source, target_in, target_out):
        self.network.train()
        self.updates += 1
        for group in self.optimiser.param_groups:
            group["lr"] = self.rate()
        self.optimiser.zero_grad()
        words = (target_out != PAD).sum().clamp(min=1)
        total = 0.0
        for s, i, o in zip(*(part.chunk(self.pieces) for part in (source, target_in, target_out))):
            piece = smoothed_sum(self.network(s, i), o) / words
            piece.backward()
            total += piece.item()
        nn.utils.clip_grad_norm_(self.network.parameters(), self.clip)
        self.optimiser.step()
        return total


# -------------------------------------------------------------- the searches


def until_end(ids):
    return ids[: ids.index(EOS)] if EOS in ids else ids


MOST_WORDS = 50  # more than the longest sentence needs


@torch.no_grad()
def greedy_block(network, source):
    memory, readable = network.encode(source)
    cache = network.fresh_cache()
    last = torch.full((source.size(0),), BOS)
    finished = torch.zeros(source.size(0), dtype=torch.bool)
    said = []
    for _ in range(MOST_WORDS):
        best = network.next_scores(last, memory, readable, cache).argmax(-1)
        last = best.masked_fill(finished, PAD)
        said.append(last)
        finished |= last == EOS
        if finished.all():
            break
    return [until_end(row) for row in torch.stack(said, 1).tolist()]


def translate(network, sources, at_once=16):
    """Greedy, the shortest sentences first so that a block holds little padding."""
    network.eval()
    order = sorted(range(len(sources)), key=lambda i: len(sources[i]))
    found = []
    for at in range(0, len(order), at_once):
        rows = [list(sources[i]) + [EOS] for i in order[at : at + at_once]]
        found += greedy_block(network, block(rows))
    result = [None] * len(sources)
    for place, i in enumerate(order):
        result[i] = found[place]
    return result


@torch.no_grad()
def beam_one(network, ids, width=4, alpha=0.6):
    source = block([list(ids) + [EOS]]).repeat(width, 1)
    memory, readable = network.encode(source)
    cache = network.fresh_cache()
    totals = torch.full((width,), float("-inf"))
    totals[0] = 0.0
    beams, ended = [[BOS]] * width, []

    def worth(total, length):
        return total / ((5 + length) / 6) ** alpha

    for _ in range(MOST_WORDS):
        last = torch.tensor([b[-1] for b in beams])
        log_probs = network.next_scores(last, memory, readable, cache).log_softmax(-1)
        grown = totals[:, None] + log_probs
        best, where = grown.flatten().topk(2 * width)
        going, parents, kept = [], [], []
        for rank, (total, w) in enumerate(zip(best.tolist(), where.tolist())):
            parent, word = divmod(w, log_probs.size(-1))
            if word == EOS:
                if rank < width:
                    ended.append((worth(total, len(beams[parent])), beams[parent][1:]))
            elif len(going) < width:
                going.append(beams[parent] + [word])
                parents.append(parent)
                kept.append(total)
        beams, totals = going, torch.tensor(kept)
        for own in cache:
            own["k"], own["v"] = own["k"][parents], own["v"][parents]
        if len(ended) >= width and max(ended)[0] >= worth(kept[0], len(beams[0]) - 1):
            break
    if not ended:
        ended = [(worth(t, len(b)), b[1:]) for t, b in zip(totals.tolist(), beams)]
    return max(ended, key=lambda e: e[0])[1]


def beam(network, sources):
    network.eval()
    return [beam_one(network, s) for s in sources]


# ------------------------------------------------------------------- putting it together


def build(seed=5):
    torch.manual_seed(seed)
    data = Data()
    network = Translator(Size(source=len(data.source), target=len(data.target)))
    return data, network, Coach(network)


def make():
    from transformer_course.examine import Subject

    data, network, coach = build()
    return Subject(
        network,
        source_vocab=len(data.source),
        target_vocab=len(data.target),
        pad=PAD,
        bos=BOS,
        eos=EOS,
        scores=lambda source, target: network(source, target),
        collate=collate,
        loss=loss,
        training_step=coach.step,
        translate=lambda sources: translate(network, sources),
        beam=lambda sources: beam(network, sources),
        train=data.train,
        test=data.test,
        unknown=UNK,
    )


def practise(data, coach, steps, size=32, seed=3, every=100, quiet=False):
    rng = random.Random(seed)
    history = []
    for n in range(1, steps + 1):
        history.append(coach.step(*collate(rng.sample(data.train, size))))
        if not quiet and n % every == 0:
            print(f"step {n:4d}  loss {sum(history[-every:]) / every:.3f}")
    return history


def main():
    torch.set_num_threads(1)
    data, network, coach = build()
    practise(data, coach, int(sys.argv[1]) if len(sys.argv) > 1 else 500)
    sources = [s for s, _ in data.test]
    for name, search in (("greedy", translate), ("beam", beam)):
        hits = sum(list(a) == list(t) for a, (_, t) in zip(search(network, sources), data.test))
        print(f"{name}: {hits} of {len(data.test)} exactly right")
    for s, said in list(zip(sources, translate(network, sources)))[:5]:
        print(data.source.text(s), "->", data.target.text(said))


if __name__ == "__main__":
    main()
