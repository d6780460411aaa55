"""Velmari to English: a small post-norm Transformer, length first, with everything in one file.

Velmari is an invented language. Its verb comes last, its adjectives follow the noun and take its
number, and nothing but the order tells who does it to whom. It glues its endings to the stems, so it
is split by byte pair encoding. The English side is in words: dog/dogs, this/these, sees/see/saw.
"""

import collections
import contextlib
import math
import random

import torch
import torch.nn as nn
import torch.nn.functional as F

from transformer_course.examine import Subject

BOS, PAD, EOS, UNK = 0, 1, 2, 3
SPECIAL = ["<s>", "<pad>", "</s>", "<unk>"]

WIDTH, HEADS, LAYERS, INNER, DROPOUT = 32, 4, 2, 96, 0.1
MERGES, ACCUMULATE = 60, 4  # of byte pairs; pieces that a batch is cut into
WARMUP, FACTOR = 80, 0.5
LONGEST, BEAM, ALPHA = 40, 4, 0.6  # words of a translation, hypotheses, length normalisation

# ---- The text
NOUNS = """kalo dog dogs, miru cat cats, sefa bird birds, tolin horse horses, vaspe farmer farmers,
duren child children, pikar king kings, lomse woman women, raku mouse mice, hilta doctor doctors"""
ADJECTIVES = "bru big, nim small, osk old, zel red, fad tired"
TRANSITIVE = """gan sees see saw, lup hears hear heard, tev follows follow followed,
mok helps help helped, rish finds find found"""
INTRANSITIVE = "dorm sleeps sleep slept, kesh runs run ran"
NOUNS, ADJECTIVES, TRANSITIVE, INTRANSITIVE = (
    [entry.split() for entry in text.split(",")] for text in (NOUNS, ADJECTIVES, TRANSITIVE, INTRANSITIVE)
)
NEAR, FAR = ("ne", "this", "these"), ("wo", "that", "those")

def noun_phrase(rng):
    stem, one, many = rng.choice(NOUNS)
    plural = rng.random() < 0.5
    ending, *demonstrative = rng.choice([NEAR, FAR])
    number = "ti" if plural else ""
    velmari, english = [stem + number + ending], [demonstrative[plural]]
    if rng.random() < 0.4:
        strange, known = rng.choice(ADJECTIVES)
        velmari, english = velmari + [strange + number], english + [known]
    return velmari, english + [many if plural else one], plural

def clause(rng):
    subject, who, plural = noun_phrase(rng)
    past = rng.random() < 0.4
    thing, whom, _ = noun_phrase(rng)
    stem, *forms = rng.choice(TRANSITIVE)
    if rng.random() < 0.3:
        thing, whom, (stem, *forms) = [], [], rng.choice(INTRANSITIVE)
    verb = forms[2] if past else forms[plural]
    return subject + thing + [stem + ("sha" if past else "e")], who + [verb] + whom

def write_text(rng, sentences, known=()):
    """Two texts, line by line; an empty line ends a paragraph in both."""
    seen, left, right = set(known), [], []
    while sentences > 0:
        velmari, english = clause(rng)
        if rng.random() < 0.15:
            more, besides = clause(rng)
            velmari, english = velmari + ["yo"] + more, english + ["and"] + besides
        line = " ".join(velmari)
        if line in seen:
            continue
        seen.add(line)
        left, right, sentences = left + [line], right + [" ".join(english)], sentences - 1
        if rng.random() < 0.04:
            left, right = left + [""], right + [""]
    return "\n".join(left), "\n".join(right), seen

def read_text(source_text, target_text):
    sources = [line.split() for line in source_text.split("\n") if line.strip()]
    targets = [line.split() for line in target_text.split("\n") if line.strip()]
    return list(zip(sources, targets))

class BytePairs:
    """Learns the most frequent merges (Sennrich et al.); "@@" marks a piece that goes on."""
    def __init__(self, sentences, merges):
        counts = collections.Counter(word for sentence in sentences for word in sentence)
        words, self.merges = {word: list(word) for word in counts}, []
        for _ in range(merges):
            pairs = collections.Counter()
            for word, pieces in words.items():
                for pair in zip(pieces, pieces[1:]):
                    pairs[pair] += counts[word]
            best = max(pairs, key=lambda pair: (pairs[pair], pair))
            self.merges.append(best)
            words = {word: self.merge(pieces, best) for word, pieces in words.items()}
    @staticmethod
    def merge(pieces, pair):
        merged, i = [], 0
        while i < len(pieces):
            n = 2 if tuple(pieces[i : i + 2]) == pair else 1
            merged.append("".join(pieces[i : i + n]))
            i += n
        return merged
    def split(self, sentence):
        out = []
        for word in sentence:
            pieces = list(word)
            for pair in self.merges:
                pieces = self.merge(pieces, pair)
            out += [piece + "@@" for piece in pieces[:-1]] + pieces[-1:]
        return out

