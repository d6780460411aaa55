"""A small encoder-decoder Transformer in today's style.

Pre-norm with RMSNorm, rotary positions in self-attention, SwiGLU, SDPA, AdamW with
warm-up and clipping, greedy and beam decoding with a key-value cache.
"""
import math
from dataclasses import dataclass

from transformer_course.examine import Subject
import torch
import torch.nn.functional as F
from torch import nn

PAD, BOS, EOS = 0, 1, 2


@dataclass
class Config:
    source_vocab: int = 40
    target_vocab: int = 42
    width: int = 32
    heads: int = 4
    hidden: int = 64
    layers: int = 2
    dropout: float = 0.1
    max_positions: int = 128
    rope_base: float = 10000.0
    lr: float = 3e-3
    warmup: int = 40
    weight_decay: float = 0.01
    clip: float = 1.0


# ------------------------------------------------------------------ building blocks


class RMSNorm(nn.Module):
    def __init__(self, width, eps=1e-6):
        super().__init__()
        self.gain = nn.Parameter(torch.ones(width))
        self.eps = eps

    def forward(self, x):
        scale = torch.rsqrt(x.pow(2).mean(dim=-1, keepdim=True) + self.eps)
        return x * scale * self.gain


class SwiGLU(nn.Module):
    def __init__(self, width, hidden):
        super().__init__()
        self.gate = nn.Linear(width, hidden, bias=False)
        self.up = nn.Linear(width, hidden, bias=False)
        self.down = nn.Linear(hidden, width, bias=False)

    def forward(self, x):
        return self.down(F.silu(self.gate(x)) * self.up(x))


class Rotary(nn.Module):
    """Turns pairs of features by an angle that grows with the position."""

    def __init__(self, head_width, max_positions, base):
        super().__init__()
        inverse = base ** (-torch.arange(0, head_width, 2).float() / head_width)
        angles = torch.outer(torch.arange(max_positions).float(), inverse)
        angles = torch.cat([angles, angles], dim=-1)
        self.register_buffer("cos", angles.cos(), persistent=False)
        self.register_buffer("sin", angles.sin(), persistent=False)

    def forward(self, x, offset=0):
        # x: (batch, heads, time, head width)
        end = offset + x.size(-2)
        cos, sin = self.cos[offset:end], self.sin[offset:end]
        first, second = x.chunk(2, dim=-1)
        return x * cos + torch.cat([-second, first], dim=-1) * sin


