"""Oru to Vel: a small Transformer that translates between two invented languages.
Oru puts the verb first and never inflects; Vel puts the verb last, nouns bend
for number, adjectives for gender, verbs agree with their subject.
"""

import math
import random

import torch
import torch.nn.functional as F
from torch import einsum, nn

PAD, BOS, EOS, UNK = range(4)
SPECIALS = ["<pad>", "<s>", "</s>", "<unk>"]
LONGEST = 12  # words in a sentence
LIMIT = 32  # tokens in a translation

# ---------------------------------------------------------------- the languages

# Oru noun, Vel stem, gender
NOUNS = [
    ("tabo", "merk", "a"), ("lunu", "sild", "o"), ("kiri", "hant", "a"), ("dopa", "volg", "o"),
    ("sefu", "brin", "a"), ("milo", "tarv", "o"), ("gatu", "kelm", "a"), ("ruve", "dorp", "o"),
    ("pone", "flis", "a"), ("hiza", "grud", "o"), ("waki", "nelt", "a"), ("jomo", "pask", "o"),
    ("balu", "stir", "a"), ("neri", "wolk", "o"), ("zotu", "yarn", "a"), ("fami", "zund", "o"),
]
ADJECTIVES = [
    ("bim", "glor"), ("dak", "hest"), ("fon", "jult"), ("gul", "kran"),
    ("het", "lirm"), ("jip", "mosk"), ("kol", "nurb"), ("lem", "prel"),
]
VERBS = [  # the first four take no object
    ("arota", "slap"), ("emiki", "wend"), ("ibuse", "lach"), ("osolo", "zing"), ("udena", "grep"),
    ("akifo", "hout"), ("etuma", "biet"), ("inoro", "tref"), ("opeva", "vang"), ("uligi", "draf"),
]
ADVERBS = [("sai", "morn"), ("toi", "ofte"), ("mau", "stil"), ("nei", "hier"), ("pau", "snel")]
TENSES = [("ka", "ward"), ("ke", "zalt")]

def noun_phrase(rng, most_adjectives=2):
    """An Oru phrase, its Vel translation, and whether it is a plural."""
    number = rng.choice(["un", "sil", "mor"])
    plural = number != "un"
    word, stem, gender = rng.choice(NOUNS)
    adjectives = rng.sample(ADJECTIVES, rng.randint(0, most_adjectives))
    oru = [number, word] + [a for a, _ in adjectives]
    vel = ["plen"] if number == "mor" else []
    vel.append("d" + gender + ("n" if plural else ""))
    vel += [b + gender for _, b in reversed(adjectives)]
    vel.append(stem + ("ur" if plural else ""))
    return oru, vel, plural

def sentence(rng):
    verb_at = rng.randrange(len(VERBS))
    oru_verb, vel_verb = VERBS[verb_at]
    oru_subject, vel_subject, plural = noun_phrase(rng)
    oru, vel = [oru_verb] + oru_subject, list(vel_subject)
    if verb_at >= 4:
        oru_object, vel_object, _ = noun_phrase(rng)
        oru += oru_object
        if rng.random() < 0.25:
            oru_owner, vel_owner, _ = noun_phrase(rng, 0)
            oru += ["na"] + oru_owner
            vel_object = vel_object + ["van"] + vel_owner
        vel += vel_object
    vel.append(vel_verb + ("en" if plural else "et"))
    if rng.random() < 0.5:
        oru_tense, vel_tense = rng.choice(TENSES)
        oru.insert(0, oru_tense)
        vel.append(vel_tense)
    if rng.random() < 0.3:
        oru_adverb, vel_adverb = rng.choice(ADVERBS)
        oru.append(oru_adverb)
        vel.insert(0, vel_adverb)
    return " ".join(oru), " ".join(vel)

def write_corpus(lines, seed):
    """Two lists of lines, as two files of a parallel corpus would hold them."""
    rng = random.Random(seed)
    seen = {}
    while len(seen) < lines:
        oru, vel = sentence(rng)
        seen.setdefault(oru, vel)
    return list(seen.keys()), list(seen.values())

# ---------------------------------------------------------------- text

class Vocabulary:
    def __init__(self, lines):
        words = sorted({word for line in lines for word in line.split()})
        self.words = SPECIALS + words
        self.ids = {word: i for i, word in enumerate(self.words)}

    def __len__(self):
        return len(self.words)

    def encode(self, line):
        return [self.ids.get(word, UNK) for word in line.split()]