class Vocabulary:
    def __init__(self, sentences):
        counts = collections.Counter(word for sentence in sentences for word in sentence)
        self.words = SPECIAL + sorted(counts, key=lambda word: (-counts[word], word))
        self.ids = {word: i for i, word in enumerate(self.words)}
    def encode(self, sentence):
        return [self.ids.get(word, UNK) for word in sentence]

def load_data(seed=11, train=800, test=80):
    rng = random.Random(seed)
    *train_text, seen = write_text(rng, train)
    *test_text, _ = write_text(rng, test, seen)
    train, test = read_text(*train_text), read_text(*test_text)
    codes = BytePairs([source for source, _ in train], MERGES)
    train, test = ([(codes.split(source), target) for source, target in part] for part in (train, test))
    velmari, english = (Vocabulary(side) for side in zip(*train))
    train, test = (
        [(velmari.encode(source), english.encode(target)) for source, target in part] for part in (train, test)
    )
    return train, test, velmari, english

def pad(rows):
    """Lists of ids to one tensor, length first."""
    rows = [torch.tensor(row, dtype=torch.long) for row in rows]
    return nn.utils.rnn.pad_sequence(rows, padding_value=PAD)

def make_batch(pairs):
    source = pad([list(source) + [EOS] for source, _ in pairs])
    target_in = pad([[BOS] + list(target) for _, target in pairs])
    target_out = pad([list(target) + [EOS] for _, target in pairs])
    return source, target_in, target_out

# ---- The network: (length, batch, width) everywhere
class Positions(nn.Module):
    def __init__(self, width, dropout, longest=512):
        super().__init__()
        self.dropout = nn.Dropout(dropout)
        where = torch.arange(longest, dtype=torch.float).unsqueeze(1)
        speed = torch.exp(torch.arange(0, width, 2).float() * (-math.log(10000.0) / width))
        table = torch.zeros(longest, width)
        table[:, 0::2] = torch.sin(where * speed)
        table[:, 1::2] = torch.cos(where * speed)
        self.register_buffer("table", table.unsqueeze(1))
    def forward(self, x):
        return self.dropout(x + self.table[: x.size(0)])

class Attention(nn.Module):
    def __init__(self, width, heads, dropout):
        super().__init__()
        self.heads, self.size = heads, width // heads
        self.query, self.key = nn.Linear(width, width), nn.Linear(width, width)
        self.value, self.out = nn.Linear(width, width), nn.Linear(width, width)
        self.dropout = nn.Dropout(dropout)
    def split(self, x):
        """(length, batch, width) -> (batch * heads, length, size)"""
        length, batch, _ = x.size()
        return x.contiguous().view(length, batch * self.heads, self.size).transpose(0, 1)
    def forward(self, x, memory, hidden):
        """hidden: (batch, 1 or length, length of memory), true where nobody may look"""
        q = self.split(self.query(x))
        k, v = self.split(self.key(memory)), self.split(self.value(memory))
        energy = torch.bmm(q, k.transpose(1, 2)) / math.sqrt(self.size)
        energy = energy.masked_fill(hidden.repeat_interleave(self.heads, 0), -1e9)
        weights = self.dropout(F.softmax(energy, dim=-1))
        heard = torch.bmm(weights, v).transpose(0, 1).contiguous().view(x.size())
        return self.out(heard)

class AddAndNorm(nn.Module):
    def __init__(self, width, dropout):
        super().__init__()
        self.norm, self.dropout = nn.LayerNorm(width), nn.Dropout(dropout)
    def forward(self, x, change):
        return self.norm(x + self.dropout(change))

def feed_forward(width, inner, dropout):
    return nn.Sequential(nn.Linear(width, inner), nn.ReLU(), nn.Dropout(dropout), nn.Linear(inner, width))

class EncoderLayer(nn.Module):
    def __init__(self, width, heads, inner, dropout):
        super().__init__()
        self.attention = Attention(width, heads, dropout)
        self.feed = feed_forward(width, inner, dropout)
        self.add = nn.ModuleList(AddAndNorm(width, dropout) for _ in range(2))
    def forward(self, x, hidden):
        x = self.add[0](x, self.attention(x, x, hidden))
        return self.add[1](x, self.feed(x))

