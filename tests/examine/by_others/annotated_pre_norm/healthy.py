from transformer_course.examine import Subject
import copy
import math

import torch
import torch.nn as nn
import torch.nn.functional as F

PAD, BOS, EOS = 0, 1, 2
SRC_VOCAB, TGT_VOCAB = 40, 40


def clones(module, n):
    return nn.ModuleList([copy.deepcopy(module) for _ in range(n)])


# ---------------------------------------------------------------- masks

def subsequent_mask(size):
    "True where a position may be looked at: itself and what came before."
    return torch.tril(torch.ones(1, size, size, dtype=torch.bool))


def make_src_mask(src):
    return (src != PAD).unsqueeze(-2)


def make_std_mask(tgt):
    "Hide padding and future words."
    tgt_mask = (tgt != PAD).unsqueeze(-2)
    return tgt_mask & subsequent_mask(tgt.size(-1)).to(tgt.device)


# ---------------------------------------------------------------- attention

def attention(query, key, value, mask=None, dropout=None):
    d_k = query.size(-1)
    scores = torch.matmul(query, key.transpose(-2, -1)) / math.sqrt(d_k)
    if mask is not None:
        scores = scores.masked_fill(mask == 0, -1e9)
    p_attn = scores.softmax(dim=-1)
    if dropout is not None:
        p_attn = dropout(p_attn)
    return torch.matmul(p_attn, value), p_attn


class MultiHeadedAttention(nn.Module):
    def __init__(self, h, d_model, dropout=0.1):
        super().__init__()
        assert d_model % h == 0
        self.d_k = d_model // h
        self.h = h
        self.linears = clones(nn.Linear(d_model, d_model), 4)
        self.attn = None
        self.dropout = nn.Dropout(p=dropout)

    def forward(self, query, key, value, mask=None):
        if mask is not None:
            mask = mask.unsqueeze(1)  # the same for all heads
        nbatches = query.size(0)
        query, key, value = [
            lin(x).view(nbatches, -1, self.h, self.d_k).transpose(1, 2)
            for lin, x in zip(self.linears, (query, key, value))
        ]
        x, self.attn = attention(query, key, value, mask=mask, dropout=self.dropout)
        x = x.transpose(1, 2).contiguous().view(nbatches, -1, self.h * self.d_k)
        return self.linears[-1](x)


# ---------------------------------------------------------------- small parts

class LayerNorm(nn.Module):
    def __init__(self, features, eps=1e-6):
        super().__init__()
        self.a_2 = nn.Parameter(torch.ones(features))
        self.b_2 = nn.Parameter(torch.zeros(features))
        self.eps = eps

    def forward(self, x):
        mean = x.mean(-1, keepdim=True)
        var = x.var(-1, keepdim=True, unbiased=False)
        return self.a_2 * (x - mean) / torch.sqrt(var + self.eps) + self.b_2


class SublayerConnection(nn.Module):
    "x + dropout(sublayer(norm(x)))"

    def __init__(self, size, dropout):
        super().__init__()
        self.norm = LayerNorm(size)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, sublayer):
        return x + self.dropout(sublayer(self.norm(x)))


