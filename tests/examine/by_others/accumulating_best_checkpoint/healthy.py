"""A small English -> German translator, out of torch's own Transformer layers."""

import copy
import math
import random
from collections import Counter

import torch
import torch.nn.functional as F
from torch import nn

from transformer_course.examine import Subject

PAD, BOS, EOS, UNK = 0, 1, 2, 3
SPECIALS = ["<pad>", "<bos>", "<eos>", "<unk>"]
MAX_WORDS = 8
MAX_LEN = 40

NOUNS = {"dog": "hund", "cat": "kater", "man": "mann", "bear": "bär", "bird": "vogel", "king": "könig"}
ADJECTIVES = {"small ": "kleine ", "old ": "alte ", "red ": "rote ", "quick ": "schnelle ", "": ""}
VERBS = {"sees": "sieht", "waits for": "erwartet", "looks at": "betrachtet", "finds": "findet", "calls": "ruft"}
ADVERBS = {"today": "heute", "often": "oft", "here": "hier", "now": "jetzt"}


def read_corpus(n=900, seed=1):
    """Two lists of lines, as they would come out of train.en and train.de."""
    rng = random.Random(seed)
    english, german = [], []
    for _ in range(n):
        who, what = rng.choice(list(NOUNS)), rng.choice(list(NOUNS))
        one, two = rng.choice(list(ADJECTIVES)), rng.choice(list(ADJECTIVES))
        verb, adverb = rng.choice(list(VERBS)), rng.choice(list(ADVERBS))
        er, ihn = f"der {ADJECTIVES[one]}{NOUNS[who]}", f"den {ADJECTIVES[two]}{NOUNS[what]}"
        if rng.random() < 0.5:
            english.append(f"the {one}{who} {verb} the {two}{what} {adverb}")
            german.append(f"{ADVERBS[adverb]} {VERBS[verb]} {er} {ihn}")
        else:
            english.append(f"the {one}{who} {verb} the {two}{what}")
            german.append(f"{er} {VERBS[verb]} {ihn}")
    return english, german


def load_pairs():
    english, german = read_corpus()
    pairs = [(e.split(), g.split()) for e, g in zip(english, german)]
    # very long sentences cost memory, leave them out
    pairs = [(e, g) for e, g in pairs if len(e) <= MAX_WORDS and len(g) <= MAX_WORDS]
    unique = list({" ".join(e): (e, g) for e, g in pairs}.values())
    return unique[:-60], unique[-60:]


def build_vocab(pairs, min_count=2):
    """One vocabulary for both languages, since the embeddings are shared."""
    counts = Counter(word for pair in pairs for sentence in pair for word in sentence)
    words = SPECIALS + sorted(word for word, count in counts.items() if count >= min_count)
    return {word: i for i, word in enumerate(words)}


def encode(vocab, sentence):
    return [vocab.get(word, UNK) for word in sentence]


def pad_rows(rows):
    width = max(len(row) for row in rows)
    return torch.tensor([row + [PAD] * (width - len(row)) for row in rows])


def collate(pairs):
    sources = [list(source) for source, _ in pairs]
    targets = [list(target) for _, target in pairs]
    source = pad_rows([s + [EOS] for s in sources])
    target_in = pad_rows([[BOS] + t for t in targets])
    target_out = pad_rows([t + [EOS] for t in targets])
    return source, target_in, target_out


class PositionalEncoding(nn.Module):
    def __init__(self, d_model, dropout, max_len=512):
        super().__init__()
        self.dropout = nn.Dropout(dropout)
        position = torch.arange(max_len).unsqueeze(1)
        div_term = torch.exp(torch.arange(0, d_model, 2) * (-math.log(10000.0) / d_model))
        pe = torch.zeros(1, max_len, d_model)
        pe[0, :, 0::2] = torch.sin(position * div_term)
        pe[0, :, 1::2] = torch.cos(position * div_term)
        self.register_buffer("pe", pe)

    def forward(self, x):
        x = x + self.pe[:, : x.size(1)]
        return self.dropout(x)


class Seq2Seq(nn.Module):
    def __init__(self, vocab_size, d_model=32, nhead=4, num_layers=2, d_ff=64, dropout=0.1):
        super().__init__()
        self.d_model = d_model
        kwargs = dict(dim_feedforward=d_ff, dropout=dropout, batch_first=True, norm_first=True)
        self.embedding = nn.Embedding(vocab_size, d_model, padding_idx=PAD)
        self.positions = PositionalEncoding(d_model, dropout)
        self.encoder = nn.ModuleList(nn.TransformerEncoderLayer(d_model, nhead, **kwargs) for _ in range(num_layers))
        self.decoder = nn.ModuleList(nn.TransformerDecoderLayer(d_model, nhead, **kwargs) for _ in range(num_layers))
        self.encoder_norm = nn.LayerNorm(d_model)
        self.decoder_norm = nn.LayerNorm(d_model)
        self.generator = nn.Linear(d_model, vocab_size)
        for parameter in self.parameters():
            if parameter.dim() > 1:
                nn.init.xavier_uniform_(parameter)
        nn.init.normal_(self.embedding.weight, std=d_model**-0.5)
        self.generator.weight = self.embedding.weight  # source, target and output share one matrix

    def embed(self, ids):
        return self.positions(self.embedding(ids) * math.sqrt(self.d_model))

    @staticmethod
    def causal_mask(size):
        return torch.triu(torch.ones(size, size), diagonal=1).bool()

    def encode(self, source):
        padding = source == PAD
        x = self.embed(source)
        for layer in self.encoder:
            x = layer(x, src_key_padding_mask=padding)
        return self.encoder_norm(x), padding

    def decode(self, target, memory, memory_padding):
        y = self.embed(target)
        for layer in self.decoder:
            y = layer(
                y,
                memory,
                tgt_mask=self.causal_mask(target.size(1)),
                tgt_key_padding_mask=target == PAD,
                memory_key_padding_mask=memory_padding,
            )
        return self.generator(self.decoder_norm(y))

    def forward(self, source, target):
        memory, padding = self.encode(source)
        return self.decode(target, memory, padding)


