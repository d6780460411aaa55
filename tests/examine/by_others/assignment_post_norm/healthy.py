"""The Transformer of 'Attention Is All You Need', from scratch: einsum attention, post-norm, learned
positions, one embedding matrix for source, target and output."""
import math

import torch
import torch.nn as nn
import torch.nn.functional as F

from transformer_course.examine import Subject
PAD, BOS, EOS = 0, 1, 2
VOCAB = 40


class LayerNorm(nn.Module):
    def __init__(self, d_model, eps=1e-5):
        super().__init__()
        self.gain = nn.Parameter(torch.ones(d_model))
        self.bias = nn.Parameter(torch.zeros(d_model))
        self.eps = eps

    def forward(self, x):
        mean = x.mean(-1, keepdim=True)
        var = (x - mean).pow(2).mean(-1, keepdim=True)
        return self.gain * (x - mean) / torch.sqrt(var + self.eps) + self.bias


class Attention(nn.Module):
    def __init__(self, d_model, n_heads, dropout):
        super().__init__()
        assert d_model % n_heads == 0
        self.h, self.dk = n_heads, d_model // n_heads
        self.wq = nn.Linear(d_model, d_model)
        self.wk = nn.Linear(d_model, d_model)
        self.wv = nn.Linear(d_model, d_model)
        self.wo = nn.Linear(d_model, d_model)
        self.drop = nn.Dropout(dropout)

    def forward(self, x, ctx, mask):
        """x (B, Q, D) asks, ctx (B, K, D) answers; mask is True where looking is allowed, (B, 1, 1 or Q, K)."""
        B, Q, D = x.shape
        K = ctx.size(1)
        q = self.wq(x).view(B, Q, self.h, self.dk)
        k = self.wk(ctx).view(B, K, self.h, self.dk)
        v = self.wv(ctx).view(B, K, self.h, self.dk)
        scores = torch.einsum("bqhd,bkhd->bhqk", q, k) / math.sqrt(self.dk)
        scores = scores.masked_fill(~mask, -1e9)
        weights = self.drop(scores.softmax(dim=-1))
        out = torch.einsum("bhqk,bkhd->bqhd", weights, v)
        return self.wo(out.reshape(B, Q, D))


class FeedForward(nn.Module):
    def __init__(self, d_model, d_ff, dropout):
        super().__init__()
        self.up = nn.Linear(d_model, d_ff)
        self.down = nn.Linear(d_ff, d_model)
        self.drop = nn.Dropout(dropout)

    def forward(self, x):
        return self.down(self.drop(F.relu(self.up(x))))


class EncoderLayer(nn.Module):
    def __init__(self, d_model, n_heads, d_ff, dropout):
        super().__init__()
        self.attn = Attention(d_model, n_heads, dropout)
        self.ff = FeedForward(d_model, d_ff, dropout)
        self.norm1, self.norm2 = LayerNorm(d_model), LayerNorm(d_model)
        self.drop = nn.Dropout(dropout)

    def forward(self, x, mask):
        x = self.norm1(x + self.drop(self.attn(x, x, mask)))
        x = self.norm2(x + self.drop(self.ff(x)))
        return x


class DecoderLayer(nn.Module):
    def __init__(self, d_model, n_heads, d_ff, dropout):
        super().__init__()
        self.self_attn = Attention(d_model, n_heads, dropout)
        self.cross_attn = Attention(d_model, n_heads, dropout)
        self.ff = FeedForward(d_model, d_ff, dropout)
        self.norm1, self.norm2, self.norm3 = LayerNorm(d_model), LayerNorm(d_model), LayerNorm(d_model)
        self.drop = nn.Dropout(dropout)

    def forward(self, x, memory, self_mask, memory_mask):
        x = self.norm1(x + self.drop(self.self_attn(x, x, self_mask)))
        x = self.norm2(x + self.drop(self.cross_attn(x, memory, memory_mask)))
        x = self.norm3(x + self.drop(self.ff(x)))
        return x


class Embedder(nn.Module):
    """Token embedding (shared) times sqrt(d), plus a learned vector per position."""

    def __init__(self, tokens, max_len, dropout):
        super().__init__()
        d_model = tokens.embedding_dim
        self.tokens = tokens
        self.positions = nn.Embedding(max_len, d_model)
        self.scale = math.sqrt(d_model)
        self.drop = nn.Dropout(dropout)

    def forward(self, ids):
        pos = torch.arange(ids.size(1), device=ids.device).unsqueeze(0)
        return self.drop(self.tokens(ids) * self.scale + self.positions(pos))


class Encoder(nn.Module):
    def __init__(self, embed, n_layers, *args):
        super().__init__()
        self.embed = embed
        self.layers = nn.ModuleList([EncoderLayer(*args) for _ in range(n_layers)])

    def forward(self, src, mask):
        x = self.embed(src)
        for layer in self.layers:
            x = layer(x, mask)
        return x


class Decoder(nn.Module):
    def __init__(self, embed, n_layers, *args):
        super().__init__()
        self.embed = embed
        self.layers = nn.ModuleList([DecoderLayer(*args) for _ in range(n_layers)])

    def forward(self, tgt, memory, self_mask, memory_mask):
        x = self.embed(tgt)
        for layer in self.layers:
            x = layer(x, memory, self_mask, memory_mask)
        return x


