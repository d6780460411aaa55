"""A small BART that translates Tamra into Oskel, two invented languages.

Tamra puts the verb in the middle and marks little: "Ka bel toru miv su lasha."
Oskel puts it at the end and adjectives behind their nouns, and both agree.
"""

import math
import random
import re
import sys
from collections import Counter

import torch
import torch.nn.functional as F
from torch import nn
from transformers import BartConfig, BartForConditionalGeneration, GenerationConfig
from transformers.modeling_outputs import BaseModelOutput

PAD, BOS, EOS, UNK = 0, 1, 2, 3
SPECIAL = ["<pad>", "<s>", "</s>", "<unk>"]
IGNORED = -100  # labels with this value do not count in the loss

WIDTH, LAYERS, HEADS = 32, 2, 4
LONGEST = 2048  # positions
LONGEST_TRANSLATION = 24
BATCH, EPOCHS = 32, 12
RATE, WARMUP = 4e-3, 80
SEED = 20

# Tamra noun -> Oskel noun, gender in Oskel
NOUNS = {
    **{"toru": ("gelm", "a"), "lasha": ("ovri", "o"), "pik": ("sten", "a")},
    **{"mondo": ("wulp", "o"), "fira": ("drasi", "a"), "kesh": ("hult", "o")},
    **{"nalu": ("pirk", "o"), "dabo": ("yonne", "a")},
}
ADJECTIVES = {"bel": "sark", "grum": "tivl", "osh": "menn", "lute": "kard"}
# two Tamra verbs, miv and savo, are one in Oskel, as are ren and hiko
VERBS = {"miv": "zal", "savo": "zal", "ren": "fub", "hiko": "fub", "tasu": "quen", "olm": "brid"}
TIMES = {"hodi": "eltan", "yest": "orvan"}
PLURAL, NOT, PAST = "pa", "nem", "ula"  # words of Tamra
ARTICLES = {"ka": "id", "su": "un"}


def noun_phrase(rng):
    """A phrase in both languages, and whether it is plural."""
    article, noun = rng.choice(list(ARTICLES)), rng.choice(list(NOUNS))
    plural = rng.random() < 0.4
    stem, gender = NOUNS[noun]
    source, target = [article], [ARTICLES[article], stem + ("en" if plural else "")]
    if plural:
        source.append(PLURAL)
    if rng.random() < 0.4:
        adjective = rng.choice(list(ADJECTIVES))
        source.append(adjective)
        target.append(ADJECTIVES[adjective] + gender + ("s" if plural else ""))
    source.append(noun)
    return source, target, plural


def sentence(rng):
    """One sentence in Tamra and what it is in Oskel, as lines of text."""
    subject, subject_target, plural = noun_phrase(rng)
    verb = rng.choice(list(VERBS))
    past = rng.random() < 0.4
    source = subject + ([PAST] if past else []) + [verb]
    middle = []
    if rng.random() < 0.6:
        thing, thing_target, _ = noun_phrase(rng)
        source, middle = source + thing, thing_target
    form = VERBS[verb] + ("it" if past else "") + ("um" if plural else "")
    target = subject_target + middle + [form]
    if rng.random() < 0.25:
        source, target = source + [NOT], target[:-1] + ["ek", form]
    if rng.random() < 0.25:
        time = rng.choice(list(TIMES))
        source, target = source + [time], [TIMES[time]] + target
    return tuple(" ".join(words).capitalize() + "." for words in (source, target))


def read_text(count, seed):
    """The lines of the two languages, line by line together, as two files would hold them."""
    rng = random.Random(seed)
    lines = []
    while len(lines) < count:
        source, target = sentence(rng)
        if len(split(source)) <= 12:
            lines.append((source, target))
    source_lines, target_lines = zip(*lines)
    return list(source_lines), list(target_lines)


def split(line):
    return re.findall(r"\w+|[^\w\s]", line.lower())


class Vocabulary:
    """One vocabulary of words for both languages."""

    def __init__(self, lines, at_least=1):
        counts = Counter(word for line in lines for word in split(line))
        self.words = SPECIAL + sorted(w for w, n in counts.items() if n >= at_least)
        self.ids = {word: i for i, word in enumerate(self.words)}

    def __len__(self):
        return len(self.words)

    def encode(self, line):
        return [self.ids.get(word, UNK) for word in split(line)]


