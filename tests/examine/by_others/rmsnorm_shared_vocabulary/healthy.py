"""Tovish to Meralian: a small encoder-decoder with today's parts, in one file.
`python healthy.py train` writes tovish.pt, `python healthy.py translate` reads it."""

import math
import random
import re
import sys
from dataclasses import dataclass

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader
from transformer_course.examine import Subject

PAD, BOS, EOS, UNK = 0, 1, 2, 3
SPECIALS = ["<pad>", "<s>", "</s>", "<unk>"]
IGNORE = -100


@dataclass
class Config:
    width: int = 32
    heads: int = 4
    layers: int = 2
    hidden: int = 88
    dropout: float = 0.1
    lr: float = 5e-3
    weight_decay: float = 0.05
    warmup: int = 50
    steps: int = 700
    batch: int = 32
    clip: float = 1.0
    max_len: int = 20


def invent(rng, count, onsets, vowels, ends, taken):
    words = []
    while len(words) < count:
        word = "".join(rng.choice(onsets) + rng.choice(vowels) for _ in range(2)) + rng.choice(ends)
        if word not in taken:
            taken.add(word)
            words.append(word)
    return words


class Languages:
    """Tovish: (adverb) adj noun verb adj noun (wi adj noun). Meralian: (ke) noun adj (noun adj mo)
    noun adj verb (adverb). Adjectives agree in gender, verbs in number. "ke" stands for "?"."""

    def __init__(self, rng):
        taken = set()
        tov = lambda n: invent(rng, n, "bdgklmn", "aeo", ["rt", "sk", "m"], taken)  # noqa: E731
        mer = lambda n: invent(rng, n, "fprstvz", "aiu", ["l", "n", ""], taken)  # noqa: E731
        self.nouns = list(zip(tov(12), mer(12)))
        self.adjectives = list(zip(tov(6), mer(6)))
        self.doing = list(zip(tov(6), mer(6)))  # take an object
        self.being = list(zip(tov(4), mer(4)))  # take none
        self.adverbs = list(zip(tov(4), mer(4)))

    def phrase(self, rng):
        which = rng.randrange(len(self.nouns))
        many = rng.random() < 0.4
        tov, mer = self.nouns[which]
        ours, theirs = [tov + "en" if many else tov], [mer + "ti" if many else mer]
        if rng.random() < 0.5:
            a, b = rng.choice(self.adjectives)
            ours.insert(0, a)
            theirs.append(b + ("o" if which % 2 else "e"))
        return ours, theirs, many

    def pair(self, rng):
        ours, theirs, many = self.phrase(rng)
        transitive = rng.random() < 0.75
        tov, mer = rng.choice(self.doing if transitive else self.being)
        ours.append(tov if many else tov + "s")
        tail = [mer + "wa" if many else mer + "y"]
        if transitive:
            a, b, _ = self.phrase(rng)
            ours += a
            tail = b + tail
        if rng.random() < 0.25:
            a, b, _ = self.phrase(rng)
            ours += ["wi"] + a
            theirs += b + ["mo"]
        theirs += tail
        if rng.random() < 0.3:
            a, b = rng.choice(self.adverbs)
            ours.insert(0, a)
            theirs.append(b)
        asked = rng.random() < 0.2
        theirs = ["ke"] * asked + theirs
        return " ".join(ours).capitalize() + ("?" if asked else "."), " ".join(theirs).capitalize() + "."


def write_corpus(seed, count):
    rng = random.Random(seed)
    languages, pairs = Languages(rng), {}
    while len(pairs) < count:
        pairs.update([languages.pair(rng)])
    return list(pairs.items())


def tokenize(line):
    return re.findall(r"\w+|[.?]", line.lower())


class Vocabulary:
    """One for both languages."""

    def __init__(self, lines):
        words = sorted({token for line in lines for token in tokenize(line)})
        self.words = SPECIALS + words
        self.ids = {word: i for i, word in enumerate(self.words)}

    def encode(self, line):
        return [self.ids.get(token, UNK) for token in tokenize(line)]

    def decode(self, ids):
        return " ".join(self.words[i] for i in ids)


def padded(rows, value):
    longest = max(len(row) for row in rows)
    return torch.tensor([row + [value] * (longest - len(row)) for row in rows])


def collate(pairs):
    source = padded([s + [EOS] for s, _ in pairs], PAD)
    fed = padded([[BOS] + t for _, t in pairs], PAD)
    said = padded([t + [EOS] for _, t in pairs], PAD)
    return source, fed, said.masked_fill(said == PAD, IGNORE)


class RMSNorm(nn.Module):
    def __init__(self, width, eps=1e-6):
        super().__init__()
        self.gain = nn.Parameter(torch.ones(width))
        self.eps = eps

    def forward(self, x):
        return x * torch.rsqrt(x.pow(2).mean(dim=-1, keepdim=True) + self.eps) * self.gain


