from transformer_course.examine import Subject

import torch
from torch import nn
from torch.nn import functional as F
from torch.nn.utils.rnn import pad_sequence

PAD, BOS, EOS, UNK = 0, 1, 2, 3
VOCAB = 40
WIDTH, HEADS, INNER, LAYERS = 32, 4, 64, 2
LONGEST = 128
DROP = 0.1


# ------------------------------------------------------------------ network
# Everything in here is length first: ids (length, batch), vectors (length, batch, width).

class Embedder(nn.Module):
    """Words plus learned positions."""

    def __init__(self, vocab):
        super().__init__()
        self.words = nn.Embedding(vocab, WIDTH, padding_idx=PAD)
        self.places = nn.Embedding(LONGEST, WIDTH)
        self.norm = nn.LayerNorm(WIDTH)
        self.p = DROP

    def forward(self, ids, start=0):
        place = torch.arange(start, start + ids.size(0), device=ids.device)
        x = self.words(ids) + self.places(place).unsqueeze(1)
        return F.dropout(self.norm(x), self.p, self.training)


class FeedForward(nn.Module):
    def __init__(self):
        super().__init__()
        self.up = nn.Linear(WIDTH, INNER)
        self.down = nn.Linear(INNER, WIDTH)
        self.p = DROP

    def forward(self, x):
        return self.down(F.dropout(F.gelu(self.up(x)), self.p, self.training))


class EncoderLayer(nn.Module):
    def __init__(self):
        super().__init__()
        self.attend = nn.MultiheadAttention(WIDTH, HEADS, dropout=DROP)
        self.feed = FeedForward()
        self.norm1 = nn.LayerNorm(WIDTH)
        self.norm2 = nn.LayerNorm(WIDTH)
        self.drop = nn.Dropout(DROP)

    def forward(self, x, padding):
        a, _ = self.attend(x, x, x, key_padding_mask=padding, need_weights=False)
        x = self.norm1(x + self.drop(a))
        return self.norm2(x + self.drop(self.feed(x)))


class DecoderLayer(nn.Module):
    def __init__(self):
        super().__init__()
        self.attend = nn.MultiheadAttention(WIDTH, HEADS, dropout=DROP)
        self.cross = nn.MultiheadAttention(WIDTH, HEADS, dropout=DROP)
        self.feed = FeedForward()
        self.norm1 = nn.LayerNorm(WIDTH)
        self.norm2 = nn.LayerNorm(WIDTH)
        self.norm3 = nn.LayerNorm(WIDTH)
        self.drop = nn.Dropout(DROP)

    def forward(self, x, past, causal, memory, padding):
        """past: what keys and values are made of, x itself in training, the cache in the search."""
        a, _ = self.attend(x, past, past, attn_mask=causal, need_weights=False)
        x = self.norm1(x + self.drop(a))
        c, _ = self.cross(x, memory, memory, key_padding_mask=padding, need_weights=False)
        x = self.norm2(x + self.drop(c))
        return self.norm3(x + self.drop(self.feed(x)))


class Translator(nn.Module):
    def __init__(self):
        super().__init__()
        self.source = Embedder(VOCAB)
        self.target = Embedder(VOCAB)
        self.encoder = nn.ModuleList(EncoderLayer() for _ in range(LAYERS))
        self.decoder = nn.ModuleList(DecoderLayer() for _ in range(LAYERS))
        self.output = nn.Linear(WIDTH, VOCAB)

    def encode(self, source):
        padding = (source == PAD).t()          # (batch, source), as MultiheadAttention wants it
        x = self.source(source)
        for layer in self.encoder:
            x = layer(x, padding)
        return x, padding

    def decode(self, target, memory, padding):
        n = target.size(0)
        causal = torch.triu(torch.ones(n, n, dtype=torch.bool, device=target.device), diagonal=1)
        x = self.target(target)
        for layer in self.decoder:
            x = layer(x, x, causal, memory, padding)
        return self.output(x)

    def step(self, last, cache, memory, padding):
        """One token for each sentence: last (batch,), cache one (so far, batch, width) per layer or None."""
        at = 0 if cache[0] is None else cache[0].size(0)
        x = self.target(last.unsqueeze(0), start=at)
        new = []
        for layer, old in zip(self.decoder, cache):
            past = x if old is None else torch.cat([old, x])
            new.append(past)
            x = layer(x, past, None, memory, padding)
        return self.output(x[0]), new

    def forward(self, source, target):
        memory, padding = self.encode(source)
        return self.decode(target, memory, padding)


