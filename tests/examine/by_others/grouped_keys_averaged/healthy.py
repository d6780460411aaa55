"""English to Spanish in miniature: an encoder-decoder in today's parts, on one CPU core.

RMSNorm before each part, SwiGLU, grouped queries, T5's learned relative bias, tied output.
"""

import random
from contextlib import contextmanager

import torch
import torch.nn.functional as F
from torch import nn

PAD, BOS, EOS, UNK = 0, 1, 2, 3
D, HEADS, KV_HEADS, LAYERS, DROPOUT = 32, 4, 2, 2, 0.1
REACH = 8  # relative distances beyond this share one bias
EPOCHS, BATCH, PEAK, WARMUP = 12, 32, 4e-3, 20
DECAY = 0.98
BEAM, ALPHA = 4, 0.8


# ---------------------------------------------------------------- text

NOUNS = [("cat", "gato", "o"), ("dog", "perro", "o"), ("house", "casa", "a"), ("book", "libro", "o"),
         ("table", "mesa", "a"), ("boy", "niño", "o"), ("girl", "niña", "a"), ("cow", "vaca", "a")]
ADJECTIVES = [("red", "roj"), ("small", "pequeñ"), ("white", "blanc"), ("old", "viej"), ("new", "nuev")]
VERBS = [("sees", "ve"), ("finds", "encuentra"), ("wants", "quiere"), ("has", "tiene")]


def noun_phrase(rng):
    (en, es, gender), definite = rng.choice(NOUNS), rng.random() < 0.5
    english = ["the" if definite else "a"]
    article = {"o": ("el", "un"), "a": ("la", "una")}[gender][0 if definite else 1]
    spanish = [article, es]
    if rng.random() < 0.6:
        adjective = rng.choice(ADJECTIVES)
        english.append(adjective[0])
        spanish.append(adjective[1] + gender)
    return english + [en], spanish


def sentence_pair(rng):
    (en1, es1), (en2, es2), verb = noun_phrase(rng), noun_phrase(rng), rng.choice(VERBS)
    english, spanish = en1 + [verb[0]] + en2, es1 + [verb[1]] + es2
    if rng.random() < 0.3:
        en3, es3 = noun_phrase(rng)
        english, spanish = english + ["near"] + en3, spanish + ["cerca", "de"] + es3
    return " ".join(english).capitalize() + " .", " ".join(spanish).capitalize() + " ."


class Vocab:
    def __init__(self, lines):
        words = sorted({word for line in lines for word in line.lower().split()})
        self.words = ["<pad>", "<s>", "</s>", "<unk>"] + words
        self.ids = {word: i for i, word in enumerate(self.words)}

    def encode(self, line):
        return [self.ids.get(word, UNK) for word in line.lower().split()]

    def decode(self, ids):
        return " ".join(self.words[i] for i in ids)

    def __len__(self):
        return len(self.words)


def corpus():
    rng = random.Random(7)
    lines = sorted({sentence_pair(rng) for _ in range(1400)})
    rng.shuffle(lines)
    src, tgt = Vocab(en for en, _ in lines), Vocab(es for _, es in lines)
    pairs = [(src.encode(en), tgt.encode(es)) for en, es in lines]
    return src, tgt, pairs[:-100], pairs[-100:]


def pad(rows):
    return nn.utils.rnn.pad_sequence([torch.tensor(row) for row in rows], batch_first=True, padding_value=PAD)


def collate(pairs):
    pairs = sorted(pairs, key=lambda pair: len(pair[0]), reverse=True)
    source = pad([s + [EOS] for s, _ in pairs])
    target = pad([[BOS] + t + [EOS] for _, t in pairs])
    target_in, target_out = target[:, :-1].clone(), target[:, 1:]
    target_in[target_in == EOS] = PAD
    return source, target_in, target_out


# ---------------------------------------------------------------- network


class RelativeBias(nn.Module):
    """One number per head and distance, shared by the layers of a stack."""

    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(2 * REACH + 1, HEADS)

    def forward(self, length):
        at = torch.arange(length)
        distance = (at[None, :] - at[:, None]).clamp(-REACH, REACH) + REACH
        return self.table(distance).permute(2, 0, 1)[None]  # (1, heads, query, key)