def prepare(count=1300, held_out=100):
    """Vocabulary, training pairs and test pairs; no sentence pair comes twice."""
    source_lines, target_lines = read_text(count, SEED)
    pairs = list(dict.fromkeys(zip(source_lines, target_lines)))
    train, test = pairs[held_out:], pairs[:held_out]
    vocabulary = Vocabulary([line for pair in train for line in pair])

    def ids(part):
        return [(vocabulary.encode(s), vocabulary.encode(t)) for s, t in part]

    return vocabulary, ids(train), ids(test)


def padded(rows, value):
    longest = max(len(row) for row in rows)
    return torch.tensor([row + [value] * (longest - len(row)) for row in rows])


def source_batch(sources):
    """Sources end with EOS and are padded on the right."""
    return padded([list(source) + [EOS] for source in sources], PAD)


def collate(pairs):
    """Source, decoder input and labels of a list of pairs of ids."""
    sources = [source for source, _ in pairs]
    targets = [target for _, target in pairs]
    labels = padded([list(target) + [EOS] for target in targets], IGNORED)
    return source_batch(sources), shift_right(labels), labels


def shift_right(labels):
    """What the decoder is fed: BOS, then the labels but the last, with PAD for -100."""
    shifted = labels.new_full(labels.shape, BOS)
    shifted[:, 1:] = labels[:, :-1]
    return shifted.masked_fill(shifted == IGNORED, PAD)


class SinusoidalPositions(nn.Module):
    """Takes the place of BART's learned positions, so that longer sentences work too."""

    def __init__(self, longest, width):
        super().__init__()
        rate = torch.exp(torch.arange(0, width, 2) * (-math.log(10000.0) / width))
        angle = torch.arange(longest)[:, None] * rate
        table = torch.stack([angle.sin(), angle.cos()], dim=-1).reshape(longest, width)
        self.register_buffer("table", table, persistent=False)

    def forward(self, input_ids, past_key_values_length=0, position_ids=None):
        length = input_ids.shape[1]
        start = past_key_values_length
        return self.table[start : start + length].unsqueeze(0)


def build(vocab_size):
    config = BartConfig(
        vocab_size=vocab_size,
        d_model=WIDTH,
        **{"encoder_layers": LAYERS, "decoder_layers": LAYERS},
        **{"encoder_attention_heads": HEADS, "decoder_attention_heads": HEADS},
        **{"encoder_ffn_dim": 4 * WIDTH, "decoder_ffn_dim": 4 * WIDTH},
        max_position_embeddings=LONGEST,
        dropout=0.1,
        init_std=WIDTH**-0.5,
        scale_embedding=True,
        pad_token_id=PAD,
        bos_token_id=BOS,
        eos_token_id=EOS,
        decoder_start_token_id=BOS,
        forced_eos_token_id=None,
    )
    network = BartForConditionalGeneration(config)
    for part in (network.model.encoder, network.model.decoder):
        part.embed_positions = SinusoidalPositions(LONGEST, WIDTH)
    network.generation_config = GenerationConfig(
        pad_token_id=PAD,
        bos_token_id=BOS,
        eos_token_id=EOS,
        decoder_start_token_id=BOS,
        max_new_tokens=LONGEST_TRANSLATION,
        do_sample=False,
        use_cache=True,
    )
    return network


def source_mask(network, source):
    return (source != network.config.pad_token_id).long()


def decoder_mask(target, dtype):
    """What each place may see: itself and what is before it, and no padding; to be added."""
    length = target.shape[1]
    causal = torch.ones(length, length, dtype=torch.bool).tril()
    allowed = causal & (target != PAD)[:, None, None, :]
    return torch.zeros(allowed.shape, dtype=dtype).masked_fill(~allowed, torch.finfo(dtype).min)


def encode(network, source, mask):
    return network.get_encoder()(input_ids=source, attention_mask=mask).last_hidden_state


def decode(network, memory, mask, target):
    """Scores of the next word at each place of the target."""
    return network(
        encoder_outputs=BaseModelOutput(last_hidden_state=memory),
        attention_mask=mask,
        decoder_input_ids=target,
        decoder_attention_mask=decoder_mask(target, memory.dtype),
        use_cache=False,
    ).logits


def scores(network, source, target):
    mask = source_mask(network, source)
    return decode(network, encode(network, source, mask), mask, target)


def smoothed_loss(logits, labels):
    words_first = logits.transpose(1, 2)
    return F.cross_entropy(words_first, labels, ignore_index=IGNORED, label_smoothing=0.05)