class SelfAttention(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.heads, self.p = cfg.heads, cfg.dropout
        self.qkv = nn.Linear(cfg.width, 3 * cfg.width, bias=False)
        self.out = nn.Linear(cfg.width, cfg.width, bias=False)
        self.rotary = Rotary(cfg.width // cfg.heads, cfg.max_positions, cfg.rope_base)

    def forward(self, x, mask=None, cache=None):
        b, t, w = x.shape
        q, k, v = (
            y.view(b, t, self.heads, w // self.heads).transpose(1, 2)
            for y in self.qkv(x).chunk(3, dim=-1)
        )
        offset = 0
        if cache is not None and "k" in cache:
            offset = cache["k"].size(2)
        q, k = self.rotary(q, offset), self.rotary(k, offset)
        if cache is not None:
            if "k" in cache:
                k = torch.cat([cache["k"], k], dim=2)
                v = torch.cat([cache["v"], v], dim=2)
            cache["k"], cache["v"] = k, v
        y = F.scaled_dot_product_attention(
            q, k, v, attn_mask=mask, dropout_p=self.p if self.training else 0.0
        )
        return self.out(y.transpose(1, 2).reshape(b, t, w))


class CrossAttention(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.heads, self.p = cfg.heads, cfg.dropout
        self.q = nn.Linear(cfg.width, cfg.width, bias=False)
        self.kv = nn.Linear(cfg.width, 2 * cfg.width, bias=False)
        self.out = nn.Linear(cfg.width, cfg.width, bias=False)

    def split(self, x):
        b, t, w = x.shape
        return x.view(b, t, self.heads, w // self.heads).transpose(1, 2)

    def forward(self, x, memory, mask=None, cache=None):
        b, t, w = x.shape
        q = self.split(self.q(x))
        if cache is not None and "memory_k" in cache:
            k, v = cache["memory_k"], cache["memory_v"]
        else:
            k, v = (self.split(y) for y in self.kv(memory).chunk(2, dim=-1))
            if cache is not None:
                cache["memory_k"], cache["memory_v"] = k, v
        y = F.scaled_dot_product_attention(
            q, k, v, attn_mask=mask, dropout_p=self.p if self.training else 0.0
        )
        return self.out(y.transpose(1, 2).reshape(b, t, w))


class EncoderLayer(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.norm1, self.norm2 = RMSNorm(cfg.width), RMSNorm(cfg.width)
        self.attention = SelfAttention(cfg)
        self.ffn = SwiGLU(cfg.width, cfg.hidden)
        self.drop = nn.Dropout(cfg.dropout)

    def forward(self, x, mask):
        x = x + self.drop(self.attention(self.norm1(x), mask))
        x = x + self.drop(self.ffn(self.norm2(x)))
        return x


class DecoderLayer(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.norm1, self.norm2, self.norm3 = (RMSNorm(cfg.width) for _ in range(3))
        self.attention = SelfAttention(cfg)
        self.cross = CrossAttention(cfg)
        self.ffn = SwiGLU(cfg.width, cfg.hidden)
        self.drop = nn.Dropout(cfg.dropout)

    def forward(self, x, memory, mask, memory_mask, cache=None):
        x = x + self.drop(self.attention(self.norm1(x), mask, cache))
        x = x + self.drop(self.cross(self.norm2(x), memory, memory_mask, cache))
        x = x + self.drop(self.ffn(self.norm3(x)))
        return x


class Transformer(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.cfg = cfg
        self.source_embedding = nn.Embedding(cfg.source_vocab, cfg.width, padding_idx=PAD)
        self.target_embedding = nn.Embedding(cfg.target_vocab, cfg.width, padding_idx=PAD)
        self.encoder = nn.ModuleList([EncoderLayer(cfg) for _ in range(cfg.layers)])
        self.decoder = nn.ModuleList([DecoderLayer(cfg) for _ in range(cfg.layers)])
        self.encoder_norm = RMSNorm(cfg.width)
        self.decoder_norm = RMSNorm(cfg.width)
        self.drop = nn.Dropout(cfg.dropout)
        self.head = nn.Linear(cfg.width, cfg.target_vocab, bias=False)
        self.apply(self.initialise)
        self.head.weight = self.target_embedding.weight

    @staticmethod
    def initialise(module):
        if isinstance(module, nn.Linear):
            nn.init.xavier_uniform_(module.weight)
        elif isinstance(module, nn.Embedding):
            nn.init.normal_(module.weight, std=module.embedding_dim**-0.5)
            with torch.no_grad():
                module.weight[PAD].zero_()

    def embed(self, table, ids):
        return self.drop(table(ids) * math.sqrt(self.cfg.width))

    def encode(self, source):
        """-> memory (batch, S, width), mask (batch, 1, 1, S): True where a word is."""
        mask = (source != PAD)[:, None, None, :]
        x = self.embed(self.source_embedding, source)
        for layer in self.encoder:
            x = layer(x, mask)
        return self.encoder_norm(x), mask

    def decode(self, target, memory, memory_mask, caches=None):
        t = target.size(1)
        mask = None
        if caches is None:
            causal = torch.ones(t, t, dtype=torch.bool, device=target.device).tril()
            mask = causal[None, None]
        # with caches only the newest id comes in, and it may look at all that is cached
        x = self.embed(self.target_embedding, target)
        for i, layer in enumerate(self.decoder):
            cache = None if caches is None else caches[i]
            x = layer(x, memory, mask, memory_mask, cache)
        return self.head(self.decoder_norm(x))

    def new_caches(self):
        return [{} for _ in self.decoder]

    def forward(self, source, target):
        memory, memory_mask = self.encode(source)
        return self.decode(target, memory, memory_mask)


# ------------------------------------------------------------------ data and training


def pad_up(rows):
    longest = max(len(r) for r in rows)
    return torch.tensor([r + [PAD] * (longest - len(r)) for r in rows], dtype=torch.long)


def source_batch(sentences):
    return pad_up([list(s) + [EOS] for s in sentences])


def collate(pairs):
    source = source_batch([s for s, _ in pairs])
    target = pad_up([[BOS] + list(t) + [EOS] for _, t in pairs])
    target_in, target_out = target[:, :-1].clone(), target[:, 1:].clone()
    target_in[target_in == EOS] = PAD  # short rows: eos is never an input
    return source, target_in, target_out


def loss_function(scores, target_out):
    return F.cross_entropy(
        scores.reshape(-1, scores.size(-1)), target_out.reshape(-1), ignore_index=PAD
    )


class Trainer:
    def __init__(self, network, cfg):
        self.network, self.cfg = network, cfg
        parameters = [p for p in network.parameters() if p.requires_grad]
        self.optimizer = torch.optim.AdamW(
            [
                {"params": [p for p in parameters if p.dim() >= 2], "weight_decay": cfg.weight_decay},
                {"params": [p for p in parameters if p.dim() < 2], "weight_decay": 0.0},
            ],
            lr=cfg.lr,
            betas=(0.9, 0.98),
        )
        self.schedule = torch.optim.lr_scheduler.LambdaLR(
            self.optimizer, lambda step: min(1.0, (step + 1) / cfg.warmup)
        )

    def step(self, source, target_in, target_out):
        self.network.train()
        self.optimizer.zero_grad()
        loss = loss_function(self.network(source, target_in), target_out)
        loss.backward()
        nn.utils.clip_grad_norm_(self.network.parameters(), self.cfg.clip)
        self.optimizer.step()
        self.schedule.step()
        return loss.detach()


# ------------------------------------------------------------------ decoding


@torch.no_grad()
def greedy(network, sentences):
    network.eval()
    source = source_batch(sentences)
    memory, memory_mask = network.encode(source)
    caches = network.new_caches()
    limit = 2 * source.size(1) + 10
    newest = torch.full((len(sentences), 1), BOS)
    done = torch.zeros(len(sentences), dtype=torch.bool)
    words = []
    for _ in range(limit):
        scores = network.decode(newest, memory, memory_mask, caches)[:, -1]
        choice = scores.argmax(dim=-1).masked_fill(done, PAD)
        words.append(choice)
        done = done | (choice == EOS)
        if done.all():
            break
        newest = choice[:, None]
    rows = torch.stack(words, dim=1).tolist()
    return [row[: row.index(EOS)] if EOS in row else row for row in rows]


@torch.no_grad()
def beam_one(network, sentence, width, alpha):
    source = source_batch([sentence])
    memory, memory_mask = network.encode(source)
    memory = memory.expand(width, -1, -1)
    memory_mask = memory_mask.expand(width, -1, -1, -1)
    caches = network.new_caches()
    newest = torch.full((width, 1), BOS)
    totals = torch.tensor([0.0] + [-math.inf] * (width - 1))  # all beams start alike
    rows = [[] for _ in range(width)]
    finished = []
    limit = 2 * source.size(1) + 10
    for _ in range(limit):
        logp = network.decode(newest, memory, memory_mask, caches)[:, -1].log_softmax(-1)
        vocab = logp.size(-1)
        best, where = (totals[:, None] + logp).view(-1).topk(2 * width)
        parents, ids, keep = [], [], []
        for total, place in zip(best.tolist(), where.tolist()):
            parent, word = divmod(place, vocab)
            if word == EOS:
                finished.append((total / (len(rows[parent]) + 1) ** alpha, rows[parent]))
            elif len(keep) < width:
                parents.append(parent)
                ids.append(word)
                keep.append(total)
        # a live beam can at best keep its total until the limit
        if finished and max(f[0] for f in finished) >= keep[0] / limit**alpha:
            break
        rows = [rows[p] + [w] for p, w in zip(parents, ids)]
        totals = torch.tensor(keep)
        order = torch.tensor(parents)
        for cache in caches:
            for name in cache:
                cache[name] = cache[name][order]
        newest = torch.tensor(ids)[:, None]
    if not finished:
        finished = [(totals[0].item(), rows[0])]
    return max(finished, key=lambda f: f[0])[1]


def beam_search(network, sentences, width=4, alpha=1.0):
    network.eval()
    return [beam_one(network, s, width, alpha) for s in sentences]


# ------------------------------------------------------------------ the subject


def make(seed=0):
    torch.manual_seed(seed)
    cfg = Config()
    network = Transformer(cfg)
    trainer = Trainer(network, cfg)
    return Subject(
        network,
        source_vocab=cfg.source_vocab,
        target_vocab=cfg.target_vocab,
        pad=PAD,
        bos=BOS,
        eos=EOS,
        scores=network.forward,
        collate=collate,
        loss=loss_function,
        training_step=trainer.step,
        translate=lambda sentences: greedy(network, sentences),
        beam=lambda sentences: beam_search(network, sentences),
    )
