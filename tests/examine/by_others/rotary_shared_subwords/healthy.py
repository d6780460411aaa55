"""Kirun -> Hodveg: a pocket-sized translator in today's style, in one file."""

import copy
import math
import random
import sys
from collections import Counter
from types import SimpleNamespace

import torch
import torch.nn.functional as F
from torch import nn
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

PAD, BOS, EOS, UNK = range(4)
SPECIAL = ["<pad>", "<s>", "</s>", "<unk>"]
VOCAB = 80

WIDTH, HEADS, LAYERS, INNER = 32, 4, 2, 64
DROP = 0.05
LONGEST = 64

PEAK, WARM, TOTAL, FLOOR = 6e-3, 40, 1200, 0.05
BATCH, MICRO = 32, 16
SMOOTH, CLIP, DECAY = 0.1, 1.0, 0.97
BEAMS, ALPHA = 4, 0.8


# ------------------------------------------------------------------ language

NOUN = {
    "kiru": "hoved", "tapi": "hoved",  # two words for one thing
    "salu": "beriz", "mira": "godon", "puti": "zeved",
    "luka": "vodeg", "ari": "enogez", "sipa": "drobe",
}
VERB = {"rima": "dezog", "paku": "oveho", "sari": "oveho", "liku": "bezhed"}
ADJECTIVE = {"asu": "vero", "tika": "onded", "muri": "gezol"}
NUMBER = {"ti": "don", "ka": "zehov"}
PLACE = {"um": "ezo", "sil": "ved"}


def noun_phrase(rng):
    noun, many = rng.choice(list(NOUN)), rng.random() < 0.4
    left, right = [], [("ge" if many else "") + NOUN[noun]]
    if rng.random() < 0.4:
        adjective = rng.choice(list(ADJECTIVE))
        left.append(adjective)
        right.append(ADJECTIVE[adjective])
    if many and rng.random() < 0.4:
        number = rng.choice(list(NUMBER))
        left.insert(0, number)
        right.append(NUMBER[number])
    left.append(noun + ("n" if many else ""))
    return left, right, many


def sentence(rng):
    """Subject verb object [place] becomes subject object [place] verb."""
    verb = rng.choice(list(VERB))
    left, right, many = noun_phrase(rng)
    left.append(verb)
    for chance, word in ((0.8, None), (0.25, rng.choice(list(PLACE)))):
        if rng.random() < chance:
            more_left, more_right, _ = noun_phrase(rng)
            left += ([word] if word else []) + more_left
            right += more_right + ([PLACE[word]] if word else [])
    right.append(VERB[verb] + ("os" if many else ""))
    return " ".join(left), " ".join(right)


def corpus(count, rng):
    drawn = [sentence(rng) for _ in range(count)]
    return list(dict.fromkeys(drawn))


# ----------------------------------------------------------------- sub-words


def learn_merges(lines, size):
    words = Counter(word for line in lines for word in line.split())
    pieces = {word: ["▁", *word] for word in words}
    symbols = sorted({p for split in pieces.values() for p in split})
    merges = []
    while len(SPECIAL) + len(symbols) < size:
        pairs = Counter()
        for word, split in pieces.items():
            for pair in zip(split, split[1:]):
                pairs[pair] += words[word]
        if not pairs:
            break
        best = max(pairs, key=lambda pair: (pairs[pair], pair))
        merges.append(best)
        if "".join(best) not in symbols:
            symbols.append("".join(best))
        for word, split in pieces.items():
            pieces[word] = merge_pair(split, best)
    return merges, {s: i for i, s in enumerate(SPECIAL + symbols)}


def merge_pair(split, pair):
    out, i = [], 0
    while i < len(split):
        if tuple(split[i : i + 2]) == pair:
            out.append(split[i] + split[i + 1])
            i += 2
        else:
            out.append(split[i])
            i += 1
    return out


def encoder(merges, index):
    known = {}

    def word_ids(word):
        if word not in known:
            split = ["▁", *word]
            for pair in merges:
                split = merge_pair(split, pair)
            known[word] = [index.get(piece, UNK) for piece in split]
        return known[word]

    return lambda line: [i for word in line.split() for i in word_ids(word)]


def decode_text(ids, index):
    names = {i: s for s, i in index.items()}
    return "".join(names[i] for i in ids).replace("▁", " ").strip()