def short_enough(line):
    return len(line.split()) <= LONGEST

def clean(oru_lines, vel_lines):
    """Drop sentences that are too long."""
    pairs = zip(oru_lines, vel_lines)
    return [(oru, vel) for oru, vel in pairs if short_enough(oru) and short_enough(vel)]

def pad_rows(rows):
    longest = max(len(row) for row in rows)
    return torch.tensor([row + [PAD] * (longest - len(row)) for row in rows])

def source_batch(sources):
    return pad_rows([list(ids) + [EOS] for ids in sources])

def collate(pairs):
    sources = [source for source, _ in pairs]
    targets = [list(target) for _, target in pairs]
    target_in = pad_rows([[BOS] + ids for ids in targets])
    target_out = pad_rows([ids + [EOS] for ids in targets])
    return source_batch(sources), target_in, target_out

# ---------------------------------------------------------------- the network

def sinusoids(length, width):
    place = torch.arange(length, dtype=torch.float)
    rate = torch.exp(torch.arange(0, width, 2) * (-math.log(10000.0) / width))
    angle = einsum("t,f->tf", place, rate)
    return torch.stack([angle.sin(), angle.cos()], dim=-1).reshape(length, width)

class Embedding(nn.Module):
    def __init__(self, vocabulary, width, rate, longest=512):
        super().__init__()
        self.width, self.rate = width, rate
        self.words = nn.Embedding(vocabulary, width, padding_idx=PAD)
        nn.init.normal_(self.words.weight, std=width**-0.5)
        self.register_buffer("places", sinusoids(longest, width), persistent=False)

    def forward(self, ids, start=0):
        x = self.words(ids) * math.sqrt(self.width)
        x = x + self.places[start : start + ids.size(1)].unsqueeze(0)
        return F.dropout(x, self.rate, self.training)

class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads, self.depth = heads, width // heads
        self.to_q, self.to_k, self.to_v = (nn.Linear(width, width, bias=False) for _ in "qkv")
        self.to_out = nn.Linear(width, width)
        for part in (self.to_q, self.to_k, self.to_v, self.to_out):
            nn.init.xavier_uniform_(part.weight)

    def split(self, x):
        return x.reshape(*x.shape[:2], self.heads, self.depth)

    def keys_and_values(self, x):
        return self.split(self.to_k(x)), self.split(self.to_v(x))

    def forward(self, x, k, v, allowed=None):
        batch, time, width = x.shape
        q = self.split(self.to_q(x))
        scores = einsum("bqhd,bkhd->bhqk", q, k) / math.sqrt(self.depth)
        if allowed is not None:
            scores = scores.masked_fill(~allowed, -1e9)
        weights = scores.softmax(dim=-1)
        mixed = einsum("bhqk,bkhd->bqhd", weights, v)
        return self.to_out(mixed.reshape(batch, time, width))

def feed_forward(width, hidden):
    return nn.Sequential(nn.Linear(width, hidden), nn.ReLU(), nn.Linear(hidden, width))

class Residual(nn.Module):
    """x + dropout(f(norm(x)))"""

    def __init__(self, width, rate):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.rate = rate

    def forward(self, x, function):
        return x + F.dropout(function(self.norm(x)), self.rate, self.training)

class EncoderLayer(nn.Module):
    def __init__(self, width, heads, hidden, rate):
        super().__init__()
        self.attention = Attention(width, heads)
        self.feed = feed_forward(width, hidden)
        self.around = nn.ModuleList(Residual(width, rate) for _ in range(2))

    def forward(self, x, allowed):
        look = self.attention
        x = self.around[0](x, lambda y: look(y, *look.keys_and_values(y), allowed))
        return self.around[1](x, self.feed)

