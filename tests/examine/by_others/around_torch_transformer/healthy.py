"""A small translation model around torch.nn.Transformer."""
from transformer_course.examine import Subject
import math

import torch
from torch import nn
from torch.nn.utils.rnn import pad_sequence

PAD, BOS, EOS = 0, 1, 2
SRC_VOCAB, TGT_VOCAB = 40, 42
D_MODEL, N_HEAD, N_LAYERS, D_FF, DROPOUT = 32, 4, 2, 64, 0.1
PEAK_LR, WARMUP, CLIP = 3e-3, 40, 1.0
MAX_LEN = 128


class PositionalEncoding(nn.Module):
    def __init__(self, d_model, dropout, maxlen=MAX_LEN):
        super().__init__()
        position = torch.arange(maxlen).unsqueeze(1).float()
        den = torch.exp(torch.arange(0, d_model, 2).float() * (-math.log(10000.0) / d_model))
        table = torch.zeros(maxlen, d_model)
        table[:, 0::2] = torch.sin(position * den)
        table[:, 1::2] = torch.cos(position * den)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("table", table.unsqueeze(0))  # (1, maxlen, d_model)

    def forward(self, x):  # (batch, length, d_model)
        return self.dropout(x + self.table[:, : x.size(1)])


class TokenEmbedding(nn.Module):
    def __init__(self, vocab, d_model):
        super().__init__()
        self.embedding = nn.Embedding(vocab, d_model, padding_idx=PAD)
        self.scale = math.sqrt(d_model)
        nn.init.normal_(self.embedding.weight, std=d_model ** -0.5)
        with torch.no_grad():
            self.embedding.weight[PAD].zero_()

    def forward(self, ids):
        return self.embedding(ids) * self.scale


class Seq2SeqTransformer(nn.Module):
    def __init__(self):
        super().__init__()
        self.transformer = nn.Transformer(
            d_model=D_MODEL,
            nhead=N_HEAD,
            num_encoder_layers=N_LAYERS,
            num_decoder_layers=N_LAYERS,
            dim_feedforward=D_FF,
            dropout=DROPOUT,
            batch_first=True,
        )
        self.src_tok_emb = TokenEmbedding(SRC_VOCAB, D_MODEL)
        self.tgt_tok_emb = TokenEmbedding(TGT_VOCAB, D_MODEL)
        self.positional_encoding = PositionalEncoding(D_MODEL, DROPOUT)
        self.generator = nn.Linear(D_MODEL, TGT_VOCAB)
        for p in self.transformer.parameters():
            if p.dim() > 1:
                nn.init.xavier_uniform_(p)

    @staticmethod
    def causal_mask(size, device):
        """True where attention is forbidden."""
        return torch.triu(torch.ones(size, size, dtype=torch.bool, device=device), diagonal=1)

    @staticmethod
    def padding_mask(ids):
        """True where attention is forbidden."""
        return ids == PAD

    def encode(self, src):
        """-> memory (batch, S, d_model) and its padding mask (batch, S)"""
        src_padding = self.padding_mask(src)
        x = self.positional_encoding(self.src_tok_emb(src))
        memory = self.transformer.encoder(x, src_key_padding_mask=src_padding)
        return memory, src_padding

    def decode(self, tgt, memory, memory_padding):
        y = self.positional_encoding(self.tgt_tok_emb(tgt))
        y = self.transformer.decoder(
            y,
            memory,
            tgt_mask=self.causal_mask(tgt.size(1), tgt.device),
            tgt_key_padding_mask=self.padding_mask(tgt),
            memory_key_padding_mask=memory_padding,
        )
        return self.generator(y)

    def forward(self, src, tgt):
        memory, memory_padding = self.encode(src)
        return self.decode(tgt, memory, memory_padding)


def source_tensor(sentences):
    return pad_sequence(
        [torch.tensor(list(s) + [EOS]) for s in sentences], batch_first=True, padding_value=PAD
    )


