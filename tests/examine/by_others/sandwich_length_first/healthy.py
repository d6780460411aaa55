"""A hand-written encoder-decoder Transformer. Inside, tensors are (length, batch, width)."""

import io
import math
import random
from collections import Counter

import torch
import torch.nn.functional as F
from torch import nn
from transformer_course.examine import Subject

PAD, BOS, EOS, UNK = 0, 1, 2, 3
SPECIALS = ["<pad>", "<s>", "</s>", "<unk>"]
WIDTH, HEADS, LAYERS, INNER, RATE = 32, 4, 2, 64, 0.1
LONGEST, WARMUP, FACTOR, SMOOTHING = 16, 60, 0.4, 0.1

NOUNS = dict(cat="chat", dog="chien", horse="cheval", bird="oiseau", boy="garcon", king="roi", baker="boulanger", wolf="loup")
KINDS = dict(red="rouge", small="petit", old="vieux", wild="sauvage", calm="calme")
VERBS = dict(sees="voit", hears="entend", follows="suit", knows="connait", seeks="cherche")
FIRST = dict(the="le", a="un", this="ce", every="chaque")


def phrase(rng):
    d, n = rng.choice(list(FIRST)), rng.choice(list(NOUNS))
    if rng.random() < 0.5:
        k = rng.choice(list(KINDS))
        return [d, k, n], [FIRST[d], NOUNS[n], KINDS[k]]
    return [d, n], [FIRST[d], NOUNS[n]]


def corpus(count, seed):
    rng, pairs = random.Random(seed), []
    for _ in range(count):
        source, target = [], []
        for clause in range(rng.choice([1, 1, 1, 2, 3])):
            (a, x), (b, y), v = phrase(rng), phrase(rng), rng.choice(list(VERBS))
            source += (["and"] if clause else []) + a + [v] + b
            target += (["et"] if clause else []) + x + [VERBS[v]] + y
        pairs.append((source, target))
    return pairs


class Vocabulary:
    def __init__(self, sentences):
        counts = Counter(word for sentence in sentences for word in sentence)
        words = [word for word, n in sorted(counts.items(), key=lambda e: (-e[1], e[0])) if n > 1]
        self.words = SPECIALS + words
        self.ids = {word: i for i, word in enumerate(self.words)}

    def encode(self, sentence):
        return [self.ids.get(word, UNK) for word in sentence]


def pad_rows(rows):
    longest = max(map(len, rows))
    return torch.tensor([row + [PAD] * (longest - len(row)) for row in rows])


def source_row(ids):
    return ids[:LONGEST] + [EOS]


def collate(pairs):
    source = pad_rows([source_row(list(s)) for s, _ in pairs])
    targets = [list(t)[:LONGEST] for _, t in pairs]
    target_in = pad_rows([[BOS] + t for t in targets])
    target_out = pad_rows([t + [EOS] for t in targets])
    return source, target_in, target_out


class Norm(nn.Module):
    def __init__(self):
        super().__init__()
        self.gain = nn.Parameter(torch.ones(WIDTH))
        self.bias = nn.Parameter(torch.zeros(WIDTH))

    def forward(self, x):
        x = x - x.mean(-1, keepdim=True)
        return self.gain * x * (x.pow(2).mean(-1, keepdim=True) + 1e-5).rsqrt() + self.bias


