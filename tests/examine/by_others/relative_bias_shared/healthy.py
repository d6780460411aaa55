from transformer_course.examine import Subject

import math
from dataclasses import dataclass

import torch
import torch.nn as nn
import torch.nn.functional as F

PAD, EOS = 0, 1
BOS = PAD  # like T5: the decoder starts with the padding token


@dataclass
class Config:
    vocab_size: int = 40
    n_embd: int = 32
    n_head: int = 4
    n_layer: int = 2
    dropout: float = 0.1
    num_buckets: int = 16
    max_distance: int = 32
    # optimisation
    learning_rate: float = 5e-3
    min_lr: float = 5e-4
    warmup_iters: int = 20
    lr_decay_iters: int = 1000
    weight_decay: float = 0.01
    grad_clip: float = 1.0


class RMSNorm(nn.Module):
    def __init__(self, n, eps=1e-6):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(n))
        self.eps = eps

    def forward(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps) * self.weight


class RelativeBias(nn.Module):
    """T5's bucketed relative position bias, one table per stack."""

    def __init__(self, cfg, bidirectional):
        super().__init__()
        self.bidirectional = bidirectional
        self.num_buckets, self.max_distance = cfg.num_buckets, cfg.max_distance
        self.table = nn.Embedding(cfg.num_buckets, cfg.n_head)

    def bucket(self, rel):
        n = self.num_buckets
        out = torch.zeros_like(rel)
        if self.bidirectional:
            n //= 2
            out = out + (rel > 0).long() * n
            rel = rel.abs()
        else:
            rel = -torch.clamp(rel, max=0)
        exact = n // 2
        far = exact + (
            torch.log(rel.float().clamp(min=1) / exact) / math.log(self.max_distance / exact) * (n - exact)
        ).long()
        far = far.clamp(max=n - 1)
        return out + torch.where(rel < exact, rel, far)

    def forward(self, q_len, k_len, offset=0):
        query = torch.arange(q_len)[:, None] + offset
        key = torch.arange(k_len)[None, :]
        return self.table(self.bucket(key - query)).permute(2, 0, 1)[None]  # (1, head, q, k)


