from transformer_course.examine import Subject

import math

import torch
from torch import nn
import torch.nn.functional as F

# one vocabulary for both languages
UNK, PAD, BOS, EOS = 0, 1, 2, 3
VOCAB = 40

WIDTH = 32
HEADS = 4
LAYERS = 2
HIDDEN = 64
DROPOUT = 0.1
MAX_LENGTH = 128

PEAK = 3e-3
WARMUP = 50


class TokenAndPosition(nn.Module):
    """Words plus learned positions; one of these for each language."""

    def __init__(self, vocab, width, max_length, dropout):
        super().__init__()
        self.width = width
        self.words = nn.Embedding(vocab, width, padding_idx=PAD)
        self.places = nn.Embedding(max_length, width)
        self.norm = nn.LayerNorm(width)
        self.dropout = nn.Dropout(dropout)

    def forward(self, ids):
        where = torch.arange(ids.size(1), device=ids.device).unsqueeze(0)
        x = self.words(ids) * math.sqrt(self.width) + self.places(where)
        return self.dropout(self.norm(x))


class Translator(nn.Module):
    def __init__(self, vocab=VOCAB, width=WIDTH, heads=HEADS, layers=LAYERS,
                 hidden=HIDDEN, dropout=DROPOUT, max_length=MAX_LENGTH):
        super().__init__()
        self.embed_source = TokenAndPosition(vocab, width, max_length, dropout)
        self.embed_target = TokenAndPosition(vocab, width, max_length, dropout)
        self.encoder = nn.TransformerEncoder(
            nn.TransformerEncoderLayer(width, heads, hidden, dropout, batch_first=True),
            num_layers=layers,
            enable_nested_tensor=False,
        )
        self.decoder = nn.TransformerDecoder(
            nn.TransformerDecoderLayer(width, heads, hidden, dropout, batch_first=True),
            num_layers=layers,
        )
        self.output = nn.Linear(width, vocab)
        self.reset()

    def reset(self):
        for name, p in self.named_parameters():
            if p.dim() > 1:
                nn.init.xavier_uniform_(p)
            elif name.endswith("bias"):
                nn.init.zeros_(p)
        with torch.no_grad():
            for table in (self.embed_source, self.embed_target):
                nn.init.normal_(table.words.weight, std=WIDTH ** -0.5)
                nn.init.normal_(table.places.weight, std=0.5)
                table.words.weight[PAD].zero_()

    @staticmethod
    def padding(ids):
        return ids == PAD

    @staticmethod
    def causal(length, device):
        # True: may not be looked at
        return torch.triu(torch.ones(length, length, dtype=torch.bool, device=device), diagonal=1)

    def encode(self, source, source_padding=None):
        x = self.embed_source(source)
        return self.encoder(x, src_key_padding_mask=source_padding)

    def decode(self, target, memory, memory_padding=None):
        x = self.embed_target(target)
        x = self.decoder(
            x,
            memory,
            tgt_mask=self.causal(target.size(1), target.device),
            tgt_key_padding_mask=self.padding(target),
            memory_key_padding_mask=memory_padding,
        )
        return self.output(x)

    def forward(self, source, target):
        source_padding = self.padding(source)
        memory = self.encode(source, source_padding)
        return self.decode(target, memory, source_padding)


def pad_to_longest(rows):
    longest = max(len(row) for row in rows)
    return torch.tensor([row + [PAD] * (longest - len(row)) for row in rows], dtype=torch.long)


def collate(pairs):
    source = pad_to_longest([list(s) + [EOS] for s, _ in pairs])
    target = pad_to_longest([[BOS] + list(t) + [EOS] for _, t in pairs])
    target_out = target[:, 1:].clone()
    target_in = target[:, :-1].clone()
    target_in[target_in == EOS] = PAD  # the end is said, never fed
    return source, target_in, target_out


def compute_loss(scores, target_out):
    return F.cross_entropy(
        scores.reshape(-1, scores.size(-1)),
        target_out.reshape(-1),
        ignore_index=PAD,
        label_smoothing=0.1,
    )


def learning_rate(step):
    """Factor on PEAK: up in a line for WARMUP steps, then down with the root."""
    step = step + 1
    return WARMUP ** 0.5 * min(step ** -0.5, step * WARMUP ** -1.5)


class Trainer:
    def __init__(self, network):
        self.network = network
        self.optimizer = torch.optim.Adam(network.parameters(), lr=PEAK, betas=(0.9, 0.98), eps=1e-9)
        self.schedule = torch.optim.lr_scheduler.LambdaLR(self.optimizer, learning_rate)

    def step(self, source, target_in, target_out):
        self.network.train()
        self.optimizer.zero_grad()
        loss = compute_loss(self.network(source, target_in), target_out)
        loss.backward()
        nn.utils.clip_grad_norm_(self.network.parameters(), 1.0)
        self.optimizer.step()
        self.schedule.step()
        return loss.item()


@torch.no_grad()
def greedy(network, sources):
    network.eval()
    device = next(network.parameters()).device
    source = pad_to_longest([list(s) + [EOS] for s in sources]).to(device)
    source_padding = network.padding(source)
    memory = network.encode(source, source_padding)

    limit = min(2 * source.size(1) + 10, MAX_LENGTH)
    said = torch.full((len(sources), 1), BOS, dtype=torch.long, device=device)
    finished = torch.zeros(len(sources), dtype=torch.bool, device=device)
    for _ in range(limit - 1):
        scores = network.decode(said, memory, source_padding)[:, -1]
        word = scores.argmax(dim=-1)
        word = word.masked_fill(finished, PAD)
        said = torch.cat([said, word.unsqueeze(1)], dim=1)
        finished = finished | (word == EOS)
        if finished.all():
            break

    translations = []
    for row in said[:, 1:].tolist():
        if EOS in row:
            row = row[:row.index(EOS)]
        translations.append(row)
    return translations


def make():
    torch.manual_seed(7)
    network = Translator()
    trainer = Trainer(network)
    return Subject(
        network,
        source_vocab=VOCAB, target_vocab=VOCAB, pad=PAD, bos=BOS, eos=EOS,
        collate=collate,
        loss=compute_loss,
        training_step=trainer.step,
        translate=lambda sources: greedy(network, sources),
        unknown=UNK,
    )
