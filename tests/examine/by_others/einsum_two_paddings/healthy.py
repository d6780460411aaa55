from transformer_course.examine import Subject

import math

import torch
import torch.nn.functional as F
from torch import einsum, nn

# English side has 43 entries, German side 38; the two files of words were made separately,
# so their padding ids differ.
SRC_WORDS, TGT_WORDS = 43, 38
SRC_PAD, TGT_PAD = 3, 0
BOS, EOS = 1, 2
WIDTH, HEADS, HIDDEN, DEPTH, DROP = 32, 4, 64, 2, 0.05
LONGEST = 512


class Norm(nn.Module):
    def __init__(self, width, eps=1e-5):
        super().__init__()
        self.gain = nn.Parameter(torch.ones(width))
        self.shift = nn.Parameter(torch.zeros(width))
        self.eps = eps

    def forward(self, x):
        mean = x.mean(dim=-1, keepdim=True)
        var = (x - mean).pow(2).mean(dim=-1, keepdim=True)
        return (x - mean) * torch.rsqrt(var + self.eps) * self.gain + self.shift


class Attention(nn.Module):
    """Weights kept as (width, heads, per head), everything is an einsum."""

    def __init__(self, width, heads, drop):
        super().__init__()
        assert width % heads == 0
        self.per_head = width // heads
        self.wq = nn.Parameter(torch.empty(width, heads, self.per_head))
        self.wk = nn.Parameter(torch.empty(width, heads, self.per_head))
        self.wv = nn.Parameter(torch.empty(width, heads, self.per_head))
        self.wo = nn.Parameter(torch.empty(heads, self.per_head, width))
        for w in (self.wq, self.wk, self.wv, self.wo):
            nn.init.normal_(w, std=width ** -0.5)
        self.drop = nn.Dropout(drop)

    def forward(self, x, context, keep):
        # keep: True where a key may be looked at, (batch, 1, queries or 1, keys)
        q = einsum("bqw,whd->bhqd", x, self.wq)
        k = einsum("bkw,whd->bhkd", context, self.wk)
        v = einsum("bkw,whd->bhkd", context, self.wv)
        energy = einsum("bhqd,bhkd->bhqk", q, k) / math.sqrt(self.per_head)
        energy = energy.masked_fill(~keep, torch.finfo(energy.dtype).min)
        weights = self.drop(energy.softmax(dim=-1))
        mixed = einsum("bhqk,bhkd->bhqd", weights, v)
        return einsum("bhqd,hdw->bqw", mixed, self.wo)


class FeedForward(nn.Module):
    def __init__(self, width, hidden, drop):
        super().__init__()
        self.up = nn.Linear(width, hidden)
        self.down = nn.Linear(hidden, width)
        self.drop = nn.Dropout(drop)

    def forward(self, x):
        return self.down(self.drop(F.relu(self.up(x))))


class Embedding(nn.Module):
    def __init__(self, words, width, pad, drop):
        super().__init__()
        self.table = nn.Embedding(words, width, padding_idx=pad)
        nn.init.normal_(self.table.weight, std=width ** -0.5)
        with torch.no_grad():
            self.table.weight[pad].zero_()
        self.factor = math.sqrt(width)
        where = torch.arange(LONGEST).unsqueeze(1)
        speed = torch.exp(torch.arange(0, width, 2) * (-math.log(10000.0) / width))
        waves = torch.zeros(LONGEST, width)
        waves[:, 0::2] = torch.sin(where * speed)
        waves[:, 1::2] = torch.cos(where * speed)
        self.register_buffer("waves", waves.unsqueeze(0), persistent=False)
        self.drop = nn.Dropout(drop)

    def forward(self, ids):
        x = self.table(ids) * self.factor
        x = x + self.waves[:, :x.size(1)]
        return self.drop(x)


class EncoderLayer(nn.Module):
    def __init__(self, width, heads, hidden, drop):
        super().__init__()
        self.self_attention = Attention(width, heads, drop)
        self.feed = FeedForward(width, hidden, drop)
        self.norm1, self.norm2 = Norm(width), Norm(width)
        self.drop = nn.Dropout(drop)

    def forward(self, x, keep):
        x = self.norm1(x + self.drop(self.self_attention(x, x, keep)))
        x = self.norm2(x + self.drop(self.feed(x)))
        return x


class DecoderLayer(nn.Module):
    def __init__(self, width, heads, hidden, drop):
        super().__init__()
        self.self_attention = Attention(width, heads, drop)
        self.cross_attention = Attention(width, heads, drop)
        self.feed = FeedForward(width, hidden, drop)
        self.norm1, self.norm2, self.norm3 = Norm(width), Norm(width), Norm(width)
        self.drop = nn.Dropout(drop)

    def forward(self, y, memory, keep, keep_memory):
        y = self.norm1(y + self.drop(self.self_attention(y, y, keep)))
        y = self.norm2(y + self.drop(self.cross_attention(y, memory, keep_memory)))
        y = self.norm3(y + self.drop(self.feed(y)))
        return y