class DecoderLayer(nn.Module):
    def __init__(self, width, heads, inner, dropout):
        super().__init__()
        self.own = Attention(width, heads, dropout)
        self.source = Attention(width, heads, dropout)
        self.feed = feed_forward(width, inner, dropout)
        self.add = nn.ModuleList(AddAndNorm(width, dropout) for _ in range(3))
    def forward(self, y, hidden, memory, memory_hidden):
        y = self.add[0](y, self.own(y, y, hidden))
        y = self.add[1](y, self.source(y, memory, memory_hidden))
        return self.add[2](y, self.feed(y))

class Translator(nn.Module):
    def __init__(self, source_words, target_words):
        super().__init__()
        self.source_words = nn.Embedding(source_words, WIDTH)
        self.target_words = nn.Embedding(target_words, WIDTH)
        self.positions = Positions(WIDTH, DROPOUT)
        sizes = (WIDTH, HEADS, INNER, DROPOUT)
        self.encoder = nn.ModuleList(EncoderLayer(*sizes) for _ in range(LAYERS))
        self.decoder = nn.ModuleList(DecoderLayer(*sizes) for _ in range(LAYERS))
        self.generator = nn.Linear(WIDTH, target_words)
        for weight in self.parameters():
            if weight.dim() > 1:
                nn.init.xavier_uniform_(weight)
    def encode(self, source):
        hidden = source.eq(PAD).t().unsqueeze(1)
        x = self.positions(self.source_words(source) * math.sqrt(WIDTH))
        for layer in self.encoder:
            x = layer(x, hidden)
        return x, hidden
    def decode(self, target, memory, memory_hidden):
        length = target.size(0)
        future = torch.ones(length, length, device=target.device).triu(diagonal=1).bool()
        hidden = target.eq(PAD).t().unsqueeze(1) | future
        y = self.positions(self.target_words(target) * math.sqrt(WIDTH))
        for layer in self.decoder:
            y = layer(y, hidden, memory, memory_hidden)
        return F.log_softmax(self.generator(y), dim=-1)
    def forward(self, source, target):
        return self.decode(target, *self.encode(source))

# ---- Training
class LabelSmoothing(nn.Module):
    """KL divergence from the smoothed truth, summed over all words (The Annotated Transformer)."""
    def __init__(self, size, padding_idx, smoothing=0.1):
        super().__init__()
        self.criterion = nn.KLDivLoss(reduction="sum")
        self.size, self.padding_idx, self.smoothing = size, padding_idx, smoothing
    def forward(self, scores, target):
        scores, target = scores.reshape(-1, self.size), target.reshape(-1)
        truth = torch.full_like(scores, self.smoothing / (self.size - 2)).detach()
        truth.scatter_(1, target.unsqueeze(1), 1.0 - self.smoothing)
        truth[:, self.padding_idx] = 0
        truth.masked_fill_(target.eq(self.padding_idx).unsqueeze(1), 0.0)
        return self.criterion(scores, truth)

class NoamOpt:
    def __init__(self, width, factor, warmup, optimizer):
        self.optimizer, self.width = optimizer, width
        self.factor, self.warmup, self.updates = factor, warmup, 0
    def rate(self):
        n = self.updates
        return self.factor * self.width**-0.5 * min(n**-0.5, n * self.warmup**-1.5)
    def step(self):
        self.updates += 1
        for group in self.optimizer.param_groups:
            group["lr"] = self.rate()
        self.optimizer.step()

class Checkpoints:
    """Keeps a few sets of weights by name, as files would be, and lends their average."""
    def __init__(self, network, keep=3, every=5):
        self.network, self.keep, self.every = network, keep, every
        self.saved, self.newest = {}, None
    def copy(self):
        return {key: value.clone() for key, value in self.network.state_dict().items()}
    def check(self):
        """Weights that were loaded by somebody else have nothing to do with those kept here."""
        now = self.network.state_dict()
        if self.newest and any(not torch.equal(now[key], old) for key, old in self.newest.items()):
            self.saved, self.newest = {}, None
    def update(self, step):
        self.newest = self.copy()
        if step % self.every == 0:
            self.saved["step%d" % step] = self.newest
            names = sorted(self.saved, key=lambda name: int(name[4:]))
            for name in names[: -self.keep]:
                del self.saved[name]
    @contextlib.contextmanager
    def average(self):
        self.check()
        own, training = self.copy(), self.network.training
        if self.saved:
            sets = list(self.saved.values())
            mean = {key: sum(weights[key] for weights in sets) / len(sets) for key in own}
            self.network.load_state_dict(mean)
        self.network.eval()
        try:
            yield self.network
        finally:
            self.network.load_state_dict(own)
            self.network.train(training)