def prepare(seed=5, count=2400, held_out=80):
    rng = random.Random(seed)
    lines = corpus(count, rng)
    rng.shuffle(lines)
    test, train = lines[:held_out], lines[held_out:]
    unseen = {target for _, target in test}
    train = [pair for pair in train if pair[1] not in unseen]
    merges, index = learn_merges([side for pair in train for side in pair], VOCAB)
    encode = encoder(merges, index)
    ids = lambda pairs: [(encode(a), encode(b)) for a, b in pairs]
    return ids(train), ids(test), index


# -------------------------------------------------------------------- batches


def block(rows):
    width = min(max(len(row) for row in rows), LONGEST)
    out = torch.full((len(rows), width), PAD)
    for at, row in enumerate(rows):
        row = row[:width]
        out[at, : len(row)] = torch.tensor(row)
    return out


def source_block(sources):
    return block([[*ids, EOS] for ids in sources])


def collate(pairs):
    source = source_block([a for a, _ in pairs])
    fed = block([[BOS, *b] for _, b in pairs])
    said = block([[*b, EOS] for _, b in pairs])
    return source, fed, said


def buckets(pairs, size, rng):
    """Batches of sentences of about one length, in an order of chance."""
    order = sorted(pairs, key=lambda p: len(p[0]) + len(p[1]) + rng.random() * 4)
    batches = [order[i : i + size] for i in range(0, len(order), size)]
    rng.shuffle(batches)
    return batches


# -------------------------------------------------------------------- network


def rms(x, gain):
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * gain


def split_heads(x):
    batch, length, width = x.shape
    return x.view(batch, length, HEADS, width // HEADS).transpose(1, 2)


def join_heads(x):
    return x.transpose(1, 2).flatten(2)


def rotate(x, start):
    half = x.shape[-1] // 2
    speed = 100.0 ** (-torch.arange(half) / half)
    angle = torch.arange(start, start + x.shape[-2])[:, None] * speed
    cos, sin = angle.cos(), angle.sin()
    a, b = x.chunk(2, dim=-1)
    return torch.cat([a * cos - b * sin, a * sin + b * cos], dim=-1)


def attend(q, k, v, allowed):
    scores = q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])
    if allowed is not None:
        scores = scores.masked_fill(~allowed, float("-inf"))
    weights = scores.softmax(dim=-1)
    return join_heads(weights @ v)


def self_attention(w, name, x, allowed, store=None):
    q, k, v = (split_heads(x @ w[f"{name}_{part}"]) for part in "qkv")
    start = store["k"].shape[2] if store else 0
    q, k = rotate(q, start), rotate(k, start)
    if store is not None:
        if store:
            k = torch.cat([store["k"], k], dim=2)
            v = torch.cat([store["v"], v], dim=2)
        store["k"], store["v"] = k, v
    return attend(q, k, v, allowed) @ w[f"{name}_o"]


def cross_attention(w, name, x, memory, allowed, store=None):
    q = split_heads(x @ w[f"{name}_q"])
    if store is not None and "cross" in store:
        k, v = store["cross"]
    else:
        k, v = (split_heads(memory @ w[f"{name}_{part}"]) for part in "kv")
        if store is not None:
            store["cross"] = k, v
    return attend(q, k, v, allowed) @ w[f"{name}_o"]


def feed_forward(w, name, x):
    return (F.silu(x @ w[f"{name}_gate"]) * (x @ w[f"{name}_up"])) @ w[f"{name}_down"]