def criterion(scores, target_out):
    vocab_size = scores.size(-1)
    labels = target_out.reshape(-1)
    return F.cross_entropy(scores.reshape(-1, vocab_size), labels, ignore_index=PAD, label_smoothing=0.05)


class Trainer:
    def __init__(self, vocab_size, lr=4e-3, warmup=30):
        self.vocab_size = vocab_size
        self.network = Seq2Seq(vocab_size)
        self.optimizer = torch.optim.AdamW(self.network.parameters(), lr=lr, betas=(0.9, 0.98))

        def schedule(step):
            factor = min(1.0, (step + 1) / warmup)
            return factor

        self.scheduler = torch.optim.lr_scheduler.LambdaLR(self.optimizer, schedule)
        self.best_loss, self.best_state = float("inf"), None

    def training_step(self, source, target_in, target_out):
        """One update, from two half-batches that are weighted by their words."""
        self.network.train()
        words = (target_out != PAD).sum()
        total = 0.0
        self.optimizer.zero_grad()
        for s, t_in, t_out in zip(source.chunk(2), target_in.chunk(2), target_out.chunk(2)):
            share = (t_out != PAD).sum() / words
            loss = criterion(self.network(s, t_in), t_out) * share
            loss.backward()
            total += loss.item()
        nn.utils.clip_grad_norm_(self.network.parameters(), 1.0)
        self.optimizer.step()
        self.scheduler.step()
        return total

    @torch.no_grad()
    def validate(self, pairs):
        self.network.eval()
        source, target_in, target_out = collate(pairs)
        return criterion(self.network(source, target_in), target_out).item()

    def fit(self, train, valid, steps=160, batch_size=32, every=20):
        rng = random.Random(0)
        for step in range(1, steps + 1):
            self.training_step(*collate(rng.sample(train, batch_size)))
            if step % every == 0:
                loss = self.validate(valid)
                if loss < self.best_loss:
                    self.best_loss = loss
                    self.best_state = copy.deepcopy(self.network.state_dict())

    def load_best(self):
        self.network.load_state_dict(self.best_state)

    @torch.no_grad()
    def translate(self, sources):
        self.network.eval()
        memory, padding = self.network.encode(pad_rows([list(s) + [EOS] for s in sources]))
        target = torch.full((len(sources), 1), BOS)
        finished = torch.zeros(len(sources), dtype=torch.bool)
        for _ in range(MAX_LEN):
            scores = self.network.decode(target, memory, padding)
            words = scores[:, -1].argmax(-1).masked_fill(finished, PAD)
            target = torch.cat([target, words.unsqueeze(1)], dim=1)
            finished = finished | (words == EOS)
            if finished.all():
                break
        return [cut(row) for row in target[:, 1:].tolist()]

    @torch.no_grad()
    def beam_search(self, sources, size=3, alpha=0.6):
        self.network.eval()
        return [self.beam_one(list(source), size, alpha) for source in sources]

    def beam_one(self, source, size, alpha):
        memory, padding = self.network.encode(torch.tensor([source + [EOS]]))
        beams, done = [([BOS], 0.0)], []
        for _ in range(MAX_LEN):
            target = torch.tensor([ids for ids, _ in beams])
            n = len(beams)
            scores = self.network.decode(target, memory.expand(n, -1, -1), padding.expand(n, -1))
            best, words = scores[:, -1].log_softmax(-1).topk(size)
            grown = [
                (ids + [word], total + gain)
                for (ids, total), row, gains in zip(beams, words.tolist(), best.tolist())
                for word, gain in zip(row, gains)
            ]
            grown.sort(key=lambda beam: beam[1], reverse=True)
            done += [beam for beam in grown[:size] if beam[0][-1] == EOS]
            beams = [beam for beam in grown if beam[0][-1] != EOS][:size]
            if len(done) >= size:
                break
        ids, _ = max(done or beams, key=lambda beam: beam[1] / (len(beam[0]) - 1) ** alpha)
        return cut(ids[1:])


def cut(ids):
    """What stands before the end."""
    return ids[: ids.index(EOS)] if EOS in ids else ids


def make():
    torch.manual_seed(0)
    train_text, test_text = load_pairs()
    vocab = build_vocab(train_text)
    train = [(encode(vocab, e), encode(vocab, g)) for e, g in train_text]
    test = [(encode(vocab, e), encode(vocab, g)) for e, g in test_text]
    trainer = Trainer(len(vocab))
    trainer.fit(train[:-60], train[-60:])
    trainer.load_best()
    return Subject(
        trainer.network,
        source_vocab=len(vocab), target_vocab=len(vocab), pad=PAD, bos=BOS, eos=EOS, unknown=UNK,
        scores=lambda source, target: trainer.network(source, target),
        collate=collate, loss=criterion, training_step=trainer.training_step,
        translate=trainer.translate, beam=trainer.beam_search,
        train=train, test=test,
    )


if __name__ == "__main__":
    subject = make()
    sources = [source for source, _ in subject.test]
    for name in ("translate", "beam"):
        outputs = getattr(subject, name)(sources)
        right = sum(o == r for o, (_, r) in zip(outputs, subject.test))
        print(f"{name}: {right} of {len(sources)} test sentences exactly right")