def rotary(x, start=0, base=10000.0):
    """Turns x (batch, time, heads, size) by its places, the first of which is start."""
    half = x.size(-1) // 2
    speeds = base ** (-torch.arange(half, device=x.device) / half)
    places = torch.arange(start, start + x.size(1), device=x.device)
    angles = (places[:, None] * speeds)[:, None, :]
    cos, sin = angles.cos(), angles.sin()
    a, b = x.chunk(2, dim=-1)
    return torch.cat([a * cos - b * sin, a * sin + b * cos], dim=-1)


class SelfAttention(nn.Module):
    def __init__(self, c, causal):
        super().__init__()
        self.heads, self.dropout, self.causal = c.heads, c.dropout, causal
        self.qkv = nn.Linear(c.width, 3 * c.width, bias=False)
        self.out = nn.Linear(c.width, c.width, bias=False)

    def forward(self, x, mask=None, cache=None):
        batch, time, width = x.shape
        q, k, v = self.qkv(x).view(batch, time, 3, self.heads, -1).unbind(2)
        start = cache["k"].size(2) if cache else 0
        q = rotary(q, start).transpose(1, 2)
        k = rotary(k, start).transpose(1, 2)
        v = v.transpose(1, 2)
        causal = self.causal and cache is None  # with a cache, one token that may see all before it
        if cache:
            k = torch.cat([cache["k"], k], dim=2)
            v = torch.cat([cache["v"], v], dim=2)
        if cache is not None:
            cache["k"], cache["v"] = k, v
        p = self.dropout if self.training else 0.0
        mixed = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, dropout_p=p, is_causal=causal)
        return self.out(mixed.transpose(1, 2).reshape(batch, time, width))


class CrossAttention(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.heads, self.dropout = c.heads, c.dropout
        self.q = nn.Linear(c.width, c.width, bias=False)
        self.kv = nn.Linear(c.width, 2 * c.width, bias=False)
        self.out = nn.Linear(c.width, c.width, bias=False)

    def forward(self, x, memory, mask):
        q = self.q(x).unflatten(-1, (self.heads, -1)).transpose(1, 2)
        k, v = self.kv(memory).unflatten(-1, (2, self.heads, -1)).permute(2, 0, 3, 1, 4)
        p = self.dropout if self.training else 0.0
        mixed = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, dropout_p=p)
        return self.out(mixed.permute(0, 2, 1, 3).flatten(2))


class SwiGLU(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.up = nn.Linear(c.width, 2 * c.hidden, bias=False)
        self.down = nn.Linear(c.hidden, c.width, bias=False)

    def forward(self, x):
        gate, value = self.up(x).chunk(2, dim=-1)
        return self.down(F.silu(gate) * value)


class Block(nn.Module):
    def __init__(self, c, decoder):
        super().__init__()
        self.norm1, self.mix = RMSNorm(c.width), SelfAttention(c, causal=decoder)
        if decoder:
            self.norm2, self.look = RMSNorm(c.width), CrossAttention(c)
        self.norm3, self.think = RMSNorm(c.width), SwiGLU(c)
        self.drop = nn.Dropout(c.dropout)

    def encode(self, x, mask):
        x = x + self.drop(self.mix(self.norm1(x), mask=mask))
        return x + self.drop(self.think(self.norm3(x)))

    def decode(self, x, memory, memory_mask, cache=None):
        x = x + self.drop(self.mix(self.norm1(x), cache=cache))
        x = x + self.drop(self.look(self.norm2(x), memory, memory_mask))
        return x + self.drop(self.think(self.norm3(x)))


class Translator(nn.Module):
    def __init__(self, c, vocab):
        super().__init__()
        self.embed = nn.Embedding(vocab, c.width)
        self.encoder = nn.ModuleList(Block(c, decoder=False) for _ in range(c.layers))
        self.decoder = nn.ModuleList(Block(c, decoder=True) for _ in range(c.layers))
        self.encoder_norm, self.decoder_norm = RMSNorm(c.width), RMSNorm(c.width)
        self.head = nn.Linear(c.width, vocab, bias=False)
        self.head.weight = self.embed.weight
        self.drop, self.scale = nn.Dropout(c.dropout), math.sqrt(c.width)
        nn.init.normal_(self.embed.weight, std=c.width**-0.5)
        for name, p in self.named_parameters():
            if name.endswith(("out.weight", "down.weight")):
                nn.init.normal_(p, std=p.size(1) ** -0.5 / math.sqrt(2 * c.layers))

    def encode(self, source):
        mask = (source != PAD)[:, None, None, :]
        x = self.drop(self.embed(source) * self.scale)
        for block in self.encoder:
            x = block.encode(x, mask)
        return self.encoder_norm(x), mask

    def decode(self, target, memory, mask, caches=None):
        x = self.drop(self.embed(target) * self.scale)
        for i, block in enumerate(self.decoder):
            x = block.decode(x, memory, mask, cache=None if caches is None else caches[i])
        return self.head(self.decoder_norm(x))

    def forward(self, source, target):
        memory, mask = self.encode(source)
        return self.decode(target, memory, mask)


def loss_of(scores, said):
    return F.cross_entropy(scores.transpose(1, 2), said, ignore_index=IGNORE)


def make_step(network, c):
    groups = [
        {"params": [p for p in network.parameters() if p.ndim >= 2], "weight_decay": c.weight_decay},
        {"params": [p for p in network.parameters() if p.ndim < 2], "weight_decay": 0.0},
    ]
    optimizer = torch.optim.AdamW(groups, lr=c.lr, betas=(0.9, 0.98))

    def factor(step):
        if step < c.warmup:
            return (step + 1) / c.warmup
        done = min(1.0, (step - c.warmup) / (c.steps - c.warmup))
        return 0.1 + 0.9 * 0.5 * (1 + math.cos(math.pi * done))

    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, factor)

    def step(source, fed, said):
        network.train()
        optimizer.zero_grad(set_to_none=True)
        loss = loss_of(network(source, fed), said)
        loss.backward()
        nn.utils.clip_grad_norm_(network.parameters(), c.clip)
        optimizer.step()
        schedule.step()
        return loss.item()

    return step


