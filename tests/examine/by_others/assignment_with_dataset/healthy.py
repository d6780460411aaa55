"""Homework 4: a small Transformer that translates English into Lumian, a language made up for the course.

The network is built around torch.nn.MultiheadAttention. Everything inside is time-first, as torch's
attention wants it by default: sources are (S, B), targets (T, B), vectors (length, B, width).
"""

import math
import random
import tempfile
from collections import Counter
from pathlib import Path

import torch
from torch import nn
from torch.nn import functional as F
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader, Dataset

UNK, PAD, BOS, EOS = 0, 1, 2, 3
SPECIALS = ["<unk>", "<pad>", "<bos>", "<eos>"]
MAX_LEN = 40  # longest translation
CONFIG = {"width": 32, "heads": 4, "hidden": 64, "layers": 2, "dropout": 0.1}


# ---------------------------------------------------------------- text

# noun: (Lumian, class); the article and the adjective's ending follow the class
NOUNS = {
    "dog": ("karo", 0), "cat": ("misu", 1), "bird": ("pilo", 0), "house": ("domi", 1), "river": ("savu", 1),
    "child": ("neno", 0), "king": ("rego", 0), "tree": ("silvi", 1), "stone": ("peto", 0), "boat": ("navu", 1),
}
ADJECTIVES = {"small": "tin", "red": "rub", "old": "van", "happy": "lum", "black": "nok"}
VERBS = {"sees": "vidar", "loves": "amar", "finds": "trovar", "paints": "pintar", "follows": "segar"}
ADVERBS = {"today": "hodi", "often": "semp", "never": "nul"}
NAMES = ["Otto", "Ada", "Grace", "Emil"]  # rare: too few for the vocabulary


def noun_phrase(rng):
    """A noun phrase in both languages: 'the small dog' is 'lo karo tino', the adjective behind."""
    noun = rng.choice(list(NOUNS))
    word, kind = NOUNS[noun]
    definite = rng.random() < 0.6
    english = ["the" if definite else "a"]
    lumian = [("lo", "li")[kind] if definite else ("un", "uni")[kind], word]
    for adjective in rng.sample(list(ADJECTIVES), rng.choice([0, 0, 1, 1, 2])):
        english.append(adjective)
        lumian.insert(2, ADJECTIVES[adjective] + "oi"[kind])
    return english + [noun], lumian


def sentence(rng):
    """Subject, verb, object in English; adverb, subject, object, verb in Lumian."""
    (es, ls), (eo, lo), verb = noun_phrase(rng), noun_phrase(rng), rng.choice(list(VERBS))
    english, lumian = es + [verb], list(ls)
    if rng.random() < 0.75:
        english, lumian = english + eo, lumian + lo
    lumian.append(VERBS[verb])
    if rng.random() < 0.4:
        adverb = rng.choice(list(ADVERBS))
        english, lumian = english + [adverb], [ADVERBS[adverb]] + lumian
    return " ".join(english).capitalize() + " .", " ".join(lumian).capitalize() + " ."