# ------------------------------------------------------------------ batches and loss

def collate(pairs):
    source = [torch.tensor(list(s) + [EOS]) for s, _ in pairs]
    fed = [torch.tensor([BOS] + list(t)) for _, t in pairs]
    said = [torch.tensor(list(t) + [EOS]) for _, t in pairs]
    return tuple(pad_sequence(rows, batch_first=True, padding_value=PAD) for rows in (source, fed, said))


def loss(scores, target_out):
    return F.cross_entropy(scores.reshape(-1, scores.size(-1)), target_out.reshape(-1), ignore_index=PAD)


# ------------------------------------------------------------------ subject

def make():
    torch.manual_seed(20)
    net = Translator()
    optimizer = torch.optim.AdamW(net.parameters(), lr=3e-3, weight_decay=0.01)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda n: min(1.0, (n + 1) / 20))

    def scores(source, target):
        return net(source.t(), target.t()).transpose(0, 1)

    def training_step(source, target_in, target_out):
        net.train()
        optimizer.zero_grad()
        value = loss(scores(source, target_in), target_out)
        value.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        return value.item()

    def prepare(sources):
        rows = [torch.tensor(list(s) + [EOS]) for s in sources]
        return pad_sequence(rows, padding_value=PAD)          # (length, batch)

    @torch.no_grad()
    def translate(sources):
        net.eval()
        memory, padding = net.encode(prepare(sources))
        cache = [None] * LAYERS
        last = torch.full((len(sources),), BOS)
        done = torch.zeros(len(sources), dtype=torch.bool)
        words = []
        limit = min(LONGEST, 2 * memory.size(0) + 10)
        for _ in range(limit):
            logits, cache = net.step(last, cache, memory, padding)
            last = logits.argmax(-1).masked_fill(done, PAD)
            done = done | (last == EOS)
            words.append(last)
            if done.all():
                break
        out = []
        for row in torch.stack(words, 1).tolist():
            out.append(row[:row.index(EOS)] if EOS in row else row)
        return out

    @torch.no_grad()
    def beam_one(source, width=4):
        memory, padding = net.encode(prepare([source]))
        limit = min(LONGEST, 2 * memory.size(0) + 10)
        cache = [None] * LAYERS
        beams, totals, finished = [[]], torch.zeros(1), []
        last = torch.tensor([BOS])
        for _ in range(limit):
            k = len(beams)
            logits, cache = net.step(last, cache, memory.expand(-1, k, -1), padding.expand(k, -1))
            sums = totals.unsqueeze(1) + logits.log_softmax(-1)
            best, where = sums.flatten().topk(2 * width)
            kept = []
            for value, index in zip(best.tolist(), where.tolist()):
                parent, word = divmod(index, VOCAB)
                if word == EOS:
                    finished.append((value / (len(beams[parent]) + 1), beams[parent]))
                elif len(kept) < width:
                    kept.append((value, parent, word))
            if len(finished) >= width:
                break
            beams = [beams[parent] + [word] for _, parent, word in kept]
            totals = torch.tensor([value for value, _, _ in kept])
            last = torch.tensor([word for _, _, word in kept])
            cache = [c[:, [parent for _, parent, _ in kept]] for c in cache]
        if not finished:
            finished = [(value / len(words), words) for value, words in zip(totals.tolist(), beams)]
        return max(finished, key=lambda f: f[0])[1]

    def beam(sources):
        net.eval()
        return [beam_one(s) for s in sources]

    return Subject(
        net,
        source_vocab=VOCAB, target_vocab=VOCAB, pad=PAD, bos=BOS, eos=EOS, unknown=UNK,
        scores=scores, collate=collate, loss=loss, training_step=training_step,
        translate=translate, beam=beam,
    )
