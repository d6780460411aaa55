"""Little translator: English-ish -> Tovish, on top of torch's Transformer layers.

Tovish puts the adverb first, then who does it, then whom (marked with "wo"), then the verb, then
the negation. Adjectives follow their noun and agree with its gender, verbs agree in number.

    python healthy.py        # trains for a few minutes at most and shows some translations
"""

import math
import random
import time

import torch
from torch import nn

UNK, PAD, BOS, EOS = 0, 1, 2, 3
SPECIALS = ["<unk>", "<pad>", "<bos>", "<eos>"]

MAX_WORDS = 12  # longer lines are thrown away
MAX_POSITIONS = 256
MAX_OUT = 24
DROPOUT = 0.1

# english singular, plural, tovish stem, gender
NOUNS = [
    ("cat", "cats", "mirr", "f"), ("dog", "dogs", "vok", "m"), ("bird", "birds", "tsil", "f"),
    ("fish", "fishes", "plon", "m"), ("horse", "horses", "karg", "m"), ("child", "children", "nim", "f"),
    ("woman", "women", "elda", "f"), ("man", "men", "orrun", "m"), ("tree", "trees", "bosk", "m"),
    ("house", "houses", "dahl", "f"), ("river", "rivers", "sheen", "f"), ("stone", "stones", "grut", "m"),
    ("king", "kings", "tarn", "m"), ("queen", "queens", "ysel", "f"),
]  # fmt: skip
ADJECTIVES = {
    "big": "mag", "small": "pit", "old": "vet", "young": "jun",
    "red": "rud", "blue": "zul", "happy": "lail", "sad": "trum",
}  # fmt: skip
TRANSITIVE = [
    ("sees", "see", "vid"), ("loves", "love", "amm"), ("finds", "find", "trov"),
    ("follows", "follow", "sek"), ("hears", "hear", "aud"), ("helps", "help", "jud"),
]  # fmt: skip
INTRANSITIVE = [("sleeps", "sleep", "dorm"), ("waits", "wait", "sper"), ("sings", "sing", "kant")]
ADVERBS = {"today": "hodi", "often": "sovent", "never": "nulk", "here": "ik"}


def noun_phrase(rng, decorated=0.5):
    """English words, tovish words, and whether it is plural."""
    singular, plural, stem, gender = rng.choice(NOUNS)
    many = rng.random() < 0.45
    article = rng.choice(["the", "two"] if many else ["the", "a"])
    english, tovish = [article], [{"two": "bi", "a": "un"}.get(article)]
    tovish = [word for word in tovish if word]
    tovish.append(stem + "ri" if many else stem)
    if rng.random() < decorated:
        adjective = rng.choice(list(ADJECTIVES))
        english.append(adjective)
        tovish.append(ADJECTIVES[adjective] + ("a" if gender == "f" else "o"))
    english.append(plural if many else singular)
    return english, tovish, many


def sentence(rng):
    subject, subject_t, many = noun_phrase(rng)
    if rng.random() < 0.3:  # "the cat near a tree" is "un bosk pe mirr"
        place, place_t, _ = noun_phrase(rng, 0.4)
        subject, subject_t = subject + ["near"] + place, place_t + ["pe"] + subject_t
    english, tovish = list(subject), list(subject_t)
    denied = rng.random() < 0.2
    if denied:
        english.append("not")
    if rng.random() < 0.65:
        one, several, stem = rng.choice(TRANSITIVE)
        thing, thing_t, _ = noun_phrase(rng)
        english += [several if many else one] + thing
        tovish += thing_t + ["wo"]
    else:
        one, several, stem = rng.choice(INTRANSITIVE)
        english.append(several if many else one)
    tovish.append(stem + ("en" if many else "u"))
    if denied:
        tovish.append("nai")
    if rng.random() < 0.35:
        adverb = rng.choice(list(ADVERBS))
        english.append(adverb)
        tovish.insert(0, ADVERBS[adverb])
    return " ".join(english), " ".join(tovish)