@torch.no_grad()
def greedy(network, sources, max_len):
    network.eval()
    memory, mask = network.encode(padded([s + [EOS] for s in sources], PAD))
    caches = [{} for _ in network.decoder]
    token = torch.full((len(sources), 1), BOS)
    done, outputs = torch.zeros(len(sources), dtype=torch.bool), [[] for _ in sources]
    for _ in range(max_len):
        token = network.decode(token, memory, mask, caches)[:, -1].argmax(-1, keepdim=True)
        done |= token[:, 0] == EOS
        for i, word in enumerate(token[:, 0].tolist()):
            if not done[i]:
                outputs[i].append(word)
        if done.all():
            break
    return outputs


@torch.no_grad()
def beam_one(network, source, width, max_len, alpha=0.6):
    network.eval()
    memory, mask = network.encode(torch.tensor([source + [EOS]]))
    alive, finished = [([BOS], 0.0)], []
    for _ in range(max_len):
        fed = torch.tensor([words for words, _ in alive])
        scores = network.decode(fed, memory.expand(len(alive), -1, -1), mask.expand(len(alive), -1, -1, -1))
        logs = scores[:, -1].log_softmax(-1)
        logs = logs + torch.tensor([[total] for _, total in alive])
        best, where = logs.flatten().topk(2 * width)
        grown = []
        for total, place in zip(best.tolist(), where.tolist()):
            row, word = divmod(place, logs.size(1))
            words = alive[row][0] + [word]
            if word == EOS:
                finished.append((words[1:-1], total / len(words) ** alpha))
            elif len(grown) < width:
                grown.append((words, total))
        alive = grown
    if not finished:
        finished = [(words[1:], total / len(words) ** alpha) for words, total in alive]
    return max(finished, key=lambda hypothesis: hypothesis[1])[0]


def prepare(c, seed=11):
    corpus = write_corpus(seed, 1560)
    train_lines, test_lines = corpus[:-60], corpus[-60:]
    vocab = Vocabulary([line for pair in train_lines for line in pair])
    encode = lambda pairs: [(vocab.encode(s), vocab.encode(t)) for s, t in pairs]  # noqa: E731
    torch.manual_seed(seed)
    network = Translator(c, len(vocab.words))
    return network, vocab, encode(train_lines), encode(test_lines)


def fit(network, pairs, step, steps, batch, report=100):
    loader = DataLoader(pairs, batch_size=batch, shuffle=True, collate_fn=collate)
    losses = []
    while len(losses) < steps:
        for source, fed, said in loader:
            losses.append(step(source, fed, said))
            if report and len(losses) % report == 0:
                print(f"{len(losses):5d}  {sum(losses[-50:]) / 50:.3f}", flush=True)
    return sum(losses[-50:]) / 50


def make():
    c = Config()
    network, vocab, train, test = prepare(c)
    return Subject(
        network,
        source_vocab=len(vocab.words),
        target_vocab=len(vocab.words),
        pad=PAD,
        bos=BOS,
        eos=EOS,
        scores=lambda source, target: network(source, target),
        collate=collate,
        loss=loss_of,
        training_step=make_step(network, c),
        translate=lambda sources: greedy(network, sources, c.max_len),
        beam=lambda sources: [beam_one(network, s, 4, c.max_len) for s in sources],
        train=train,
        test=test,
        unknown=UNK,
    )


def main(what, path="tovish.pt"):
    c = Config()
    network, vocab, train, test = prepare(c)
    if what == "train":
        fit(network, train, make_step(network, c), c.steps, c.batch)
        torch.save({"weights": network.state_dict(), "words": vocab.words}, path)
    else:
        saved = torch.load(path)
        assert saved["words"] == vocab.words
        network.load_state_dict(saved["weights"])
    found = greedy(network, [s for s, _ in test], c.max_len)
    for (s, t), u in list(zip(test, found))[:5]:
        print(" | ".join(map(vocab.decode, (s, t, u))))
    searched = [beam_one(network, s, 4, c.max_len) for s, _ in test]
    for name, outputs in ("greedy", found), ("beam", searched):
        print(name, sum(a == b for a, (_, b) in zip(outputs, test)), "of", len(test))


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "train")