class Translator(nn.Module):
    def __init__(self, src_words=SRC_WORDS, tgt_words=TGT_WORDS, src_pad=SRC_PAD, tgt_pad=TGT_PAD,
                 width=WIDTH, heads=HEADS, hidden=HIDDEN, depth=DEPTH, drop=DROP):
        super().__init__()
        self.src_pad, self.tgt_pad = src_pad, tgt_pad
        self.src_embed = Embedding(src_words, width, src_pad, drop)
        self.tgt_embed = Embedding(tgt_words, width, tgt_pad, drop)
        self.encoder = nn.ModuleList(EncoderLayer(width, heads, hidden, drop) for _ in range(depth))
        self.decoder = nn.ModuleList(DecoderLayer(width, heads, hidden, drop) for _ in range(depth))
        self.to_words = nn.Linear(width, tgt_words)

    def source_keep(self, source):
        return (source != self.src_pad)[:, None, None, :]

    def target_keep(self, target):
        n = target.size(1)
        past = torch.ones(n, n, dtype=torch.bool, device=target.device).tril()
        real = (target != self.tgt_pad)[:, None, None, :]
        return past & real

    def encode(self, source):
        keep = self.source_keep(source)
        x = self.src_embed(source)
        for layer in self.encoder:
            x = layer(x, keep)
        return x, keep

    def decode(self, target, memory, keep_memory):
        keep = self.target_keep(target)
        y = self.tgt_embed(target)
        for layer in self.decoder:
            y = layer(y, memory, keep, keep_memory)
        return self.to_words(y)

    def forward(self, source, target):
        memory, keep_memory = self.encode(source)
        return self.decode(target, memory, keep_memory)


def pad_to_longest(rows, pad):
    longest = max(len(row) for row in rows)
    return torch.tensor([list(row) + [pad] * (longest - len(row)) for row in rows])


def collate(pairs):
    sources = [list(s) + [EOS] for s, _ in pairs]
    fed = [[BOS] + list(t) for _, t in pairs]
    said = [list(t) + [EOS] for _, t in pairs]
    return pad_to_longest(sources, SRC_PAD), pad_to_longest(fed, TGT_PAD), pad_to_longest(said, TGT_PAD)


def loss_of(scores, target_out):
    return F.cross_entropy(scores.flatten(0, 1), target_out.flatten(), ignore_index=TGT_PAD)


class Trainer:
    def __init__(self, net, rate=4e-3, warmup=30, clip=1.0):
        self.net, self.clip = net, clip
        self.optimizer = torch.optim.Adam(net.parameters(), lr=rate, betas=(0.9, 0.98), eps=1e-8)
        self.schedule = torch.optim.lr_scheduler.LambdaLR(
            self.optimizer, lambda done: min((done + 1) / warmup, math.sqrt(warmup / (done + 1))))

    def step(self, source, target_in, target_out):
        self.net.train()
        self.optimizer.zero_grad()
        loss = loss_of(self.net(source, target_in), target_out)
        loss.backward()
        nn.utils.clip_grad_norm_(self.net.parameters(), self.clip)
        self.optimizer.step()
        self.schedule.step()
        return loss.item()


def limit(sentence):
    return min(LONGEST - 1, 2 * len(sentence) + 10)


@torch.no_grad()
def greedy_one(net, sentence):
    source = torch.tensor([list(sentence) + [EOS]])
    memory, keep_memory = net.encode(source)
    said = [BOS]
    for _ in range(limit(sentence)):
        scores = net.decode(torch.tensor([said]), memory, keep_memory)[0, -1]
        word = scores.argmax().item()
        if word == EOS:
            break
        said.append(word)
    return said[1:]


def translate_greedily(net, sentences):
    net.eval()
    return [greedy_one(net, sentence) for sentence in sentences]


@torch.no_grad()
def beam_one(net, sentence, size=4, alpha=0.6):
    source = torch.tensor([list(sentence) + [EOS]])
    memory, keep_memory = net.encode(source)
    alive, ended = [(0.0, [BOS])], []
    for _ in range(limit(sentence)):
        fed = torch.tensor([words for _, words in alive])
        n = len(alive)
        scores = net.decode(fed, memory.expand(n, -1, -1), keep_memory.expand(n, -1, -1, -1))[:, -1]
        logs = scores.log_softmax(dim=-1)
        total = logs + torch.tensor([score for score, _ in alive]).unsqueeze(1)
        best, index = total.flatten().topk(2 * size)
        grown = []
        for score, i in zip(best.tolist(), index.tolist()):
            row, word = divmod(i, logs.size(1))
            words = alive[row][1] + [word]
            if word == EOS:
                ended.append((score / (len(words) - 1) ** alpha, words[1:-1]))
            elif len(grown) < size:
                grown.append((score, words))
        alive = grown
        # scores only fall, and the most that length can help is the longest length
        if ended and max(ended)[0] >= alive[0][0] / limit(sentence) ** alpha:
            break
    ended = ended or [(score / max(1, len(words) - 1) ** alpha, words[1:]) for score, words in alive]
    return max(ended, key=lambda pair: pair[0])[1]


def translate_by_beam(net, sentences):
    net.eval()
    return [beam_one(net, sentence) for sentence in sentences]


def make():
    torch.manual_seed(7)
    net = Translator()
    trainer = Trainer(net)
    return Subject(
        net,
        source_vocab=SRC_WORDS, target_vocab=TGT_WORDS,
        pad=TGT_PAD, source_pad=SRC_PAD, bos=BOS, eos=EOS,
        scores=lambda source, target: net(source, target),
        collate=collate,
        loss=loss_of,
        training_step=trainer.step,
        translate=lambda sentences: translate_greedily(net, sentences),
        beam=lambda sentences: translate_by_beam(net, sentences),
    )