class Network(nn.Module):
    def __init__(self, vocab):
        super().__init__()
        self.w = w = nn.ParameterDict()

        def matrix(name, rows, columns, shrink=1.0):
            value = torch.randn(rows, columns) * shrink / math.sqrt(rows)
            w[name] = nn.Parameter(value)

        w["words"] = nn.Parameter(torch.randn(vocab, WIDTH) / math.sqrt(WIDTH))
        quiet = 1 / math.sqrt(2 * LAYERS)
        for side, kinds in (("enc", ["self"]), ("dec", ["self", "cross"])):
            for n in range(LAYERS):
                for kind in kinds:
                    for part in "qkv":
                        matrix(f"{side}{n}_{kind}_{part}", WIDTH, WIDTH)
                    matrix(f"{side}{n}_{kind}_o", WIDTH, WIDTH, quiet)
                matrix(f"{side}{n}_ff_gate", WIDTH, INNER)
                matrix(f"{side}{n}_ff_up", WIDTH, INNER)
                matrix(f"{side}{n}_ff_down", INNER, WIDTH, quiet)
                for kind in [*kinds, "ff"]:
                    w[f"{side}{n}_{kind}_norm"] = nn.Parameter(torch.ones(WIDTH))
            w[f"{side}_norm"] = nn.Parameter(torch.ones(WIDTH))

    def drop(self, x):
        return F.dropout(x, DROP, self.training)

    def look_up(self, ids):
        return self.drop(self.w["words"][ids] * math.sqrt(WIDTH))

    def encode(self, source):
        w, x = self.w, self.look_up(source)
        allowed = (source != PAD)[:, None, None, :]
        for n in range(LAYERS):
            h = rms(x, w[f"enc{n}_self_norm"])
            x = x + self.drop(self_attention(w, f"enc{n}_self", h, allowed))
            h = rms(x, w[f"enc{n}_ff_norm"])
            x = x + self.drop(feed_forward(w, f"enc{n}_ff", h))
        return rms(x, w["enc_norm"]), allowed

    def decode(self, target, memory, readable, cache=None):
        """With a cache, `target` is only what came since the last call: one token."""
        w, x = self.w, self.look_up(target)
        length = target.shape[1]
        past = None
        if cache is None:
            past = torch.ones(length, length, dtype=torch.bool).tril()
        for n in range(LAYERS):
            own, other = (None, None) if cache is None else cache[n]
            h = rms(x, w[f"dec{n}_self_norm"])
            x = x + self.drop(self_attention(w, f"dec{n}_self", h, past, own))
            h = rms(x, w[f"dec{n}_cross_norm"])
            read = cross_attention(w, f"dec{n}_cross", h, memory, readable, other)
            x = x + self.drop(read)
            h = rms(x, w[f"dec{n}_ff_norm"])
            x = x + self.drop(feed_forward(w, f"dec{n}_ff", h))
        return rms(x, w["dec_norm"]) @ w["words"].T

    def forward(self, source, target):
        memory, readable = self.encode(source)
        return self.decode(target, memory, readable)


# ------------------------------------------------------------------- training


def summed_loss(logits, said):
    logp = logits.log_softmax(dim=-1)
    exact = -logp.gather(-1, said[..., None]).squeeze(-1)
    spread = -logp.mean(dim=-1)
    each = (1 - SMOOTH) * exact + SMOOTH * spread
    return each[said != PAD].sum()


def loss(logits, said):
    return summed_loss(logits, said) / (said != PAD).sum()


def pace(step):
    if step < WARM:
        return (step + 1) / WARM
    gone = min(1.0, (step - WARM) / (TOTAL - WARM))
    return FLOOR + (1 - FLOOR) * 0.5 * (1 + math.cos(math.pi * gone))


def build(vocab, seed=11):
    torch.manual_seed(seed)
    network = Network(vocab)
    average = AveragedModel(network, multi_avg_fn=get_ema_multi_avg_fn(DECAY))
    translator = copy.deepcopy(network).eval()
    optimiser = torch.optim.AdamW(
        [
            {"params": [p for p in network.parameters() if p.ndim > 1]},
            {"params": [p for p in network.parameters() if p.ndim < 2], "weight_decay": 0.0},
        ],
        lr=PEAK,
        betas=(0.9, 0.98),
        weight_decay=0.01,
    )
    schedule = torch.optim.lr_scheduler.LambdaLR(optimiser, pace)

    def training_step(source, fed, said):
        network.train()
        optimiser.zero_grad(set_to_none=True)
        words, total = (said != PAD).sum(), 0.0
        for a, b, c in zip(source.split(MICRO), fed.split(MICRO), said.split(MICRO)):
            part = summed_loss(network(a, b), c) / words
            part.backward()
            total += part.item()
        nn.utils.clip_grad_norm_(network.parameters(), CLIP)
        optimiser.step()
        schedule.step()
        average.update_parameters(network)
        return total

    def averaged():
        """The network that translates: the running average of the weights."""
        state = average.state_dict()
        mine = {k.removeprefix("module."): v for k, v in state.items() if k.startswith("module.")}
        translator.load_state_dict(mine)
        return translator.eval()

    return SimpleNamespace(
        network=network,
        average=average,
        training_step=training_step,
        averaged=averaged,
        translate=lambda sources: greedy(averaged(), sources),
        beam=lambda sources: beam_search(averaged(), sources),
    )


# ------------------------------------------------------------------- decoding


def new_cache():
    """For each layer, what self-attention and what cross-attention have kept."""
    return [({}, {}) for _ in range(LAYERS)]