class Attention(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.n_head = cfg.n_head
        self.q = nn.Linear(cfg.n_embd, cfg.n_embd, bias=False)
        self.k = nn.Linear(cfg.n_embd, cfg.n_embd, bias=False)
        self.v = nn.Linear(cfg.n_embd, cfg.n_embd, bias=False)
        self.proj = nn.Linear(cfg.n_embd, cfg.n_embd, bias=False)
        self.dropout = cfg.dropout

    def split(self, x):
        B, T, C = x.shape
        return x.view(B, T, self.n_head, C // self.n_head).transpose(1, 2)

    def forward(self, x, kv, mask=None, bias=None, cache=None, static=False):
        """mask: True where a query may look. cache: dict that is filled while decoding."""
        B, T, C = x.shape
        q = self.split(self.q(x))
        if static and cache is not None and "k" in cache:
            k, v = cache["k"], cache["v"]
        else:
            k, v = self.split(self.k(kv)), self.split(self.v(kv))
            if cache is not None:
                if not static and "k" in cache:
                    k = torch.cat([cache["k"], k], dim=2)
                    v = torch.cat([cache["v"], v], dim=2)
                cache["k"], cache["v"] = k, v
        att = q @ k.transpose(-2, -1) / math.sqrt(k.size(-1))
        if bias is not None:
            att = att + bias
        if mask is not None:
            att = att.masked_fill(~mask, torch.finfo(att.dtype).min)
        att = F.softmax(att, dim=-1)
        att = F.dropout(att, self.dropout, training=self.training)
        y = (att @ v).transpose(1, 2).reshape(B, T, C)
        return self.proj(y)


class MLP(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.c_fc = nn.Linear(cfg.n_embd, 4 * cfg.n_embd)
        self.c_proj = nn.Linear(4 * cfg.n_embd, cfg.n_embd)

    def forward(self, x):
        return self.c_proj(F.gelu(self.c_fc(x)))


class Block(nn.Module):
    """The same block for the encoder and (with cross=True) the decoder."""

    def __init__(self, cfg, cross):
        super().__init__()
        self.ln_1 = RMSNorm(cfg.n_embd)
        self.attn = Attention(cfg)
        if cross:
            self.ln_x = RMSNorm(cfg.n_embd)
            self.cross = Attention(cfg)
        else:
            self.cross = None
        self.ln_2 = RMSNorm(cfg.n_embd)
        self.mlp = MLP(cfg)
        self.drop = nn.Dropout(cfg.dropout)

    def forward(self, x, mask, bias, memory=None, memory_mask=None, cache=None):
        self_cache, cross_cache = cache if cache is not None else (None, None)
        h = self.ln_1(x)
        x = x + self.drop(self.attn(h, h, mask, bias, self_cache))
        if self.cross is not None:
            x = x + self.drop(self.cross(self.ln_x(x), memory, memory_mask, None, cross_cache, static=True))
        x = x + self.drop(self.mlp(self.ln_2(x)))
        return x


class Stack(nn.Module):
    def __init__(self, cfg, decoder):
        super().__init__()
        self.decoder = decoder
        self.pos = RelativeBias(cfg, bidirectional=not decoder)
        self.drop = nn.Dropout(cfg.dropout)
        self.blocks = nn.ModuleList([Block(cfg, cross=decoder) for _ in range(cfg.n_layer)])
        self.ln_f = RMSNorm(cfg.n_embd)

    def forward(self, x, pad_mask=None, memory=None, memory_mask=None, caches=None):
        T = x.size(1)
        past = caches[0][0]["k"].size(2) if caches is not None and caches[0][0] else 0
        bias = self.pos(T, past + T, offset=past)
        mask = pad_mask
        if self.decoder:
            mask = torch.ones(T, past + T, dtype=torch.bool).tril(diagonal=past)[None, None]
        x = self.drop(x)
        for i, block in enumerate(self.blocks):
            x = block(x, mask, bias, memory, memory_mask, caches[i] if caches is not None else None)
        return self.drop(self.ln_f(x))


class Seq2Seq(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.cfg = cfg
        self.shared = nn.Embedding(cfg.vocab_size, cfg.n_embd)
        self.encoder = Stack(cfg, decoder=False)
        self.decoder = Stack(cfg, decoder=True)
        self.apply(self._init_weights)

    def _init_weights(self, m):
        if isinstance(m, nn.Linear):
            nn.init.normal_(m.weight, std=m.in_features ** -0.5)
            if m.bias is not None:
                nn.init.zeros_(m.bias)
        elif isinstance(m, nn.Embedding):
            nn.init.normal_(m.weight, std=1.0 if m is self.shared else 0.1)

    def encode(self, source):
        mask = (source != PAD)[:, None, None, :]
        return self.encoder(self.shared(source), mask), mask

    def decode(self, target, memory, memory_mask, caches=None):
        h = self.decoder(self.shared(target), None, memory, memory_mask, caches)
        return (h * self.cfg.n_embd ** -0.5) @ self.shared.weight.t()

    def forward(self, source, target):
        memory, mask = self.encode(source)
        return self.decode(target, memory, mask)

    def new_caches(self):
        return [({}, {}) for _ in range(self.cfg.n_layer)]

    def configure_optimizer(self):
        decay = [p for p in self.parameters() if p.dim() >= 2]
        rest = [p for p in self.parameters() if p.dim() < 2]
        groups = [
            {"params": decay, "weight_decay": self.cfg.weight_decay},
            {"params": rest, "weight_decay": 0.0},
        ]
        return torch.optim.AdamW(groups, lr=self.cfg.learning_rate, betas=(0.9, 0.98))


def pad_to(rows, length):
    return torch.tensor([r + [PAD] * (length - len(r)) for r in rows], dtype=torch.long)


def collate(pairs):
    sources = [list(s) + [EOS] for s, _ in pairs]
    inputs = [[BOS] + list(t) for _, t in pairs]
    labels = [list(t) + [EOS] for _, t in pairs]
    s_len = max(len(s) for s in sources)
    t_len = max(len(t) for t in labels)
    return pad_to(sources, s_len), pad_to(inputs, t_len), pad_to(labels, t_len)


def loss_fn(scores, labels):
    return F.cross_entropy(scores.reshape(-1, scores.size(-1)), labels.reshape(-1), ignore_index=PAD)


def get_lr(it, cfg):
    if it < cfg.warmup_iters:
        return cfg.learning_rate * (it + 1) / cfg.warmup_iters
    if it > cfg.lr_decay_iters:
        return cfg.min_lr
    ratio = (it - cfg.warmup_iters) / (cfg.lr_decay_iters - cfg.warmup_iters)
    return cfg.min_lr + 0.5 * (1 + math.cos(math.pi * ratio)) * (cfg.learning_rate - cfg.min_lr)


class Trainer:
    def __init__(self, model):
        self.model, self.cfg = model, model.cfg
        self.optimizer = model.configure_optimizer()
        self.iter = 0

    def step(self, source, target_in, target_out):
        self.model.train()
        for group in self.optimizer.param_groups:
            group["lr"] = get_lr(self.iter, self.cfg)
        loss = loss_fn(self.model(source, target_in), target_out)
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), self.cfg.grad_clip)
        self.optimizer.step()
        self.iter += 1
        return loss.item()


def encoder_batch(sources):
    rows = [list(s) + [EOS] for s in sources]
    return pad_to(rows, max(len(r) for r in rows))


@torch.no_grad()
def greedy(model, sources, max_new=30):
    model.eval()
    memory, mask = model.encode(encoder_batch(sources))
    caches = model.new_caches()
    B = len(sources)
    token = torch.full((B, 1), BOS, dtype=torch.long)
    done = torch.zeros(B, dtype=torch.bool)
    out = [[] for _ in range(B)]
    for _ in range(max_new):
        logits = model.decode(token, memory, mask, caches)[:, -1]
        logits[:, PAD] = -float("inf")
        token = logits.argmax(-1, keepdim=True)
        done |= token[:, 0] == EOS
        for b in range(B):
            if not done[b]:
                out[b].append(token[b].item())
        if done.all():
            break
    return out


@torch.no_grad()
def beam_search(model, sources, width=4, max_new=30, alpha=0.6):
    model.eval()
    return [_beam_one(model, s, width, max_new, alpha) for s in sources]


def _beam_one(model, source, width, max_new, alpha):
    memory, mask = model.encode(encoder_batch([source]))
    seqs = torch.full((1, 1), BOS, dtype=torch.long)
    scores = torch.zeros(1)
    finished = []
    for _ in range(max_new):
        n = seqs.size(0)
        logits = model.decode(seqs, memory.expand(n, -1, -1), mask.expand(n, -1, -1, -1))[:, -1]
        logits[:, PAD] = -float("inf")
        logp = F.log_softmax(logits, dim=-1)
        total = scores[:, None] + logp
        V = total.size(1)
        top, index = total.view(-1).topk(2 * width)
        parent, token = index // V, index % V
        keep = []
        for j in range(2 * width):
            if token[j] == EOS:
                if j < width:
                    length = seqs.size(1)  # with the end
                    finished.append((top[j].item() / length ** alpha, seqs[parent[j], 1:].tolist()))
            elif len(keep) < width:
                keep.append(j)
        keep = torch.tensor(keep)
        seqs = torch.cat([seqs[parent[keep]], token[keep][:, None]], dim=1)
        scores = top[keep]
        if finished:  # nothing that is still alive can become better than the best that has ended
            bound = scores.max().item() / max_new ** alpha
            if max(f[0] for f in finished) >= bound:
                break
    if not finished:
        return seqs[0, 1:].tolist()
    return max(finished, key=lambda f: f[0])[1]


def make():
    torch.manual_seed(1337)
    cfg = Config()
    model = Seq2Seq(cfg)
    trainer = Trainer(model)
    return Subject(
        model,
        source_vocab=cfg.vocab_size, target_vocab=cfg.vocab_size, pad=PAD, bos=BOS, eos=EOS,
        collate=collate,
        loss=loss_fn,
        training_step=trainer.step,
        translate=lambda sources: greedy(model, sources),
        beam=lambda sources: beam_search(model, sources),
    )