class DecoderLayer(nn.Module):
    def __init__(self, width, heads, hidden, rate):
        super().__init__()
        self.own, self.cross = Attention(width, heads), Attention(width, heads)
        self.feed = feed_forward(width, hidden)
        self.around = nn.ModuleList(Residual(width, rate) for _ in range(3))

    def forward(self, x, memory, own_allowed, source_allowed, cache=None):
        def look_back(y):
            k, v = self.own.keys_and_values(y)
            if cache is not None:
                if "k" in cache:
                    k = torch.cat([cache["k"], k], dim=1)
                    v = torch.cat([cache["v"], v], dim=1)
                cache["k"], cache["v"] = k, v
            return self.own(y, k, v, own_allowed)

        def look_across(y):
            if cache is None:
                return self.cross(y, *self.cross.keys_and_values(memory), source_allowed)
            if "source" not in cache:
                cache["source"] = self.cross.keys_and_values(memory)
            return self.cross(y, *cache["source"], source_allowed)

        x = self.around[0](x, look_back)
        x = self.around[1](x, look_across)
        return self.around[2](x, self.feed)

class Transformer(nn.Module):
    def __init__(self, oru, vel, width=32, layers=2, heads=4, hidden=96, rate=0.1):
        super().__init__()
        self.oru, self.vel = Embedding(oru, width, rate), Embedding(vel, width, rate)
        sizes = width, heads, hidden, rate
        self.encoder = nn.ModuleList(EncoderLayer(*sizes) for _ in range(layers))
        self.decoder = nn.ModuleList(DecoderLayer(*sizes) for _ in range(layers))
        self.encoder_norm, self.decoder_norm = nn.LayerNorm(width), nn.LayerNorm(width)

    def encode(self, source):
        allowed = (source != PAD)[:, None, None, :]
        x = self.oru(source)
        for layer in self.encoder:
            x = layer(x, allowed)
        return self.encoder_norm(x), allowed

    def read_out(self, x):
        # the output shares its weights with the Vel embedding
        return einsum("btw,vw->btv", self.decoder_norm(x), self.vel.words.weight)

    def decode(self, target, memory, source_allowed):
        time = target.size(1)
        earlier = torch.ones(time, time, dtype=torch.bool, device=target.device).tril()
        allowed = earlier & (target != PAD)[:, None, None, :]
        x = self.vel(target)
        for layer in self.decoder:
            x = layer(x, memory, allowed, source_allowed)
        return self.read_out(x)

    def step(self, last, memory, source_allowed, caches):
        """Scores after the newest token (rows, 1); what was before it is in the caches."""
        done = caches[0]["k"].size(1) if "k" in caches[0] else 0
        x = self.vel(last, start=done)
        for layer, cache in zip(self.decoder, caches):
            x = layer(x, memory, None, source_allowed, cache)
        return self.read_out(x)[:, -1]

    def forward(self, source, target):
        memory, allowed = self.encode(source)
        return self.decode(target, memory, allowed)

# ---------------------------------------------------------------- learning

def smoothed_loss(scores, target_out, smoothing=0.1):
    logs = scores.log_softmax(dim=-1)
    right = logs.gather(-1, target_out.unsqueeze(-1)).squeeze(-1)
    loss = -(1 - smoothing) * right - smoothing * logs.mean(dim=-1)
    counted = target_out != PAD
    return (loss * counted).sum() / counted.sum().clamp(min=1)

class Trainer:
    def __init__(self, network, peak=6e-3, warmup=60):
        self.network = network
        weights = network.parameters()
        self.optimizer = torch.optim.Adam(weights, lr=peak, betas=(0.9, 0.98), eps=1e-9)

        def slope(step):
            return min((step + 1) / warmup, math.sqrt(warmup / (step + 1)))

        self.schedule = torch.optim.lr_scheduler.LambdaLR(self.optimizer, slope)

    def step(self, source, target_in, target_out):
        self.network.train()
        self.optimizer.zero_grad()
        loss = smoothed_loss(self.network(source, target_in), target_out)
        loss.backward()
        nn.utils.clip_grad_norm_(self.network.parameters(), 1.0)
        self.optimizer.step()
        self.schedule.step()
        return loss.item()

    def fit(self, pairs, epochs, size=32, seed=1):
        rng = random.Random(seed)
        means = []
        for _ in range(epochs):
            order = rng.sample(pairs, len(pairs))
            losses = [self.step(*collate(order[i : i + size])) for i in range(0, len(pairs), size)]
            means.append(sum(losses) / len(losses))
        return means

# ---------------------------------------------------------------- translating

def until_end(ids):
    return ids[: ids.index(EOS)] if EOS in ids else ids