def reorder(cache, rows):
    for own, _ in cache:  # cross-attention's rows stay inside their sentence
        own["k"], own["v"] = own["k"][rows], own["v"][rows]


def next_scores(net, token, memory, readable, cache):
    logp = net.decode(token[:, None], memory, readable, cache)[:, -1].log_softmax(-1)
    logp[:, [PAD, BOS]] = float("-inf")
    return logp


def longest_answer(source):
    return min(2 * source.shape[1] + 8, LONGEST)


@torch.no_grad()
def greedy(net, sources):
    if not sources:
        return []
    source = source_block(sources)
    memory, readable = net.encode(source)
    cache = new_cache()
    token = torch.full((len(sources),), BOS)
    ended = torch.zeros(len(sources), dtype=torch.bool)
    said = [[] for _ in sources]
    for _ in range(longest_answer(source)):
        token = next_scores(net, token, memory, readable, cache).argmax(-1)
        ended = ended | (token == EOS)
        for row, word in enumerate(token.tolist()):
            if not ended[row]:
                said[row].append(word)
        if ended.all():
            break
    return said


@torch.no_grad()
def beam_search(net, sources, beams=BEAMS, alpha=ALPHA):
    if not sources:
        return []
    count, source = len(sources), source_block(sources)
    memory, readable = net.encode(source)
    memory = memory.repeat_interleave(beams, dim=0)
    readable = readable.repeat_interleave(beams, dim=0)
    cache = new_cache()
    token = torch.full((count * beams,), BOS)
    sums = torch.full((count, beams), float("-inf"))
    sums[:, 0] = 0.0
    alive = [[[] for _ in range(beams)] for _ in sources]
    done = [[] for _ in sources]
    for length in range(1, longest_answer(source) + 1):
        logp = next_scores(net, token, memory, readable, cache)
        total = sums[:, :, None] + logp.view(count, beams, -1)
        best, place = total.flatten(1).topk(2 * beams, dim=-1)
        came, word = place // logp.shape[-1], place % logp.shape[-1]
        rows, tokens = [], []
        for i in range(count):
            kept, sums_i = [], []
            for rank in range(2 * beams):
                score, j, t = best[i, rank].item(), came[i, rank].item(), word[i, rank].item()
                if t == EOS:
                    if rank < beams and len(done[i]) < beams and score > float("-inf"):
                        done[i].append((score / length**alpha, alive[i][j]))
                elif len(kept) < beams:
                    kept.append(alive[i][j] + [t])
                    sums_i.append(score)
                    rows.append(i * beams + j)
                    tokens.append(t)
            alive[i], sums[i] = kept, torch.tensor(sums_i)
        if all(len(d) == beams for d in done):
            break
        reorder(cache, torch.tensor(rows))
        token = torch.tensor(tokens)
    return [max(d)[1] if d else a[0] for d, a in zip(done, alive)]


# ------------------------------------------------------------------------ use


def run(steps=TOTAL, seed=3, show=True):
    train, test, index = prepare()
    system, rng, done = build(len(index)), random.Random(seed), 0
    while done < steps:
        for pairs in buckets(train, BATCH, rng):
            value = system.training_step(*collate(pairs))
            done += 1
            if show and done % 100 == 0:
                print(f"step {done:5d}  loss {value:.3f}", flush=True)
            if done == steps:
                break
    result = {}
    for name, search in (("greedy", system.translate), ("beam", system.beam)):
        answers = search([a for a, _ in test])
        result[name] = sum(x == b for x, (_, b) in zip(answers, test)) / len(test)
        if show:
            print(name, "exactly right:", f"{result[name]:.0%}")
            print("  ", decode_text(test[0][0], index), "->", decode_text(answers[0], index))
    result["loss"] = value
    return system, result


def make():
    from transformer_course.examine import Subject

    train, test, index = prepare()
    system = build(len(index))
    return Subject(
        system.network,
        source_vocab=len(index),
        target_vocab=len(index),
        pad=PAD,
        bos=BOS,
        eos=EOS,
        scores=lambda source, target: system.network(source, target),
        collate=collate,
        loss=loss,
        training_step=system.training_step,
        translate=system.translate,
        beam=system.beam,
        train=train,
        test=test,
        unknown=UNK,
    )


if __name__ == "__main__":
    run(int(sys.argv[1]) if len(sys.argv) > 1 else TOTAL)
