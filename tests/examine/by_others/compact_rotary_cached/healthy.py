from transformer_course.examine import Subject

import torch
from torch import nn
from torch.nn import functional as F
from torch.nn.utils.rnn import pad_sequence

PAD, BOS, EOS = 0, 1, 2
VOCAB, WIDTH, HEADS, LAYERS, DROP = 40, 32, 4, 2, 0.1
MAX_NEW, PEAK, WARMUP = 24, 5e-3, 20


def rope(x, start=0, base=10000.0):
    """Rotate x (batch, heads, time, dim) by its positions start, start+1, ..."""
    half = x.size(-1) // 2
    freq = base ** (-torch.arange(half, device=x.device) / half)
    angle = torch.arange(start, start + x.size(-2), device=x.device)[:, None] * freq
    cos, sin = angle.cos(), angle.sin()
    a, b = x[..., :half], x[..., half:]
    return torch.cat([a * cos - b * sin, a * sin + b * cos], -1)


class Attention(nn.Module):
    def __init__(self, cross=False):
        super().__init__()
        if cross:
            self.q, self.kv = nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, 2 * WIDTH)
        else:
            self.qkv = nn.Linear(WIDTH, 3 * WIDTH)
        self.out = nn.Linear(WIDTH, WIDTH)

    @staticmethod
    def split(x):
        return x.unflatten(-1, (HEADS, -1)).transpose(1, 2)

    def mix(self, q, k, v, mask=None, causal=False):
        if causal and mask is not None:  # sdpa takes one or the other
            mask = mask & torch.ones(q.size(-2), k.size(-2), dtype=torch.bool, device=q.device).tril()
            causal = False
        y = F.scaled_dot_product_attention(
            q, k, v, attn_mask=mask, is_causal=causal, dropout_p=DROP if self.training else 0.0)
        return self.out(y.transpose(1, 2).flatten(2))

    def forward(self, x, mask=None, causal=False, cache=None):
        q, k, v = map(self.split, self.qkv(x).chunk(3, -1))
        start = cache["k"].size(-2) if cache else 0
        q, k = rope(q, start), rope(k, start)
        if cache is not None:
            if cache:
                k, v = torch.cat([cache["k"], k], -2), torch.cat([cache["v"], v], -2)
            cache["k"], cache["v"] = k, v
            causal = False  # one new query, which may see all that is cached
        return self.mix(q, k, v, mask, causal)

    def attend(self, x, memory, mask, cache=None):
        if cache:
            k, v = cache["k"], cache["v"]
        else:
            k, v = map(self.split, self.kv(memory).chunk(2, -1))
            if cache is not None:
                cache["k"], cache["v"] = k, v
        return self.mix(self.split(self.q(x)), k, v, mask)


def feed_forward():
    return nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH))


class EncoderBlock(nn.Module):
    def __init__(self):
        super().__init__()
        self.n1, self.n2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.att, self.ff, self.drop = Attention(), feed_forward(), nn.Dropout(DROP)

    def forward(self, x, mask):
        x = x + self.drop(self.att(self.n1(x), mask))
        return x + self.drop(self.ff(self.n2(x)))


class DecoderBlock(nn.Module):
    def __init__(self):
        super().__init__()
        self.n1, self.n2, self.n3 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.att, self.cross, self.ff = Attention(), Attention(cross=True), feed_forward()
        self.drop = nn.Dropout(DROP)

    def forward(self, x, memory, memory_mask, mask=None, cache=(None, None)):
        x = x + self.drop(self.att(self.n1(x), mask, causal=True, cache=cache[0]))
        x = x + self.drop(self.cross.attend(self.n2(x), memory, memory_mask, cache=cache[1]))
        return x + self.drop(self.ff(self.n3(x)))


class Seq2Seq(nn.Module):
    def __init__(self):
        super().__init__()
        self.src, self.tgt = nn.Embedding(VOCAB, WIDTH), nn.Embedding(VOCAB, WIDTH)
        self.enc = nn.ModuleList(EncoderBlock() for _ in range(LAYERS))
        self.dec = nn.ModuleList(DecoderBlock() for _ in range(LAYERS))
        self.enc_norm, self.dec_norm = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.head = nn.Linear(WIDTH, VOCAB, bias=False)
        self.head.weight = self.tgt.weight
        self.drop = nn.Dropout(DROP)
        self.init_weights()

    def init_weights(self):
        for name, p in self.named_parameters():
            if p.dim() > 1:
                if name.startswith(("src", "tgt")):
                    nn.init.normal_(p, std=WIDTH ** -0.5)
                else:
                    nn.init.xavier_uniform_(p)
            elif name.endswith("bias"):
                nn.init.zeros_(p)

    def encode(self, source):
        mask = (source != PAD)[:, None, None, :]  # True: may be seen
        x = self.drop(self.src(source) * WIDTH ** 0.5)
        for block in self.enc:
            x = block(x, mask)
        return self.enc_norm(x), mask

    def decode(self, target, memory, memory_mask, caches=None):
        mask = None
        if caches is None and (target == PAD).any():
            mask = (target != PAD)[:, None, None, :]
        x = self.drop(self.tgt(target) * WIDTH ** 0.5)
        for i, block in enumerate(self.dec):
            x = block(x, memory, memory_mask, mask, caches[i] if caches else (None, None))
        return self.head(self.dec_norm(x))

    def forward(self, source, target):
        return self.decode(target, *self.encode(source))


def batch(rows):
    return pad_sequence([torch.tensor(r, dtype=torch.long) for r in rows], batch_first=True, padding_value=PAD)


def collate(pairs):
    source = batch([list(s) + [EOS] for s, _ in pairs])
    target_in = batch([[BOS] + list(t) for _, t in pairs])
    target_out = batch([list(t) + [EOS] for _, t in pairs])
    return source, target_in, target_out


def loss_fn(logits, target_out):
    return F.cross_entropy(logits.transpose(1, 2), target_out, ignore_index=PAD)


@torch.no_grad()
def greedy(net, sources):
    net.eval()
    source = batch([list(s) + [EOS] for s in sources])
    memory, mask = net.encode(source)
    caches = [({}, {}) for _ in net.dec]
    token = torch.full((len(sources), 1), BOS)
    done = torch.zeros(len(sources), dtype=torch.bool)
    said = []
    for _ in range(MAX_NEW):
        logits = net.decode(token, memory, mask, caches)[:, -1]
        token = logits.argmax(-1).masked_fill(done, PAD)
        said.append(token)
        done |= token == EOS
        if done.all():
            break
        token = token[:, None]
    rows = torch.stack(said, 1).tolist()
    return [r[:r.index(EOS)] if EOS in r else r for r in rows]


def make():
    torch.manual_seed(7)
    net = Seq2Seq()
    opt = torch.optim.AdamW(net.parameters(), lr=PEAK, betas=(0.9, 0.98), weight_decay=0.01)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        opt, lambda n: min((n + 1) / WARMUP, (WARMUP / (n + 1)) ** 0.5))

    def training_step(source, target_in, target_out):
        net.train()
        opt.zero_grad(set_to_none=True)
        loss = loss_fn(net(source, target_in), target_out)
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        opt.step()
        schedule.step()
        return loss.item()

    return Subject(
        net, source_vocab=VOCAB, target_vocab=VOCAB, pad=PAD, bos=BOS, eos=EOS,
        collate=collate, loss=loss_fn, training_step=training_step,
        translate=lambda sources: greedy(net, sources))