@torch.no_grad()
def greedy(network, sources):
    network.eval()
    memory, allowed = network.encode(source_batch(sources))
    caches = [{} for _ in network.decoder]
    last = torch.full((len(sources), 1), BOS)
    ended = torch.zeros(len(sources), dtype=torch.bool)
    said = []
    for _ in range(LIMIT):
        best = network.step(last, memory, allowed, caches).argmax(dim=-1).masked_fill(ended, PAD)
        said.append(best)
        ended |= best == EOS
        if ended.all():
            break
        last = best.unsqueeze(1)
    return [until_end(row) for row in torch.stack(said, dim=1).tolist()]

def reorder(caches, rows):
    """Let the caches follow the hypotheses. The source's keys are alike for all of a sentence."""
    for cache in caches:
        cache["k"], cache["v"] = cache["k"][rows], cache["v"][rows]

@torch.no_grad()
def beam_search(network, sources, size=4, alpha=0.6):
    network.eval()
    memory, allowed = network.encode(source_batch(sources))
    memory, allowed = (x.repeat_interleave(size, dim=0) for x in (memory, allowed))
    batch = len(sources)
    caches = [{} for _ in network.decoder]
    said = torch.full((batch, size, 1), BOS)
    total = torch.full((batch, size), -math.inf)
    total[:, 0] = 0.0  # at first all hypotheses are the same: one is enough
    length = torch.zeros(batch, size)
    ended = torch.zeros(batch, size, dtype=torch.bool)
    first_row = torch.arange(batch).unsqueeze(1) * size
    for _ in range(LIMIT):
        last = said[:, :, -1].reshape(batch * size, 1)
        logs = network.step(last, memory, allowed, caches).log_softmax(dim=-1)
        logs[:, [PAD, BOS]] = -math.inf
        logs = logs.reshape(batch, size, -1)
        words = logs.size(-1)
        # an ended hypothesis goes on with padding, at no cost
        rest = torch.full((words,), -math.inf)
        rest[PAD] = 0.0
        logs = torch.where(ended.unsqueeze(-1), rest, logs)
        length = length + (~ended).float()
        sums = total.unsqueeze(-1) + logs
        ranks = sums / (((5 + length) / 6) ** alpha).unsqueeze(-1)
        _, places = ranks.reshape(batch, size * words).topk(size, dim=-1)
        origin, word = places // words, places % words
        total = sums.reshape(batch, size * words).gather(1, places)
        length = length.gather(1, origin)
        ended = ended.gather(1, origin) | (word == EOS)
        past = said.gather(1, origin.unsqueeze(-1).expand_as(said))
        said = torch.cat([past, word.unsqueeze(-1)], dim=-1)
        if ended.all():
            break
        reorder(caches, (first_row + origin).reshape(-1))
    best = (total / ((5 + length) / 6) ** alpha).argmax(dim=-1)
    return [until_end(said[i, best[i], 1:].tolist()) for i in range(batch)]

# ---------------------------------------------------------------- everything together

def build():
    torch.manual_seed(7)
    oru_lines, vel_lines = write_corpus(1000, seed=3)
    oru, vel = Vocabulary(oru_lines), Vocabulary(vel_lines)
    pairs = [(oru.encode(a), vel.encode(b)) for a, b in clean(oru_lines, vel_lines)]
    network = Transformer(len(oru), len(vel))
    return oru, vel, pairs[:-100], pairs[-100:], network, Trainer(network)

def make():
    from transformer_course.examine import Subject

    oru, vel, train, test, network, trainer = build()
    return Subject(
        network,
        source_vocab=len(oru), target_vocab=len(vel),
        pad=PAD, bos=BOS, eos=EOS, unknown=UNK,
        scores=lambda source, target: network(source, target),
        collate=collate, loss=smoothed_loss, training_step=trainer.step,
        translate=lambda sources: greedy(network, sources),
        beam=lambda sources: beam_search(network, sources),
        train=train, test=test,
    )

def main():
    oru, vel, train, test, network, trainer = build()
    print(len(train), "pairs,", len(test), "to test,", len(oru), "and", len(vel), "words")
    print([round(loss, 2) for loss in trainer.fit(train, 30)])
    for search in (greedy, beam_search):
        found = search(network, [source for source, _ in test])
        print(search.__name__, sum(a == b for a, (_, b) in zip(found, test)), "of", len(test))

if __name__ == "__main__":
    main()