class Trainer:
    def __init__(self, network):
        self.network = network
        decayed = [p for p in network.parameters() if p.dim() > 1]
        others = [p for p in network.parameters() if p.dim() <= 1]
        groups = [{"params": decayed}, {"params": others, "weight_decay": 0.0}]
        self.optimizer = torch.optim.AdamW(groups, lr=RATE, betas=(0.9, 0.98), weight_decay=0.01)
        self.schedule = torch.optim.lr_scheduler.LambdaLR(
            self.optimizer, lambda n: min((n + 1) / WARMUP, (WARMUP / (n + 1)) ** 0.5)
        )

    def step(self, source, target_in, target_out):
        self.network.train()
        self.optimizer.zero_grad()
        loss = smoothed_loss(scores(self.network, source, target_in), target_out)
        loss.backward()
        nn.utils.clip_grad_norm_(self.network.parameters(), 1.0)
        self.optimizer.step()
        self.schedule.step()
        return loss.item()


def fit(subject, epochs=EPOCHS, report=print):
    """Train on all pairs, in a new order each time."""
    rng = random.Random(SEED)
    pairs = list(subject.train)
    for epoch in range(1, epochs + 1):
        rng.shuffle(pairs)
        batches = [pairs[i : i + BATCH] for i in range(0, len(pairs), BATCH)]
        losses = [subject.training_step(*subject.collate(batch)) for batch in batches]
        report(f"epoch {epoch:3d}  loss {sum(losses) / len(losses):.3f}")


def until_end(ids):
    ids = list(ids)
    return ids[: ids.index(EOS)] if EOS in ids else ids


@torch.no_grad()
def translate(network, sources):
    network.eval()
    source = source_batch(sources)
    found = network.generate(source, attention_mask=source_mask(network, source), num_beams=1)
    return [until_end(row[1:]) for row in found.tolist()]


@torch.no_grad()
def beam_search(network, sources, width=4, power=0.8):
    """The best of `width` hypotheses for each source, by log-probability per word**power."""
    network.eval()
    count = len(sources)
    source = source_batch(sources)
    mask = source_mask(network, source)
    memory = encode(network, source, mask).repeat_interleave(width, dim=0)
    mask = mask.repeat_interleave(width, dim=0)
    target = torch.full((count * width, 1), BOS)
    totals = torch.full((count, width), -math.inf)
    totals[:, 0] = 0.0
    ended = [[] for _ in range(count)]
    for length in range(1, LONGEST_TRANSLATION + 1):
        words = decode(network, memory, mask, target)[:, -1].log_softmax(dim=-1)
        size = words.shape[-1]
        sums = (totals.reshape(-1, 1) + words).reshape(count, width * size)
        best, where = sums.topk(2 * width, dim=1)
        rows, ids = [], []
        for i in range(count):
            kept = 0
            for rank, (total, place) in enumerate(zip(best[i].tolist(), where[i].tolist())):
                row, word = i * width + place // size, place % size
                if word == EOS:
                    if rank < width:
                        ended[i].append((total / length**power, target[row, 1:].tolist()))
                elif kept < width:
                    totals[i, kept] = total
                    rows.append(row)
                    ids.append(word)
                    kept += 1
        target = torch.cat([target[rows], torch.tensor(ids)[:, None]], dim=1)
        if all(len(found) >= width for found in ended):
            break
    for i in range(count):
        if not ended[i]:
            ended[i].append((totals[i, 0].item(), target[i * width, 1:].tolist()))
    return [max(found)[1] for found in ended]


def make():
    from transformer_course.examine import Subject

    torch.manual_seed(SEED)
    vocabulary, train, test = prepare()
    network = build(len(vocabulary))
    trainer = Trainer(network)
    return Subject(
        network,
        **{"source_vocab": len(vocabulary), "target_vocab": len(vocabulary)},
        **{"pad": PAD, "bos": BOS, "eos": EOS, "unknown": UNK},
        scores=lambda source, target: scores(network, source, target),
        collate=collate,
        loss=smoothed_loss,
        training_step=trainer.step,
        translate=lambda sources: translate(network, sources),
        beam=lambda sources: beam_search(network, sources),
        train=train,
        test=test,
    )


if __name__ == "__main__":
    subject = make()
    fit(subject, int(sys.argv[1]) if len(sys.argv) > 1 else EPOCHS)
    for name in ("translate", "beam"):
        found = getattr(subject, name)([source for source, _ in subject.test])
        right = sum(f == target for f, (_, target) in zip(found, subject.test))
        print(f"{name}: {right} of {len(subject.test)} test sentences right")