def collate(pairs):
    src = source_tensor([s for s, _ in pairs])
    tgt = pad_sequence(
        [torch.tensor([BOS] + list(t) + [EOS]) for _, t in pairs],
        batch_first=True,
        padding_value=PAD,
    )
    tgt_in = tgt[:, :-1].clone()
    tgt_in[tgt_in == EOS] = PAD  # eos is never an input
    tgt_out = tgt[:, 1:].contiguous()
    return src, tgt_in, tgt_out


def loss_fn(logits, tgt_out):
    return nn.functional.cross_entropy(
        logits.reshape(-1, logits.size(-1)), tgt_out.reshape(-1), ignore_index=PAD
    )


def lr_factor(step):
    step = step + 1
    return min(step / WARMUP, (WARMUP / step) ** 0.5)


class Trainer:
    def __init__(self, model):
        self.model = model
        self.optimizer = torch.optim.Adam(
            model.parameters(), lr=PEAK_LR, betas=(0.9, 0.98), eps=1e-9
        )
        self.scheduler = torch.optim.lr_scheduler.LambdaLR(self.optimizer, lr_factor)

    def step(self, src, tgt_in, tgt_out):
        self.model.train()
        logits = self.model(src, tgt_in)
        self.optimizer.zero_grad()
        loss = loss_fn(logits, tgt_out)
        loss.backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), CLIP)
        self.optimizer.step()
        self.scheduler.step()
        return loss.item()


@torch.no_grad()
def translate(model, sentences, max_extra=20):
    """Greedy, all sentences as one batch."""
    model.eval()
    src = source_tensor(sentences)
    memory, memory_padding = model.encode(src)
    ys = torch.full((src.size(0), 1), BOS, dtype=torch.long)
    finished = torch.zeros(src.size(0), dtype=torch.bool)
    for _ in range(src.size(1) + max_extra):
        logits = model.decode(ys, memory, memory_padding)
        next_word = logits[:, -1].argmax(dim=-1)
        next_word = next_word.masked_fill(finished, PAD)
        ys = torch.cat([ys, next_word.unsqueeze(1)], dim=1)
        finished = finished | (next_word == EOS)
        if finished.all():
            break
    result = []
    for row in ys[:, 1:].tolist():
        result.append(row[: row.index(EOS)] if EOS in row else row)
    return result


@torch.no_grad()
def beam_one(model, sentence, width=4, max_extra=20, alpha=0.6):
    model.eval()
    src = source_tensor([sentence])
    memory, memory_padding = model.encode(src)
    beams = [([BOS], 0.0)]
    done = []

    def normed(ids, score):
        return score / ((5 + len(ids) - 1) / 6) ** alpha

    for _ in range(src.size(1) + max_extra):
        ys = torch.tensor([ids for ids, _ in beams])
        n = len(beams)
        logits = model.decode(
            ys, memory.expand(n, -1, -1), memory_padding.expand(n, -1)
        )[:, -1]
        logp = torch.log_softmax(logits, dim=-1)
        total = logp + torch.tensor([score for _, score in beams]).unsqueeze(1)
        best, index = total.flatten().topk(2 * width)
        candidates = []
        for score, i in zip(best.tolist(), index.tolist()):
            parent, token = divmod(i, logp.size(-1))
            ids = beams[parent][0] + [token]
            if token == EOS:
                done.append((normed(ids, score), ids))
            else:
                candidates.append((ids, score))
        beams = candidates[:width]
        if len(done) >= width:
            break
    if not done:
        done = [(normed(ids, score), ids) for ids, score in beams]
    ids = max(done, key=lambda d: d[0])[1][1:]
    return ids[:-1] if ids[-1] == EOS else ids


def beam(model, sentences):
    return [beam_one(model, s) for s in sentences]


def make():
    torch.manual_seed(0)
    model = Seq2SeqTransformer()
    trainer = Trainer(model)
    return Subject(
        model,
        source_vocab=SRC_VOCAB,
        target_vocab=TGT_VOCAB,
        pad=PAD,
        bos=BOS,
        eos=EOS,
        scores=model,
        collate=collate,
        loss=loss_fn,
        training_step=trainer.step,
        translate=lambda sentences: translate(model, sentences),
        beam=lambda sentences: beam(model, sentences),
    )