class Sandwich(nn.Module):
    """x + norm(sublayer(norm(x)))"""

    def __init__(self):
        super().__init__()
        self.before, self.after, self.dropout = Norm(), Norm(), nn.Dropout(RATE)

    def forward(self, x, sublayer):
        return x + self.dropout(self.after(sublayer(self.before(x))))


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.q, self.k, self.v, self.o = (nn.Linear(WIDTH, WIDTH) for _ in range(4))

    def split(self, x):  # (length, batch, width) -> (batch, heads, length, width of a head)
        return x.view(x.size(0), x.size(1), HEADS, WIDTH // HEADS).permute(1, 2, 0, 3)

    def keys_values(self, x):
        return self.split(self.k(x)), self.split(self.v(x))

    def forward(self, x, keys, values, allowed):
        energy = self.split(self.q(x)) @ keys.transpose(-1, -2) / math.sqrt(WIDTH // HEADS)
        if allowed is not None:
            energy = energy.masked_fill(~allowed, -1e9)
        weights = F.dropout(energy.softmax(-1), RATE, self.training)
        context = (weights @ values).permute(2, 0, 1, 3)
        return self.o(context.reshape(x.size(0), x.size(1), WIDTH))


def feed_forward():
    return nn.Sequential(nn.Linear(WIDTH, INNER), nn.ReLU(), nn.Dropout(RATE), nn.Linear(INNER, WIDTH))


class EncoderLayer(nn.Module):
    def __init__(self):
        super().__init__()
        self.own, self.feed = Attention(), feed_forward()
        self.around_own, self.around_feed = Sandwich(), Sandwich()

    def forward(self, x, readable):
        x = self.around_own(x, lambda y: self.own(y, *self.own.keys_values(y), readable))
        return self.around_feed(x, self.feed)


class DecoderLayer(nn.Module):
    def __init__(self):
        super().__init__()
        self.own, self.cross, self.feed = Attention(), Attention(), feed_forward()
        self.around_own, self.around_cross, self.around_feed = Sandwich(), Sandwich(), Sandwich()

    def forward(self, x, memory, visible, readable, store=None):
        def own(y):
            keys, values = self.own.keys_values(y)
            if store is not None:
                if "own" in store:
                    keys, values = (torch.cat(both, 2) for both in zip(store["own"], (keys, values)))
                store["own"] = keys, values
            return self.own(y, keys, values, visible)

        def cross(y):
            if store is None:
                return self.cross(y, *self.cross.keys_values(memory), readable)
            if "cross" not in store:
                store["cross"] = self.cross.keys_values(memory)
            return self.cross(y, *store["cross"], readable)

        x = self.around_own(x, own)
        x = self.around_cross(x, cross)
        return self.around_feed(x, self.feed)


class Embedding(nn.Module):
    def __init__(self, size, longest=256):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(size, WIDTH) * WIDTH**-0.5)
        self.dropout = nn.Dropout(RATE)
        angle = torch.arange(longest)[:, None] * torch.exp(-math.log(1e4) * torch.arange(0, WIDTH, 2) / WIDTH)
        self.register_buffer("waves", torch.stack([angle.sin(), angle.cos()], -1).flatten(1))

    def forward(self, ids, start=0):  # ids are (length, batch)
        x = self.weight[ids] * math.sqrt(WIDTH)
        return self.dropout(x + self.waves[start : start + x.size(0), None])


class Translator(nn.Module):
    def __init__(self, source_size, target_size):
        super().__init__()
        self.source, self.target = Embedding(source_size), Embedding(target_size)
        self.encoder = nn.ModuleList(EncoderLayer() for _ in range(LAYERS))
        self.decoder = nn.ModuleList(DecoderLayer() for _ in range(LAYERS))
        self.encoded, self.decoded = Norm(), Norm()
        self.bias = nn.Parameter(torch.zeros(target_size))

    def encode(self, source):
        readable = (source != PAD).T[:, None, None, :]
        x = self.source(source)
        for layer in self.encoder:
            x = layer(x, readable)
        return self.encoded(x), readable

    def output(self, x):
        return self.decoded(x) @ self.target.weight.T + self.bias

    def forward(self, source, target):
        memory, readable = self.encode(source)
        length = target.size(0)
        visible = torch.ones(length, length, dtype=torch.bool).tril()
        x = self.target(target)
        for layer in self.decoder:
            x = layer(x, memory, visible, readable)
        return self.output(x)

    def begin(self, source):
        memory, readable = self.encode(source)
        return {"memory": memory, "readable": readable, "length": 0, "stores": [{} for _ in self.decoder]}

    def advance(self, token, state):  # token is (batch,); gives (batch, vocabulary)
        x = self.target(token[None], start=state["length"])
        for layer, store in zip(self.decoder, state["stores"]):
            x = layer(x, state["memory"], None, state["readable"], store)
        state["length"] += 1
        return self.output(x)[0]


def smoothed_loss(scores, target):
    log = scores.log_softmax(-1)
    real = target != PAD
    right = -log.gather(-1, target[..., None])[..., 0]
    spread = -log.mean(-1)
    each = (1 - SMOOTHING) * right + SMOOTHING * spread
    return (each * real).sum() / real.sum()


class Run:
    """A network with its optimiser and the count of updates, which sets the rate (Noam)."""

    def __init__(self, network):
        self.network, self.updates = network, 0
        decayed = [p for n, p in network.named_parameters() if p.dim() > 1 and n.split(".")[0] not in ("source", "target")]
        chosen = set(map(id, decayed))
        others = [p for p in network.parameters() if id(p) not in chosen]
        groups = [{"params": decayed, "weight_decay": 1e-3}, {"params": others, "weight_decay": 0.0}]
        self.optimizer = torch.optim.AdamW(groups, lr=0.0, betas=(0.9, 0.98), eps=1e-9)

    def step(self, source, target_in, target_out):
        self.network.train()
        self.updates += 1
        rate = FACTOR * WIDTH**-0.5 * min(self.updates**-0.5, self.updates * WARMUP**-1.5)
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        self.optimizer.zero_grad()
        loss = smoothed_loss(self.network(source.T, target_in.T), target_out.T)
        loss.backward()
        nn.utils.clip_grad_norm_(self.network.parameters(), 1.0)
        self.optimizer.step()
        return loss.item()

    def fit(self, pairs, steps, size=32, seed=0):
        rng = random.Random(seed)
        return [self.step(*collate(rng.sample(pairs, size))) for _ in range(steps)]

    def save(self, file):
        state = {"network": self.network.state_dict(), "optimizer": self.optimizer.state_dict(), "updates": self.updates}
        torch.save(state, file)


def resume(file, network):
    state = torch.load(file)
    network.load_state_dict(state["network"])
    run = Run(network)
    run.optimizer.load_state_dict(state["optimizer"])
    run.updates = state["updates"]
    return run


@torch.no_grad()
def greedy(network, sources):
    network.eval()
    state = network.begin(pad_rows([source_row(list(s)) for s in sources]).T)
    token = torch.full((len(sources),), BOS)
    finished, said = torch.zeros(len(sources), dtype=torch.bool), []
    for _ in range(LONGEST + 1):
        token = network.advance(token, state).argmax(-1).masked_fill(finished, EOS)
        said.append(token)
        finished |= token == EOS
        if finished.all():
            break
    rows = torch.stack(said, 1).tolist()
    return [row[: row.index(EOS)] if EOS in row else row for row in rows]


@torch.no_grad()
def beam(network, source, width=4, alpha=0.6):
    network.eval()
    state = network.begin(torch.tensor(source_row(list(source)))[:, None].expand(-1, width))
    token, rows, done = torch.full((width,), BOS), [[]] * width, []
    totals = torch.tensor([0.0] + [-math.inf] * (width - 1))
    for _ in range(LONGEST + 1):
        log = network.advance(token, state).log_softmax(-1)
        best, where = (totals[:, None] + log).flatten().topk(2 * width)
        kept = []
        for score, parent, word in zip(best.tolist(), (where // log.size(1)).tolist(), (where % log.size(1)).tolist()):
            if word == EOS:
                done.append((score / (len(rows[parent]) + 1) ** alpha, rows[parent]))
            elif len(kept) < width:
                kept.append((score, parent, word))
        if done and max(done)[0] >= kept[0][0] / (LONGEST + 1) ** alpha:  # none that goes on can win
            break
        totals, token = torch.tensor([k[0] for k in kept]), torch.tensor([k[2] for k in kept])
        rows = [rows[parent] + [word] for _, parent, word in kept]
        parents = torch.tensor([k[1] for k in kept])
        for store in state["stores"]:
            store["own"] = tuple(part[parents] for part in store["own"])
    return max(done)[1] if done else rows[0]


def make():
    torch.manual_seed(0)
    text, unseen = corpus(800, 1), corpus(80, 2)
    english, french = Vocabulary(s for s, _ in text), Vocabulary(t for _, t in text)
    train, test = ([(english.encode(s), french.encode(t)) for s, t in part] for part in (text, unseen))
    checkpoint = io.BytesIO()
    first = Run(Translator(len(english.words), len(french.words)))
    first.fit(train, 20)
    first.save(checkpoint)
    checkpoint.seek(0)
    run = resume(checkpoint, Translator(len(english.words), len(french.words)))
    network = run.network
    return Subject(
        network,
        source_vocab=len(english.words),
        target_vocab=len(french.words),
        pad=PAD,
        bos=BOS,
        eos=EOS,
        unknown=UNK,
        scores=lambda source, target: network(source.T, target.T).transpose(0, 1),
        collate=collate,
        loss=smoothed_loss,
        training_step=run.step,
        translate=lambda sources: greedy(network, sources),
        beam=lambda sources: [beam(network, source) for source in sources],
        train=train,
        test=test,
    )


if __name__ == "__main__":
    subject = make()
    rng = random.Random(3)
    for turn in range(6):
        losses = [subject.training_step(*collate(rng.sample(subject.train, 32))) for _ in range(60)]
        short = [(s, t) for s, t in subject.test if len(s) <= LONGEST]
        said = subject.translate([s for s, _ in short])
        searched = subject.beam([s for s, _ in short[:20]])
        right = sum(a == t for a, (_, t) in zip(said, short)) / len(short)
        print(turn, f"loss {sum(losses) / 60:.3f}, right {right:.2f}, beam {sum(a == t for a, (_, t) in zip(searched, short)) / 20:.2f}")