class Transformer(nn.Module):
    def __init__(self, vocab=VOCAB, d_model=32, n_heads=4, d_ff=64, n_layers=2, dropout=0.1, max_len=512):
        super().__init__()
        tokens = nn.Embedding(vocab, d_model, padding_idx=PAD)
        args = (d_model, n_heads, d_ff, dropout)
        self.encoder = Encoder(Embedder(tokens, max_len, dropout), n_layers, *args)
        self.decoder = Decoder(Embedder(tokens, max_len, dropout), n_layers, *args)
        self.out = nn.Linear(d_model, vocab, bias=False)
        self.init_weights(d_model)
        self.out.weight = tokens.weight

    def init_weights(self, d_model):
        for module in self.modules():
            if isinstance(module, nn.Embedding):
                nn.init.normal_(module.weight, std=d_model ** -0.5)
            elif isinstance(module, nn.Linear):
                nn.init.xavier_uniform_(module.weight)
                if module.bias is not None:
                    nn.init.zeros_(module.bias)

    def source_mask(self, src):
        return (src != PAD)[:, None, None, :]                                        # (B, 1, 1, S)

    def target_mask(self, tgt):
        T = tgt.size(1)
        real = (tgt != PAD)[:, None, None, :]                                        # (B, 1, 1, T)
        past = torch.ones(T, T, dtype=torch.bool, device=tgt.device).tril()[None, None]   # (1, 1, T, T)
        return real & past

    def encode(self, src):
        return self.encoder(src, self.source_mask(src))

    def decode(self, tgt, memory, src):
        x = self.decoder(tgt, memory, self.target_mask(tgt), self.source_mask(src))
        return self.out(x)

    def forward(self, src, tgt):
        return self.decode(tgt, self.encode(src), src)


def pad_to_tensor(rows):
    longest = max(len(r) for r in rows)
    return torch.tensor([r + [PAD] * (longest - len(r)) for r in rows], dtype=torch.long)


def encode_sources(sentences):
    return pad_to_tensor([list(s) + [EOS] for s in sentences])


def collate(pairs):
    src = encode_sources([s for s, _ in pairs])
    tgt_in = pad_to_tensor([[BOS] + list(t) for _, t in pairs])
    tgt_out = pad_to_tensor([list(t) + [EOS] for _, t in pairs])
    return src, tgt_in, tgt_out


def compute_loss(scores, tgt_out):
    return F.cross_entropy(scores.transpose(1, 2), tgt_out, ignore_index=PAD, label_smoothing=0.1)


class Trainer:
    """Adam with the warmup schedule of the paper."""

    def __init__(self, model, d_model=32, warmup=100, factor=0.5):
        self.model = model
        self.optimizer = torch.optim.Adam(model.parameters(), lr=0.0, betas=(0.9, 0.98), eps=1e-9)
        self.steps = 0
        self.rate = lambda n: factor * d_model ** -0.5 * min(n ** -0.5, n * warmup ** -1.5)

    def step(self, src, tgt_in, tgt_out):
        self.model.train()
        self.steps += 1
        for group in self.optimizer.param_groups:
            group["lr"] = self.rate(self.steps)
        self.optimizer.zero_grad()
        loss = compute_loss(self.model(src, tgt_in), tgt_out)
        loss.backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimizer.step()
        return loss.detach()


@torch.no_grad()
def greedy(model, sentences, extra=20):
    model.eval()
    src = encode_sources(sentences)
    memory = model.encode(src)
    ys = torch.full((len(sentences), 1), BOS, dtype=torch.long)
    done = torch.zeros(len(sentences), dtype=torch.bool)
    for _ in range(src.size(1) + extra):
        best = model.decode(ys, memory, src)[:, -1].argmax(-1)
        best = best.masked_fill(done, PAD)
        ys = torch.cat([ys, best[:, None]], dim=1)
        done |= best == EOS
        if done.all():
            break
    return [cut(row) for row in ys[:, 1:].tolist()]


def cut(row):
    return row[:row.index(EOS)] if EOS in row else [i for i in row if i != PAD]


@torch.no_grad()
def beam_search(model, sentences, width=4, extra=20, alpha=0.6):
    model.eval()
    return [beam_one(model, s, width, extra, alpha) for s in sentences]


def beam_one(model, sentence, width, extra, alpha):
    src = encode_sources([sentence])
    memory = model.encode(src)
    beams, finished = [(0.0, [BOS])], []
    norm = lambda score, ids: score / ((5 + len(ids)) / 6) ** alpha
    for _ in range(src.size(1) + extra):
        n = len(beams)
        ys = torch.tensor([ids for _, ids in beams])
        logp = model.decode(ys, memory.expand(n, -1, -1), src.expand(n, -1))[:, -1].log_softmax(-1)
        total = logp + torch.tensor([score for score, _ in beams])[:, None]
        values, where = total.flatten().topk(2 * width)
        live = []
        for value, index in zip(values.tolist(), where.tolist()):
            ids = beams[index // logp.size(1)][1] + [index % logp.size(1)]
            if ids[-1] == EOS:
                finished.append((norm(value, ids), ids[1:-1]))
            elif len(live) < width:
                live.append((value, ids))
        beams = live
        if finished and max(finished)[0] >= norm(live[0][0], live[0][1]):
            break
    if not finished:
        finished = [(norm(score, ids), ids[1:]) for score, ids in beams]
    return max(finished)[1]


def make():
    torch.manual_seed(0)
    model = Transformer()
    trainer = Trainer(model)
    return Subject(
        model,
        source_vocab=VOCAB, target_vocab=VOCAB, pad=PAD, bos=BOS, eos=EOS,
        scores=lambda src, tgt: model(src, tgt),
        collate=collate,
        loss=compute_loss,
        training_step=trainer.step,
        translate=lambda sentences: greedy(model, sentences),
        beam=lambda sentences: beam_search(model, sentences),
    )