class Attention(nn.Module):
    def __init__(self, causal):
        super().__init__()
        self.causal, self.size = causal, D // HEADS
        self.q = nn.Linear(D, D, bias=False)
        self.kv = nn.Linear(D, 2 * KV_HEADS * self.size, bias=False)
        self.out = nn.Linear(D, D, bias=False)

    def forward(self, x, memory, key_is_word, bias=None):
        b, n, m = x.size(0), x.size(1), memory.size(1)
        q = self.q(x).view(b, n, HEADS, self.size).transpose(1, 2)
        k, v = self.kv(memory).view(b, m, 2, KV_HEADS, self.size).permute(2, 0, 3, 1, 4)
        allowed = key_is_word[:, None, None, :].expand(b, 1, n, m)
        if self.causal:
            allowed = allowed & torch.ones(n, m, dtype=torch.bool).tril()
        mask = torch.zeros(b, HEADS, n, m) if bias is None else bias.expand(b, HEADS, n, m)
        mask = mask.masked_fill(~allowed, torch.finfo(x.dtype).min)
        y = F.scaled_dot_product_attention(
            q, k, v, attn_mask=mask, dropout_p=DROPOUT if self.training else 0.0, enable_gqa=True
        )
        return self.out(y.transpose(1, 2).reshape(b, n, D))


class SwiGLU(nn.Module):
    def __init__(self, hidden=88):
        super().__init__()
        self.up, self.down = nn.Linear(D, 2 * hidden, bias=False), nn.Linear(hidden, D, bias=False)

    def forward(self, x):
        gate, value = self.up(x).chunk(2, dim=-1)
        return self.down(F.silu(gate) * value)


class Layer(nn.Module):
    def __init__(self, decoder):
        super().__init__()
        self.attention, self.attention_norm = Attention(causal=decoder), nn.RMSNorm(D)
        if decoder:
            self.cross, self.cross_norm = Attention(causal=False), nn.RMSNorm(D)
        self.feed, self.feed_norm = SwiGLU(), nn.RMSNorm(D)
        self.drop = nn.Dropout(DROPOUT)

    def forward(self, x, is_word, bias, memory=None, memory_is_word=None):
        y = self.attention_norm(x)
        x = x + self.drop(self.attention(y, y, is_word, bias))
        if memory is not None:
            x = x + self.drop(self.cross(self.cross_norm(x), memory, memory_is_word))
        return x + self.drop(self.feed(self.feed_norm(x)))


class Translator(nn.Module):
    def __init__(self, source_words, target_words):
        super().__init__()
        self.source, self.target = nn.Embedding(source_words, D), nn.Embedding(target_words, D)
        self.encoder = nn.ModuleList(Layer(decoder=False) for _ in range(LAYERS))
        self.decoder = nn.ModuleList(Layer(decoder=True) for _ in range(LAYERS))
        self.encoder_bias, self.decoder_bias = RelativeBias(), RelativeBias()
        self.encoder_norm, self.decoder_norm = nn.RMSNorm(D), nn.RMSNorm(D)
        self.head = nn.Linear(D, target_words, bias=False)
        for table in (self.source, self.target):
            nn.init.normal_(table.weight, std=D**-0.5)
        self.head.weight = self.target.weight

    def encode(self, source):
        x, bias = self.source(source) * D**0.5, self.encoder_bias(source.size(1))
        h = x
        for layer in self.encoder:
            h = layer(h, source != PAD, bias)
        return self.encoder_norm(h)

    def decode(self, target, memory, source):
        h, bias = self.target(target) * D**0.5, self.decoder_bias(target.size(1))
        for layer in self.decoder:
            h = layer(h, target != PAD, bias, memory, source != PAD)
        return F.log_softmax(self.head(self.decoder_norm(h)), dim=-1)

    def forward(self, source, target):
        return self.decode(target, self.encode(source), source)


def nll(log_probs, target_out):
    keep = target_out != PAD
    picked = log_probs.gather(-1, target_out[..., None])[..., 0]
    return -(picked * keep).sum() / keep.sum()


# ---------------------------------------------------------------- training