class Trainer:
    def __init__(self, network, size):
        self.network = network
        self.criterion = LabelSmoothing(size, padding_idx=PAD)
        adam = torch.optim.Adam(network.parameters(), lr=0, betas=(0.9, 0.98), eps=1e-9)
        self.optimizer = NoamOpt(WIDTH, FACTOR, WARMUP, adam)
        self.checkpoints = Checkpoints(network)
    def loss(self, scores, target_out):
        return self.criterion(scores, target_out) / target_out.ne(PAD).sum()
    def update(self, source, target_in, target_out):
        """One update of the weights, a few sentences at a time (length first)."""
        self.checkpoints.check()
        self.network.train()
        total, words = 0.0, target_out.ne(PAD).sum()
        self.optimizer.optimizer.zero_grad()
        pieces = [part.chunk(ACCUMULATE, dim=1) for part in (source, target_in, target_out)]
        for some, said, to_say in zip(*pieces):
            loss = self.criterion(self.network(some, said), to_say) / words
            loss.backward()
            total += loss.item()
        self.optimizer.step()
        self.checkpoints.update(self.optimizer.updates)
        return total

# ---- Translation
def next_words(network, said, memory, hidden):
    scores = network.decode(said, memory, hidden)[-1]
    scores[:, [BOS, PAD]] = -float("inf")
    return scores

@torch.no_grad()
def greedy(checkpoints, sources):
    with checkpoints.average() as network:
        memory, hidden = network.encode(pad([list(source) + [EOS] for source in sources]))
        said = torch.full((1, len(sources)), BOS, dtype=torch.long)
        done = torch.zeros(len(sources), dtype=torch.bool)
        for _ in range(LONGEST):
            word = next_words(network, said, memory, hidden).argmax(dim=-1)
            word = word.masked_fill(done, PAD)
            said = torch.cat([said, word.unsqueeze(0)])
            done = done | word.eq(EOS)
            if done.all():
                break
    return [[w for w in row if w not in (PAD, EOS)] for row in said[1:].t().tolist()]

@torch.no_grad()
def beam_search(checkpoints, sources, size=BEAM):
    """All sentences at once: the hypotheses of sentence i are columns i * size to i * size + size - 1."""
    count = len(sources)
    with checkpoints.average() as network:
        memory, hidden = network.encode(pad([list(source) + [EOS] for source in sources]))
        memory = memory.repeat_interleave(size, 1)
        hidden = hidden.repeat_interleave(size, 0)
        said = torch.full((1, count * size), BOS, dtype=torch.long)
        sums = torch.full((count, size), -float("inf"))
        sums[:, 0] = 0.0
        ended = [[] for _ in sources]
        for step in range(1, LONGEST + 1):
            scores = next_words(network, said, memory, hidden)
            vocabulary = scores.size(1)
            total = (sums.view(-1, 1) + scores).view(count, size * vocabulary)
            values, places = total.topk(2 * size, dim=1)
            fair = ((5.0 + step) / 6.0) ** ALPHA
            columns, words, sums = [], [], torch.full((count, size), -float("inf"))
            for i in range(count):
                kept = 0
                for rank, (value, place) in enumerate(zip(values[i].tolist(), places[i].tolist())):
                    column, word = i * size + place // vocabulary, place % vocabulary
                    if word == EOS:
                        if rank < size and len(ended[i]) < size:
                            ended[i].append((value / fair, said[1:, column].tolist()))
                    elif kept < size:
                        columns, words = columns + [column], words + [word]
                        sums[i, kept], kept = value, kept + 1
            said = torch.cat([said[:, columns], torch.tensor([words])])
            if all(len(hypotheses) >= size for hypotheses in ended):
                break
        for i in range(count):
            if not ended[i]:
                ended[i].append((sums[i, 0].item() / fair, said[1:, i * size].tolist()))
    return [max(hypotheses, key=lambda pair: pair[0])[1] for hypotheses in ended]

def make(seed=5):
    torch.manual_seed(seed)
    train, test, velmari, english = load_data()
    network = Translator(len(velmari.words), len(english.words))
    trainer = Trainer(network, len(english.words))
    return Subject(
        network, source_vocab=len(velmari.words), target_vocab=len(english.words),
        pad=PAD, bos=BOS, eos=EOS, unknown=UNK, train=train, test=test,
        scores=lambda source, target: network(source.t(), target.t()).transpose(0, 1),
        collate=lambda pairs: tuple(part.t() for part in make_batch(pairs)),
        loss=trainer.loss,
        training_step=lambda *batch: trainer.update(*(part.t() for part in batch)),
        translate=lambda sources: greedy(trainer.checkpoints, sources),
        beam=lambda sources: beam_search(trainer.checkpoints, sources),
    )