def write_lines(count, rng):
    """Two parallel lists of lines, as they would come out of two files."""
    lines = {}
    while len(lines) < count:
        english, tovish = sentence(rng)
        lines.setdefault(english, tovish)
    return list(lines.keys()), list(lines.values())


def clean(english, tovish):
    """Throw away what is too long."""
    pairs = [(a.split(), b.split()) for a, b in zip(english, tovish)]
    return [(a, b) for a, b in pairs if max(len(a), len(b)) <= MAX_WORDS]


class Vocabulary:
    def __init__(self, sentences):
        seen = sorted({word for words in sentences for word in words})
        self.words = SPECIALS + seen
        self.ids = {word: i for i, word in enumerate(self.words)}

    def __len__(self):
        return len(self.words)

    def encode(self, words):
        return [self.ids.get(word, UNK) for word in words]

    def decode(self, ids):
        return " ".join(self.words[i] for i in ids)


def pad_rows(rows):
    width = max(len(row) for row in rows)
    return torch.tensor([row + [PAD] * (width - len(row)) for row in rows])


def collate(pairs):
    source = pad_rows([list(s) + [EOS] for s, _ in pairs])
    whole = pad_rows([[BOS] + list(t) + [EOS] for _, t in pairs])
    return source, whole[:, :-1], whole[:, 1:]


def buckets(pairs, size, rng):
    """Batches of similar lengths: shuffle, cut into pools, sort each pool, cut, shuffle again."""
    pairs = list(pairs)
    rng.shuffle(pairs)
    batches = []
    for start in range(0, len(pairs), size * 6):
        pool = sorted(pairs[start : start + size * 6], key=lambda pair: len(pair[0]))
        batches += [pool[i : i + size] for i in range(0, len(pool), size)]
    rng.shuffle(batches)
    return batches


def is_padding(ids):
    return ids == PAD


def look_ahead_mask(n, device):
    """True where attention is not allowed."""
    return torch.ones(n, n, dtype=torch.bool, device=device).triu(1)


class Embedder(nn.Module):
    def __init__(self, size, width):
        super().__init__()
        self.width = width
        self.tokens = nn.Embedding(size, width, padding_idx=PAD)
        self.places = nn.Embedding(MAX_POSITIONS, width)
        self.dropout = nn.Dropout(DROPOUT)
        nn.init.normal_(self.tokens.weight, std=width**-0.5)
        nn.init.normal_(self.places.weight, std=0.5)
        with torch.no_grad():
            self.tokens.weight[PAD].zero_()

    def forward(self, ids):
        steps = torch.arange(ids.size(1), device=ids.device).unsqueeze(0)
        x = self.tokens(ids) * math.sqrt(self.width) + self.places(steps)
        return self.dropout(x)


class Translator(nn.Module):
    def __init__(self, source_size, target_size, width=32, heads=4, depth=2):
        super().__init__()
        self.embed_source = Embedder(source_size, width)
        self.embed_target = Embedder(target_size, width)
        common = dict(dim_feedforward=4 * width, dropout=DROPOUT, batch_first=True, norm_first=True)
        self.encoder = nn.TransformerEncoder(
            nn.TransformerEncoderLayer(width, heads, **common),
            depth,
            norm=nn.LayerNorm(width),
            enable_nested_tensor=False,
        )
        self.decoder = nn.TransformerDecoder(
            nn.TransformerDecoderLayer(width, heads, **common), depth, norm=nn.LayerNorm(width)
        )
        self.output = nn.Linear(width, target_size)
        for module in (self.encoder, self.decoder):
            for weight in module.parameters():
                if weight.dim() > 1:
                    nn.init.xavier_uniform_(weight)
        self.output.weight = self.embed_target.tokens.weight

    def encode(self, source):
        hidden = is_padding(source)
        return self.encoder(self.embed_source(source), src_key_padding_mask=hidden), hidden

    def decode(self, target, memory, hidden):
        x = self.decoder(
            self.embed_target(target),
            memory,
            tgt_mask=look_ahead_mask(target.size(1), target.device),
            tgt_key_padding_mask=is_padding(target),
            memory_key_padding_mask=hidden,
        )
        return self.output(x)

    def forward(self, source, target):
        memory, hidden = self.encode(source)
        return self.decode(target, memory, hidden)