class PositionwiseFeedForward(nn.Module):
    def __init__(self, d_model, d_ff, dropout=0.1):
        super().__init__()
        self.w_1 = nn.Linear(d_model, d_ff)
        self.w_2 = nn.Linear(d_ff, d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        return self.w_2(self.dropout(self.w_1(x).relu()))


class Embeddings(nn.Module):
    def __init__(self, d_model, vocab):
        super().__init__()
        self.lut = nn.Embedding(vocab, d_model)
        self.d_model = d_model

    def forward(self, x):
        return self.lut(x) * math.sqrt(self.d_model)


class PositionalEncoding(nn.Module):
    def __init__(self, d_model, dropout, max_len=512):
        super().__init__()
        self.dropout = nn.Dropout(p=dropout)
        pe = torch.zeros(max_len, d_model)
        position = torch.arange(0, max_len).unsqueeze(1).float()
        div_term = torch.exp(torch.arange(0, d_model, 2).float() * -(math.log(10000.0) / d_model))
        pe[:, 0::2] = torch.sin(position * div_term)
        pe[:, 1::2] = torch.cos(position * div_term)
        self.register_buffer("pe", pe.unsqueeze(0))

    def forward(self, x):
        x = x + self.pe[:, : x.size(1)]
        return self.dropout(x)


class Generator(nn.Module):
    def __init__(self, d_model, vocab):
        super().__init__()
        self.proj = nn.Linear(d_model, vocab)

    def forward(self, x):
        return F.log_softmax(self.proj(x), dim=-1)


# ---------------------------------------------------------------- encoder and decoder

class EncoderLayer(nn.Module):
    def __init__(self, size, self_attn, feed_forward, dropout):
        super().__init__()
        self.self_attn = self_attn
        self.feed_forward = feed_forward
        self.sublayer = clones(SublayerConnection(size, dropout), 2)
        self.size = size

    def forward(self, x, mask):
        x = self.sublayer[0](x, lambda x: self.self_attn(x, x, x, mask))
        return self.sublayer[1](x, self.feed_forward)


class Encoder(nn.Module):
    def __init__(self, layer, n):
        super().__init__()
        self.layers = clones(layer, n)
        self.norm = LayerNorm(layer.size)

    def forward(self, x, mask):
        for layer in self.layers:
            x = layer(x, mask)
        return self.norm(x)


class DecoderLayer(nn.Module):
    def __init__(self, size, self_attn, src_attn, feed_forward, dropout):
        super().__init__()
        self.size = size
        self.self_attn = self_attn
        self.src_attn = src_attn
        self.feed_forward = feed_forward
        self.sublayer = clones(SublayerConnection(size, dropout), 3)

    def forward(self, x, memory, src_mask, tgt_mask):
        m = memory
        x = self.sublayer[0](x, lambda x: self.self_attn(x, x, x, tgt_mask))
        x = self.sublayer[1](x, lambda x: self.src_attn(x, m, m, src_mask))
        return self.sublayer[2](x, self.feed_forward)


class Decoder(nn.Module):
    def __init__(self, layer, n):
        super().__init__()
        self.layers = clones(layer, n)
        self.norm = LayerNorm(layer.size)

    def forward(self, x, memory, src_mask, tgt_mask):
        for layer in self.layers:
            x = layer(x, memory, src_mask, tgt_mask)
        return self.norm(x)


class EncoderDecoder(nn.Module):
    def __init__(self, encoder, decoder, src_embed, tgt_embed, generator):
        super().__init__()
        self.encoder = encoder
        self.decoder = decoder
        self.src_embed = src_embed
        self.tgt_embed = tgt_embed
        self.generator = generator

    def encode(self, src, src_mask):
        return self.encoder(self.src_embed(src), src_mask)

    def decode(self, memory, src_mask, tgt, tgt_mask):
        return self.decoder(self.tgt_embed(tgt), memory, src_mask, tgt_mask)

    def forward(self, src, tgt):
        src_mask, tgt_mask = make_src_mask(src), make_std_mask(tgt)
        return self.generator(self.decode(self.encode(src, src_mask), src_mask, tgt, tgt_mask))


def make_model(src_vocab, tgt_vocab, n=2, d_model=32, d_ff=64, h=4, dropout=0.1):
    c = copy.deepcopy
    attn = MultiHeadedAttention(h, d_model, dropout)
    ff = PositionwiseFeedForward(d_model, d_ff, dropout)
    position = PositionalEncoding(d_model, dropout)
    model = EncoderDecoder(
        Encoder(EncoderLayer(d_model, c(attn), c(ff), dropout), n),
        Decoder(DecoderLayer(d_model, c(attn), c(attn), c(ff), dropout), n),
        nn.Sequential(Embeddings(d_model, src_vocab), c(position)),
        nn.Sequential(Embeddings(d_model, tgt_vocab), c(position)),
        Generator(d_model, tgt_vocab),
    )
    for p in model.parameters():
        if p.dim() > 1:
            nn.init.xavier_uniform_(p)
    return model


# ---------------------------------------------------------------- data

def pad_rows(rows, width):
    out = torch.full((len(rows), width), PAD, dtype=torch.long)
    for i, row in enumerate(rows):
        row = row[:width]
        out[i, : len(row)] = torch.tensor(row, dtype=torch.long)
    return out


def collate(pairs):
    srcs = [list(s) + [EOS] for s, _ in pairs]
    tgts = [[BOS] + list(t) + [EOS] for _, t in pairs]
    src = pad_rows(srcs, max(len(s) for s in srcs))
    tgt = pad_rows(tgts, max(len(t) for t in tgts))
    return src, tgt[:, :-1], tgt[:, 1:]


# ---------------------------------------------------------------- loss

class LabelSmoothing(nn.Module):
    def __init__(self, size, padding_idx, smoothing=0.0):
        super().__init__()
        self.criterion = nn.KLDivLoss(reduction="sum")
        self.padding_idx = padding_idx
        self.confidence = 1.0 - smoothing
        self.smoothing = smoothing
        self.size = size

    def forward(self, x, target):
        true_dist = torch.full_like(x, self.smoothing / (self.size - 2))
        true_dist.scatter_(1, target.unsqueeze(1), self.confidence)
        true_dist[:, self.padding_idx] = 0
        true_dist = true_dist.masked_fill((target == self.padding_idx).unsqueeze(1), 0.0)
        return self.criterion(x, true_dist)


def loss_compute(criterion):
    def loss(log_probs, tgt_out):
        ntokens = (tgt_out != PAD).sum()
        x = log_probs.contiguous().view(-1, log_probs.size(-1))
        return criterion(x, tgt_out.contiguous().view(-1)) / ntokens
    return loss


# ---------------------------------------------------------------- training

class NoamOpt:
    "Optimizer wrapper that implements the rate."

    def __init__(self, model_size, factor, warmup, optimizer):
        self.optimizer = optimizer
        self._step = 0
        self.warmup = warmup
        self.factor = factor
        self.model_size = model_size

    def rate(self, step):
        return self.factor * self.model_size ** -0.5 * min(step ** -0.5, step * self.warmup ** -1.5)

    def step(self):
        self._step += 1
        for group in self.optimizer.param_groups:
            group["lr"] = self.rate(self._step)
        self.optimizer.step()

    def zero_grad(self):
        self.optimizer.zero_grad()


def get_std_opt(model):
    adam = torch.optim.Adam(model.parameters(), lr=0, betas=(0.9, 0.98), eps=1e-9)
    return NoamOpt(32, 0.4, 60, adam)


# ---------------------------------------------------------------- decoding

def make_sources(sources):
    rows = [list(s) + [EOS] for s in sources]
    return pad_rows(rows, max(len(r) for r in rows))


@torch.no_grad()
def greedy_decode(model, sources, max_len=20):
    model.eval()
    src = make_sources(sources)
    src_mask = make_src_mask(src)
    memory = model.encode(src, src_mask)
    ys = torch.full((src.size(0), 1), BOS, dtype=torch.long)
    done = torch.zeros(src.size(0), dtype=torch.bool)
    for _ in range(max_len):
        out = model.decode(memory, src_mask, ys, make_std_mask(ys))
        prob = model.generator(out[:, -1])
        next_word = prob.argmax(dim=-1).masked_fill(done, PAD)
        ys = torch.cat([ys, next_word.unsqueeze(1)], dim=1)
        done = done | (next_word == EOS)
        if done.all():
            break
    result = []
    for row in ys[:, 1:].tolist():
        result.append(row[: row.index(EOS)] if EOS in row else row)
    return result


@torch.no_grad()
def beam_decode_one(model, source, width=4, max_len=20, alpha=0.6):
    src = make_sources([source])
    src_mask = make_src_mask(src)
    memory = model.encode(src, src_mask)
    ys = torch.tensor([[BOS]])
    totals = torch.zeros(1)
    finished = []
    for _ in range(max_len):
        k = ys.size(0)
        out = model.decode(memory.expand(k, -1, -1), src_mask.expand(k, -1, -1), ys, make_std_mask(ys))
        log_probs = model.generator(out[:, -1])
        vocab = log_probs.size(-1)
        best, flat = (totals.unsqueeze(1) + log_probs).view(-1).topk(width)
        parent, word = flat // vocab, flat % vocab
        grown = torch.cat([ys[parent], word.unsqueeze(1)], dim=1)
        ended = word == EOS
        for row, score in zip(grown[ended].tolist(), best[ended].tolist()):
            length = len(row) - 1
            finished.append((score / ((5 + length) / 6) ** alpha, row[1:-1]))
        ys, totals = grown[~ended], best[~ended]
        if len(finished) >= width or ys.size(0) == 0:
            break
    if not finished:
        return ys[0, 1:].tolist()
    return max(finished, key=lambda f: f[0])[1]


def make():
    torch.manual_seed(11)
    model = make_model(SRC_VOCAB, TGT_VOCAB)
    model.train()
    loss = loss_compute(LabelSmoothing(TGT_VOCAB, padding_idx=PAD, smoothing=0.1))
    opt = get_std_opt(model)

    def training_step(src, tgt_in, tgt_out):
        model.train()
        opt.zero_grad()
        value = loss(model(src, tgt_in), tgt_out)
        value.backward()
        opt.step()
        return value.item()

    def translate(sources):
        return greedy_decode(model, sources)

    def beam(sources):
        model.eval()
        return [beam_decode_one(model, s) for s in sources]

    return Subject(
        model,
        source_vocab=SRC_VOCAB, target_vocab=TGT_VOCAB, pad=PAD, bos=BOS, eos=EOS,
        scores=lambda source, target: model(source, target),
        collate=collate,
        loss=loss,
        training_step=training_step,
        translate=translate,
        beam=beam,
    )
