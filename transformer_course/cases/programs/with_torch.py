"""Numbers in words, from English to French, with torch.nn.Transformer.

python translator.py FOLDER     trains on train.en and train.fr, then translates test.en
"""

import math
import random
import sys
from pathlib import Path

import torch
from torch import nn

PAD, BOS, EOS, UNKNOWN = 0, 1, 2, 3
SPECIAL = ["<pad>", "<bos>", "<eos>", "<unk>"]
WIDTH, HEADS, LAYERS, HIDDEN, DROPOUT = 48, 4, 2, 96, 0.1
STEPS, BATCH, RATE, WARMUP, LOOK_EVERY = 600, 32, 5e-3, 60, 25


# --- text ---


def read(file):
    return file.read_text(encoding="utf-8").split("\n")


def pairs_of(folder, split):
    lines = zip(read(folder / f"{split}.en"), read(folder / f"{split}.fr"))
    return [(source, target) for source, target in lines if source and target]


def vocabulary(sentences):
    words = sorted({word for sentence in sentences for word in sentence.split()})
    return {word: number for number, word in enumerate(SPECIAL + words)}


def ids(sentence, words):
    return [words.get(word, UNKNOWN) for word in sentence.split()]


def padded(rows):
    longest = max(len(row) for row in rows)
    return torch.tensor([row + [PAD] * (longest - len(row)) for row in rows])


def collate(pairs):
    source = padded([source + [EOS] for source, target in pairs])
    target_in = padded([[BOS] + target for source, target in pairs])
    target_out = padded([target + [EOS] for source, target in pairs])
    return source, target_in, target_out


# --- model ---


class Positions(nn.Module):
    def __init__(self, longest=64):
        super().__init__()
        position = torch.arange(longest)[:, None]
        rate = torch.exp(torch.arange(0, WIDTH, 2) * -math.log(10000) / WIDTH)
        table = torch.stack([torch.sin(position * rate), torch.cos(position * rate)], dim=2)
        self.register_buffer("table", table.flatten(1))

    def forward(self, x):
        return x + self.table[: x.shape[1]]


class Translator(nn.Module):
    def __init__(self, source_words, target_words):
        super().__init__()
        self.source_table = nn.Embedding(source_words, WIDTH)
        self.target_table = nn.Embedding(target_words, WIDTH)
        self.positions = Positions()
        self.dropout = nn.Dropout(DROPOUT)
        self.transformer = nn.Transformer(
            WIDTH, HEADS, LAYERS, LAYERS, HIDDEN, DROPOUT, batch_first=True
        )
        self.transformer.encoder.use_nested_tensor = False  # a prototype, which warns
        self.output = nn.Linear(WIDTH, target_words)

    def embed(self, table, numbers):
        return self.dropout(self.positions(table(numbers)))

    def forward(self, source, target):
        length = target.shape[1]
        future = torch.ones(length, length, dtype=torch.bool).triu(1)  # True hides
        padding = source == PAD
        x = self.transformer(
            self.embed(self.source_table, source),
            self.embed(self.target_table, target),
            tgt_mask=future,
            src_key_padding_mask=padding,
            memory_key_padding_mask=padding,
        )
        return self.output(x)


# --- training ---


def loss_of(scores, target_out):
    return nn.functional.cross_entropy(scores.flatten(0, 1), target_out.flatten(), ignore_index=PAD)


def make_step(network):
    optimizer = torch.optim.Adam(network.parameters(), lr=RATE, betas=(0.9, 0.98))
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min((step + 1) / WARMUP, math.sqrt(WARMUP / (step + 1)))
    )

    def step(source, target_in, target_out):
        network.train()
        optimizer.zero_grad()
        loss = loss_of(network(source, target_in), target_out)
        loss.backward()
        nn.utils.clip_grad_norm_(network.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        return loss.item()

    return step


def batches(pairs, seed):
    chance = random.Random(seed)
    while True:
        yield collate(chance.sample(pairs, min(BATCH, len(pairs))))


def prepare(folder):
    texts = pairs_of(folder, "train")
    source_words = vocabulary(source for source, target in texts)
    target_words = vocabulary(target for source, target in texts)
    pairs = [(ids(source, source_words), ids(target, target_words)) for source, target in texts]
    return pairs, source_words, target_words


def train(folder, watch=print, seed=0):
    torch.manual_seed(seed)
    pairs, source_words, target_words = prepare(folder)
    network = Translator(len(source_words), len(target_words))
    step = make_step(network)
    stream = batches(pairs, seed)
    for number in range(1, STEPS + 1):
        loss = step(*next(stream))
        if number == 1 or number % LOOK_EVERY == 0:
            watch(number, loss)
    torch.save(network.state_dict(), folder / "weights.pt")


# --- translating ---


def load(folder):
    pairs, source_words, target_words = prepare(folder)
    network = Translator(len(source_words), len(target_words))
    network.load_state_dict(torch.load(folder / "weights.pt", weights_only=True))
    return network, source_words, target_words


@torch.no_grad()
def translate_ids(network, sources, longest=30):
    network.eval()
    source = padded([sentence + [EOS] for sentence in sources])
    target = torch.full((len(sources), 1), BOS)
    for _ in range(longest):
        scores = network(source, target)[:, -1]
        target = torch.cat([target, scores.argmax(dim=1, keepdim=True)], dim=1)
        if (target == EOS).any(dim=1).all():
            break
    rows = target[:, 1:].tolist()
    return [row[: row.index(EOS)] if EOS in row else row for row in rows]


def translate(loaded, sentences):
    network, source_words, target_words = loaded
    words = list(target_words)
    said = translate_ids(network, [ids(sentence, source_words) for sentence in sentences])
    return [" ".join(words[number] for number in row) for row in said]


if __name__ == "__main__":
    place = Path(sys.argv[1])
    train(place)
    tests = pairs_of(place, "test")
    for (source, target), said in zip(tests, translate(load(place), [s for s, t in tests])):
        print(f"{source} -> {said} ({'right' if said == target else target})")