def cut(row):
    """What stands before the end."""
    words = []
    for word in row:
        if word == EOS:
            break
        if word not in (BOS, PAD):
            words.append(word)
    return words


class Searcher:
    def __init__(self, network, beams=4, alpha=0.7, chunk=32):
        self.network, self.beams, self.alpha, self.chunk = network, beams, alpha, chunk

    def translate(self, sources):
        return self._in_chunks(sources, self._greedy)

    def translate_beam(self, sources):
        return self._in_chunks(sources, self._beam)

    def _in_chunks(self, sources, search):
        """Sentences of similar lengths are searched together, it is much faster."""
        self.network.eval()
        order = sorted(range(len(sources)), key=lambda i: len(sources[i]))
        answers = [None] * len(sources)
        for start in range(0, len(order), self.chunk):
            rows = order[start : start + self.chunk]
            batch = pad_rows([list(sources[i]) + [EOS] for i in rows])
            for row, answer in zip(rows, search(batch)):
                answers[row] = cut(answer)
        return answers

    @torch.no_grad()
    def _greedy(self, source):
        memory, hidden = self.network.encode(source)
        said = torch.full((source.size(0), 1), BOS)
        done = torch.zeros(source.size(0), dtype=torch.bool)
        for _ in range(MAX_OUT):
            scores = self.network.decode(said, memory, hidden)[:, -1]
            scores[:, [PAD, BOS]] = -math.inf
            word = scores.argmax(-1).masked_fill(done, PAD)
            said = torch.cat([said, word.unsqueeze(1)], dim=1)
            done = done | (word == EOS)
            if done.all():
                break
        return said[:, 1:].tolist()

    @torch.no_grad()
    def _beam(self, source):
        n, k = source.size(0), self.beams
        memory, hidden = self.network.encode(source)
        memory = memory.repeat_interleave(k, dim=0)
        hidden = hidden.repeat_interleave(k, dim=0)
        said = torch.full((n * k, 1), BOS)
        totals = torch.full((n, k), -math.inf)
        totals[:, 0] = 0.0  # in the beginning all hypotheses are the same one
        done = torch.zeros(n * k, dtype=torch.bool)
        first_of = torch.arange(n).unsqueeze(1) * k
        for _ in range(MAX_OUT):
            scores = self.network.decode(said, memory, hidden)[:, -1].log_softmax(-1)
            size = scores.size(-1)
            scores[:, [PAD, BOS]] = -math.inf
            scores[done] = -math.inf  # what has ended only gets longer by padding, for nothing
            scores[done, PAD] = 0.0
            totals, best = (totals.view(n * k, 1) + scores).view(n, k * size).topk(k, dim=-1)
            rows = (first_of + best // size).flatten()
            word = (best % size).flatten()
            said = torch.cat([said[rows], word.unsqueeze(1)], dim=1)
            done = done[rows] | (word == EOS)
            if done.all():
                break
        lengths = (said[:, 1:] != PAD).sum(-1).view(n, k)
        winner = (totals / lengths**self.alpha).argmax(-1, keepdim=True)
        return said[(first_of + winner).flatten(), 1:].tolist()


class Trainer:
    def __init__(self, network, rate=4e-3, warmup=40, clip=1.0, parts=4):
        self.network, self.clip, self.parts = network, clip, parts
        self.criterion = nn.CrossEntropyLoss(ignore_index=PAD, label_smoothing=0.05)
        self.optimizer = torch.optim.AdamW(network.parameters(), lr=rate, betas=(0.9, 0.98))
        self.scheduler = torch.optim.lr_scheduler.LambdaLR(
            self.optimizer, lambda n: min((n + 1) / warmup, math.sqrt(warmup / (n + 1)))
        )

    def loss(self, scores, wanted):
        return self.criterion(scores.transpose(1, 2), wanted)

    def step(self, source, target_in, wanted):
        """One update, with the batch fed in a few parts (my graphics card is small)."""
        self.network.train()
        self.optimizer.zero_grad()
        words = (wanted != PAD).sum()
        total = 0.0
        parts = zip(*(rows.chunk(self.parts) for rows in (source, target_in, wanted)))
        for part_source, part_in, part_wanted in parts:
            share = (part_wanted != PAD).sum() / words
            loss = self.loss(self.network(part_source, part_in), part_wanted) * share
            loss.backward()
            total += loss.item()
        nn.utils.clip_grad_norm_(self.network.parameters(), self.clip)
        self.optimizer.step()
        self.scheduler.step()
        return total

    @torch.no_grad()
    def evaluate(self, pairs, size=64):
        self.network.eval()
        total = words = 0
        for start in range(0, len(pairs), size):
            source, target_in, wanted = collate(pairs[start : start + size])
            count = (wanted != PAD).sum().item()
            total += self.loss(self.network(source, target_in), wanted).item() * count
            words += count
        return total / words

    def fit(self, train, test, epochs, size=48, seed=3, report=5):
        rng = random.Random(seed)
        for epoch in range(1, epochs + 1):
            losses = [self.step(*collate(batch)) for batch in buckets(train, size, rng)]
            if epoch % report == 0:
                mean = sum(losses) / len(losses)
                print(f"epoch {epoch:3d}  train {mean:.3f}  test {self.evaluate(test):.3f}", flush=True)


def exact(search, pairs):
    answers = search([source for source, _ in pairs])
    return sum(answer == list(target) for answer, (_, target) in zip(answers, pairs)) / len(pairs)


def build(seed=11, count=900, held_out=90):
    torch.manual_seed(seed)
    pairs = clean(*write_lines(count, random.Random(seed)))
    train_words, test_words = pairs[held_out:], pairs[:held_out]
    english = Vocabulary(a for a, _ in train_words)
    tovish = Vocabulary(b for _, b in train_words)
    train = [(english.encode(a), tovish.encode(b)) for a, b in train_words]
    test = [(english.encode(a), tovish.encode(b)) for a, b in test_words]
    network = Translator(len(english), len(tovish))
    return network, english, tovish, train, test


def make():
    from transformer_course.examine import Subject

    network, english, tovish, train, test = build()
    trainer, searcher = Trainer(network), Searcher(network)
    return Subject(
        network,
        source_vocab=len(english),
        target_vocab=len(tovish),
        pad=PAD,
        bos=BOS,
        eos=EOS,
        scores=lambda source, target: network(source, target),
        collate=collate,
        loss=trainer.loss,
        training_step=trainer.step,
        translate=searcher.translate,
        beam=searcher.translate_beam,
        train=train,
        test=test,
        unknown=UNK,
    )


def main(epochs=30):
    network, english, tovish, train, test = build()
    trainer, searcher = Trainer(network), Searcher(network)
    print(f"{len(train)} + {len(test)} pairs, {len(english)} and {len(tovish)} words")
    began = time.perf_counter()
    trainer.fit(train, test, epochs)
    print(f"{time.perf_counter() - began:.0f} s")
    print(f"exactly right: train {exact(searcher.translate, train[:90]):.2f}", end="  ")
    print(f"test {exact(searcher.translate, test):.2f}", end="  ")
    print(f"test with beam {exact(searcher.translate_beam, test):.2f}")
    for (source, target), said in list(zip(test, searcher.translate([s for s, _ in test])))[:5]:
        print(f"  {english.decode(source)}\n    = {tovish.decode(target)}\n    > {tovish.decode(said)}")


if __name__ == "__main__":
    main()