def make_text(size=1000, seed=4):
    """Two lists of lines, all different, and a few with a name."""
    rng = random.Random(seed)
    lines = {}
    while len(lines) < size:
        english, lumian = sentence(rng)
        lines[english] = lumian
    lines = list(lines.items())
    for name in NAMES:
        verb = rng.choice(list(VERBS))
        english, lumian = noun_phrase(rng)
        pair = (f"{name} {verb} {' '.join(english)} .", f"{name} {' '.join(lumian)} {VERBS[verb]} .")
        lines.insert(rng.randrange(size // 2), pair)
    return [english for english, _ in lines], [lumian for _, lumian in lines]


def tokenize(line):
    return line.lower().split()


class Vocabulary:
    def __init__(self, lines, min_count=2):
        counts = Counter(word for line in lines for word in tokenize(line))
        self.words = SPECIALS + [word for word, count in counts.most_common() if count >= min_count]
        self.ids = {word: i for i, word in enumerate(self.words)}

    def __len__(self):
        return len(self.words)

    def encode(self, line):
        return [self.ids.get(word, UNK) for word in tokenize(line)]

    def decode(self, ids):
        return " ".join(self.words[i] for i in ids)


class Pairs(Dataset):
    """Pairs of lists of ids, without begin and end."""

    def __init__(self, source_lines, target_lines, source_vocab, target_vocab):
        self.pairs = [
            (source_vocab.encode(source), target_vocab.encode(target))
            for source, target in zip(source_lines, target_lines, strict=True)
        ]

    def __len__(self):
        return len(self.pairs)

    def __getitem__(self, index):
        return self.pairs[index]


def collate(pairs):
    """Source (S, B), target in (T, B) and target out (T, B)."""
    sources = [torch.tensor(source + [EOS]) for source, _ in pairs]
    inputs = [torch.tensor([BOS] + target) for _, target in pairs]
    outputs = [torch.tensor(target + [EOS]) for _, target in pairs]
    return (
        pad_sequence(sources, padding_value=PAD),
        pad_sequence(inputs, padding_value=PAD),
        pad_sequence(outputs, padding_value=PAD),
    )


def load_data():
    english, lumian = make_text()
    cut, end = len(english) - 160, len(english) - 80
    source_vocab, target_vocab = Vocabulary(english[:cut]), Vocabulary(lumian[:cut])
    train, valid, test = (
        Pairs(english[part], lumian[part], source_vocab, target_vocab)
        for part in (slice(0, cut), slice(cut, end), slice(end, None))
    )
    return source_vocab, target_vocab, train, valid, test


# ---------------------------------------------------------------- network


class Positions(nn.Module):
    """Sines and cosines of Vaswani et al., added to vectors (length, B, width)."""

    def __init__(self, width, dropout, max_len=512):
        super().__init__()
        position = torch.arange(max_len).unsqueeze(1)
        rate = torch.exp(torch.arange(0, width, 2) * (-math.log(10000.0) / width))
        table = torch.zeros(max_len, width)
        table[:, 0::2] = torch.sin(position * rate)
        table[:, 1::2] = torch.cos(position * rate)
        self.register_buffer("table", table.unsqueeze(1))
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        return self.dropout(x + self.table[: x.size(0)])


class Norm(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.gain = nn.Parameter(torch.ones(width))
        self.bias = nn.Parameter(torch.zeros(width))

    def forward(self, x):
        return F.layer_norm(x, x.shape[-1:]) * self.gain + self.bias


class FeedForward(nn.Sequential):
    def __init__(self, width, hidden, dropout):
        super().__init__(nn.Linear(width, hidden), nn.ReLU(), nn.Dropout(dropout), nn.Linear(hidden, width))


class EncoderLayer(nn.Module):
    """Norm first, as in most newer models."""

    def __init__(self, width, heads, hidden, dropout):
        super().__init__()
        self.self_attention = nn.MultiheadAttention(width, heads, dropout=dropout)
        self.feed_forward = FeedForward(width, hidden, dropout)
        self.norm1, self.norm2 = Norm(width), Norm(width)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, source_pad):
        y = self.norm1(x)
        y, _ = self.self_attention(y, y, y, key_padding_mask=source_pad.t(), need_weights=False)
        x = x + self.dropout(y)
        return x + self.dropout(self.feed_forward(self.norm2(x)))


class DecoderLayer(nn.Module):
    def __init__(self, width, heads, hidden, dropout):
        super().__init__()
        self.masked_attention = nn.MultiheadAttention(width, heads, dropout=dropout)
        self.cross_attention = nn.MultiheadAttention(width, heads, dropout=dropout)
        self.feed_forward = FeedForward(width, hidden, dropout)
        self.norm1, self.norm2, self.norm3 = Norm(width), Norm(width), Norm(width)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, memory, causal, source_pad):
        y = self.norm1(x)
        y, _ = self.masked_attention(y, y, y, attn_mask=causal, need_weights=False)
        x = x + self.dropout(y)
        y = self.norm2(x)
        y, _ = self.cross_attention(y, memory, memory, key_padding_mask=source_pad.T, need_weights=False)
        x = x + self.dropout(y)
        return x + self.dropout(self.feed_forward(self.norm3(x)))


def causal_mask(length):
    """True where a position must not look: everything behind it. Padding is behind too."""
    return torch.triu(torch.ones(length, length, dtype=torch.bool), diagonal=1)


class Transformer(nn.Module):
    def __init__(self, source_size, target_size, width, heads, hidden, layers, dropout):
        super().__init__()
        self.width = width
        self.source_embedding = nn.Embedding(source_size, width, padding_idx=PAD)
        self.target_embedding = nn.Embedding(target_size, width, padding_idx=PAD)
        self.positions = Positions(width, dropout)
        self.encoder = nn.ModuleList(EncoderLayer(width, heads, hidden, dropout) for _ in range(layers))
        self.decoder = nn.ModuleList(DecoderLayer(width, heads, hidden, dropout) for _ in range(layers))
        self.encoder_norm, self.decoder_norm = Norm(width), Norm(width)
        self.output = nn.Linear(width, target_size)
        for parameter in self.parameters():
            if parameter.dim() > 1:
                nn.init.xavier_uniform_(parameter)

    def encode(self, source):
        """Source (S, B) to memory (S, B, width), and where the source is padding, (S, B)."""
        source_pad = source == PAD
        x = self.positions(self.source_embedding(source) * math.sqrt(self.width))
        for layer in self.encoder:
            x = layer(x, source_pad)
        return self.encoder_norm(x), source_pad

    def decode(self, target, memory, source_pad):
        """Target (T, B) to the scores of the next word (T, B, vocabulary)."""
        causal = causal_mask(target.size(0))
        x = self.positions(self.target_embedding(target) * math.sqrt(self.width))
        for layer in self.decoder:
            x = layer(x, memory, causal, source_pad)
        return self.output(self.decoder_norm(x))

    def forward(self, source, target):
        memory, source_pad = self.encode(source)
        return self.decode(target, memory, source_pad)


# ---------------------------------------------------------------- training


def sequence_loss(scores, target_out):
    """Scores (T, B, vocabulary) and target out (T, B) to the mean over all words that are not padding."""
    criterion = nn.CrossEntropyLoss(ignore_index=PAD)
    return criterion(scores.reshape(-1, scores.size(-1)), target_out.reshape(-1))


class Trainer:
    def __init__(self, network, rate=0.005):
        self.network = network
        self.optimizer = torch.optim.Adam(network.parameters(), lr=rate, betas=(0.9, 0.98), eps=1e-9)
        self.scheduler = torch.optim.lr_scheduler.ExponentialLR(self.optimizer, gamma=0.9)

    def step(self, source, target_in, target_out):
        self.network.train()
        self.optimizer.zero_grad()
        loss = sequence_loss(self.network(source, target_in), target_out)
        loss.backward()
        nn.utils.clip_grad_norm_(self.network.parameters(), 1.0)
        self.optimizer.step()
        return loss.item()

    @torch.no_grad()
    def validate(self, loader):
        self.network.eval()
        total = words = 0
        for source, target_in, target_out in loader:
            count = (target_out != PAD).sum().item()
            total += sequence_loss(self.network(source, target_in), target_out).item() * count
            words += count
        return total / words

    def fit(self, train_loader, valid_loader, epochs, path):
        """Train, and keep the weights with the lowest validation loss."""
        best = math.inf
        for epoch in range(epochs):
            losses = [self.step(*batch) for batch in train_loader]
            self.scheduler.step()
            valid = self.validate(valid_loader)
            print(f"epoch {epoch + 1:2}  train {sum(losses) / len(losses):.3f}  valid {valid:.3f}")
            if valid < best:
                best = valid
                save_checkpoint(self.network, path)


def save_checkpoint(network, path):
    sizes = (network.source_embedding.num_embeddings, network.target_embedding.num_embeddings)
    torch.save({"sizes": sizes, "config": CONFIG, "weights": network.state_dict()}, path)


def load_checkpoint(path):
    """A new network, ready to translate."""
    checkpoint = torch.load(path)
    network = Transformer(*checkpoint["sizes"], **checkpoint["config"])
    network.load_state_dict(checkpoint["weights"])
    network.eval()
    return network


# ---------------------------------------------------------------- translating


@torch.no_grad()
def greedy(network, sources):
    """Translate a batch of lists of ids; lists of ids come back, without begin and end."""
    source = pad_sequence([torch.tensor(ids + [EOS]) for ids in sources], padding_value=PAD)
    memory, source_pad = network.encode(source)
    target = torch.full((1, len(sources)), BOS)
    finished = torch.zeros(len(sources), dtype=torch.bool)
    for _ in range(MAX_LEN):
        best = network.decode(target, memory, source_pad)[-1].argmax(-1)
        best = best.masked_fill(finished, PAD)
        target = torch.cat([target, best.unsqueeze(0)])
        finished = finished | (best == EOS)
        if finished.all():
            break
    translations = []
    for ids in target[1:].t().tolist():
        translations.append(ids[: ids.index(EOS)] if EOS in ids else [i for i in ids if i != PAD])
    return translations


@torch.no_grad()
def beam_one(network, ids, size=4, alpha=0.6):
    """Translate one sentence by beam search; scores of finished ones are divided by length ** alpha."""
    memory, source_pad = network.encode(torch.tensor(ids + [EOS]).unsqueeze(1))
    beam, finished = [([BOS], 0.0)], []
    while beam and len(finished) < size and len(beam[0][0]) <= MAX_LEN:
        candidates = []
        for words, score in beam:
            scores = network.decode(torch.tensor(words).unsqueeze(1), memory, source_pad)[-1, 0]
            values, indices = scores.log_softmax(-1).topk(size)
            for value, word in zip(values.tolist(), indices.tolist()):
                extended = words + [word]
                candidates.append((extended, score + value))
        candidates.sort(key=lambda candidate: candidate[1], reverse=True)
        beam = []
        for words, score in candidates[:size]:
            if words[-1] == EOS:
                finished.append((words[1:-1], score / len(words) ** alpha))
            else:
                beam.append((words, score))
    finished = finished or [(words[1:], score / len(words) ** alpha) for words, score in beam]
    return max(finished, key=lambda candidate: candidate[1])[0]


def beam_search(network, sources):
    return [beam_one(network, ids) for ids in sources]


# ---------------------------------------------------------------- all together


def main(epochs=12):
    torch.manual_seed(0)
    path = Path(tempfile.mkdtemp()) / "best.pt"
    source_vocab, target_vocab, train, valid, test = load_data()
    print(f"{len(train)} pairs, vocabularies of {len(source_vocab)} and {len(target_vocab)}")
    train_loader = DataLoader(train, batch_size=32, shuffle=True, collate_fn=collate)
    valid_loader = DataLoader(valid, batch_size=32, collate_fn=collate)
    network = Transformer(len(source_vocab), len(target_vocab), **CONFIG)
    Trainer(network).fit(train_loader, valid_loader, epochs, path)

    network = load_checkpoint(path)
    sources, targets = [source for source, _ in test], [target for _, target in test]
    results = {"greedy": greedy(network, sources), "beam": beam_search(network, sources)}
    for name, translations in results.items():
        right = sum(translation == target for translation, target in zip(translations, targets))
        print(f"{name}: {right} of {len(targets)} right")
    for source, target, translation in list(zip(sources, targets, results["greedy"]))[:4]:
        print(f"  {source_vocab.decode(source)}\n    = {target_vocab.decode(target)}\n    > {target_vocab.decode(translation)}")
    return {name: [t == u for t, u in zip(targets, found)] for name, found in results.items()}


def make():
    """The subject of an examination: batch-first outside, time-first inside."""
    from transformer_course.examine import Subject

    torch.manual_seed(0)
    path = Path(tempfile.mkdtemp()) / "examined.pt"
    source_vocab, target_vocab, train, _, test = load_data()
    network = Transformer(len(source_vocab), len(target_vocab), **CONFIG)
    trainer = Trainer(network)

    def saved_and_loaded():
        """As translations are always made: by the network that is in the checkpoint."""
        save_checkpoint(network, path)
        return load_checkpoint(path)

    return Subject(
        network,
        source_vocab=len(source_vocab),
        target_vocab=len(target_vocab),
        pad=PAD,
        bos=BOS,
        eos=EOS,
        scores=lambda source, target: network(source.t(), target.t()).transpose(0, 1),
        collate=lambda pairs: tuple(tensor.t() for tensor in collate(pairs)),
        loss=lambda scores, target_out: sequence_loss(scores.transpose(0, 1), target_out.t()),
        training_step=lambda source, target_in, target_out: trainer.step(source.t(), target_in.t(), target_out.t()),
        translate=lambda sources: greedy(saved_and_loaded(), sources),
        beam=lambda sources: beam_search(saved_and_loaded(), sources),
        train=train.pairs,
        test=test.pairs,
        unknown=UNK,
    )


if __name__ == "__main__":
    main()