class Trainer:
    def __init__(self, network, total_steps):
        self.network, self.steps = network, 0
        weights = list(network.parameters())
        groups = [
            {"params": [w for w in weights if w.ndim > 1], "weight_decay": 0.01},
            {"params": [w for w in weights if w.ndim <= 1], "weight_decay": 0.0},
        ]
        self.optimizer = torch.optim.AdamW(groups, lr=PEAK, betas=(0.9, 0.98))
        self.schedule = torch.optim.lr_scheduler.LambdaLR(
            self.optimizer, lambda n: min((n + 1) / WARMUP, max(0.0, 1 - n / total_steps))
        )
        self.average = {name: weight.detach().clone() for name, weight in network.named_parameters()}

    def step(self, source, target_in, target_out):
        self.network.train()
        self.optimizer.zero_grad()
        loss = nll(self.network(source, target_in), target_out)
        loss.backward()
        nn.utils.clip_grad_norm_(self.network.parameters(), 1.0)
        self.optimizer.step()
        self.schedule.step()
        self.steps += 1
        decay = min(DECAY, (1 + self.steps) / (10 + self.steps))  # short memory at first
        for name, weight in self.network.named_parameters():
            self.average[name].lerp_(weight.detach(), 1 - decay)
        return loss.item()

    def put(self, weights):
        with torch.no_grad():
            for name, weight in self.network.named_parameters():
                weight.copy_(weights[name])

    @contextmanager
    def averaged(self):
        """The averaged weights, for a while; then those in training come back."""
        live = {name: weight.detach().clone() for name, weight in self.network.named_parameters()}
        self.put(self.average)
        self.network.eval()
        try:
            with torch.no_grad():
                yield self.network
        finally:
            self.put(live)
            self.network.train()

    # ------------------------------------------------------------ translating

    def translate(self, sources, batch=BATCH):
        order = sorted(range(len(sources)), key=lambda i: len(sources[i]), reverse=True)
        found = []
        with self.averaged() as network:
            for start in range(0, len(order), batch):
                chunk = [sources[i] for i in order[start : start + batch]]
                found += greedy(network, pad([s + [EOS] for s in chunk]))
        result = [None] * len(sources)
        for place, words in zip(order, found):
            result[place] = words
        return result

    def beam(self, sources):
        with self.averaged() as network:
            return [beam_search(network, torch.tensor([s + [EOS]])) for s in sources]


def greedy(network, source):
    memory = network.encode(source)
    words = torch.full((source.size(0), 1), BOS)
    done = torch.zeros(source.size(0), dtype=torch.bool)
    for _ in range(2 * source.size(1) + 5):
        best = network.decode(words, memory, source)[:, -1].argmax(-1).masked_fill(done, PAD)
        words = torch.cat([words, best[:, None]], dim=1)
        done |= best == EOS
        if done.all():
            break
    return [row[: row.index(EOS)] if EOS in row else row for row in words[:, 1:].tolist()]


def beam_search(network, source):
    memory = network.encode(source)
    words, score, finished = torch.tensor([[BOS]]), torch.zeros(1), []
    for length in range(1, 2 * source.size(1) + 6):
        k = len(words)
        log_probs = network.decode(words, memory.expand(k, -1, -1), source.expand(k, -1))[:, -1]
        total = score[:, None] + log_probs
        best, flat = total.flatten().topk(2 * BEAM)
        parent, word = flat // total.size(1), flat % total.size(1)
        words = torch.cat([words[parent], word[:, None]], dim=1)
        for j in range(BEAM):
            if word[j] == EOS:
                finished.append((best[j].item() / length**ALPHA, words[j, 1:-1].tolist()))
        alive = (word != EOS).nonzero()[:BEAM, 0]
        words, score = words[alive], best[alive]
        if len(finished) >= BEAM:
            break
    finished = finished or [(0.0, words[0, 1:].tolist())]
    return max(finished)[1]


def make():
    from transformer_course.examine import Subject

    torch.manual_seed(1)
    src, tgt, train, test = corpus()
    network = Translator(len(src), len(tgt))
    trainer = Trainer(network, total_steps=EPOCHS * (len(train) // BATCH))
    return Subject(
        network,
        source_vocab=len(src),
        target_vocab=len(tgt),
        pad=PAD,
        bos=BOS,
        eos=EOS,
        scores=lambda source, target: network(source, target),
        collate=collate,
        loss=nll,
        training_step=trainer.step,
        translate=trainer.translate,
        beam=trainer.beam,
        train=train,
        test=test,
        unknown=UNK,
    )


def main():
    torch.manual_seed(1)
    src, tgt, train, test = corpus()
    trainer = Trainer(Translator(len(src), len(tgt)), total_steps=EPOCHS * (len(train) // BATCH))
    for epoch in range(EPOCHS):
        random.shuffle(train)
        batches = [train[i : i + BATCH] for i in range(0, len(train) - BATCH + 1, BATCH)]
        loss = sum(trainer.step(*collate(batch)) for batch in batches) / len(batches)
        if epoch % 3 == 2:
            found = trainer.translate([s for s, _ in test])
            right = sum(words == t for words, (_, t) in zip(found, test))
            print(f"epoch {epoch + 1:2}  loss {loss:.3f}  exactly right {right} of {len(test)}")
    found = trainer.beam([s for s, _ in test[:30]])
    print("beam:", sum(words == t for words, (_, t) in zip(found, test)), "of 30 |", tgt.decode(found[0]))


if __name__ == "__main__":
    main()
