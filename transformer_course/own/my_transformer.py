"""Your translator: each part that you solve in the course takes its place in this file.

A part marked "given" or "the course's" is not yours yet; all else is yours to change.
`python my_transformer.py source.en target.fr` trains it on two files, then translates.
"""

import math
import random
import re
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import torch
from torch import Tensor, nn

from transformer_course.own.given import Given

# In code from the lessons, own.x, model.x and translation.x each mean x from this file.
own = model = translation = sys.modules[__name__]
given = Given(globals())  # given.x is the course's x, which calls the parts of this file
PAD, BOS, EOS, UNK = 0, 1, 2, 3  # the ids of padding, begin, end and unknown words


# --- start_here: softmax (given) ------------------------------------------------------------
# (scores): Turn scores of any shape into shares that sum to 1 along the last axis.
softmax = given.softmax


# --- positional_encoding: build_vocabulary (given) ------------------------------------------
# (sentences): Give each token an id: the special ones first, then the words, frequent ones
# earlier.
build_vocabulary = given.build_vocabulary


# --- positional_encoding: Embeddings (given) ------------------------------------------------
# (vocab, d_model, pad_id): Look up ids of shape (batch, length) in a table, times sqrt(d_model).
Embeddings = given.Embeddings


# --- positional_encoding: sinusoidal_encoding (given) ---------------------------------------
# (length, d_model): Return the encoding of positions 0 .. length - 1, shape (length, d_model).
sinusoidal_encoding = given.sinusoidal_encoding


# --- positional_encoding: SinusoidalPositionalEncoding (given) ------------------------------
# (d_model, max_len, dropout): Add the sinusoidal encoding to x of shape (batch, length, d_model),
# then apply dropout.
SinusoidalPositionalEncoding = given.SinusoidalPositionalEncoding


# --- attention: scaled_dot_product_attention (given) ----------------------------------------
# (query, key, value, mask=None): Return the output (..., query, d_v) and the weights (..., query,
# key).
scaled_dot_product_attention = given.scaled_dot_product_attention


# --- attention: padding_mask (given) --------------------------------------------------------
# (ids, pad_id): Return True for each token that is not padding, shape (batch, 1, 1, key).
padding_mask = given.padding_mask


# --- attention: causal_mask (given) ---------------------------------------------------------
# (length): Return True where a query (row) may attend to a key (column), shape (length, length).
causal_mask = given.causal_mask


# --- attention: target_mask (given) ---------------------------------------------------------
# (ids, pad_id): Return what both masks allow, shape (batch, 1, length, length).
target_mask = given.target_mask


# --- multi_head_attention: split_heads (given) ----------------------------------------------
# (x, heads): Cut each vector into pieces: (batch, length, d_model) to (batch, heads, length, d_k).
split_heads = given.split_heads


# --- multi_head_attention: merge_heads (given) ----------------------------------------------
# (x): Join the heads' pieces: (batch, heads, length, d_k) to (batch, length, d_model).
merge_heads = given.merge_heads


# --- multi_head_attention: MultiHeadAttention (given) ---------------------------------------
# (d_model, heads): Project, split into heads, attend in each, merge, project.
MultiHeadAttention = given.MultiHeadAttention


# --- feed_forward: FeedForward (given) ------------------------------------------------------
# (d_model, d_ff): Expand each vector to d_ff features, apply ReLU, contract it again.
FeedForward = given.FeedForward


# --- layers: layer_norm (given) -------------------------------------------------------------
# (x, gain, bias, eps=1e-05): Bring each vector of x to mean 0 and variance 1, then apply gain and
# bias.
layer_norm = given.layer_norm


# --- layers: add_norm (given) ---------------------------------------------------------------
# (x, sublayer, norm, norm_first): Add what the sub-layer returns to x; normalise its input
# (norm_first) or the sum.
add_norm = given.add_norm


# --- around the parts -----------------------------------------------------------------------
class LayerNorm(nn.Module):
    """Layer norm with a gain and a bias that are trained."""

    def __init__(self, d_model: int) -> None:
        super().__init__()
        self.gain = nn.Parameter(torch.ones(d_model))
        self.bias = nn.Parameter(torch.zeros(d_model))

    def forward(self, x: Tensor) -> Tensor:
        """Normalise the last axis."""
        return layer_norm(x, self.gain, self.bias, 1e-5)


class AddNorm(nn.Module):
    """Calls `add_norm` with a layer norm of its own, and with dropout after the sub-layer."""

    def __init__(self, d_model: int, dropout: float, norm_first: bool) -> None:
        super().__init__()
        self.norm = LayerNorm(d_model)
        self.dropout = nn.Dropout(dropout)
        self.norm_first = norm_first

    def forward(self, x: Tensor, sublayer: Callable[[Tensor], Tensor]) -> Tensor:
        """Add what the sub-layer returns to x; normalise its input (norm_first) or the sum."""
        return add_norm(x, lambda y: self.dropout(sublayer(y)), self.norm, self.norm_first)


# --- layers: EncoderLayer (given) -----------------------------------------------------------
# (d_model, heads, d_ff, dropout=0.1, norm_first=False): Self-attention and feed-forward network,
# each inside an AddNorm.
EncoderLayer = given.EncoderLayer


# --- layers: DecoderLayer (given) -----------------------------------------------------------
# (d_model, heads, d_ff, dropout=0.1, norm_first=False): Self-attention, cross-attention and
# feed-forward network, each inside an AddNorm.
DecoderLayer = given.DecoderLayer


# --- layers: Encoder (given) ----------------------------------------------------------------
# (layers, d_model, heads, d_ff, dropout=0.1, norm_first=False): A stack of encoder layers; with
# norm_first a final norm follows.
Encoder = given.Encoder


# --- around the parts -----------------------------------------------------------------------
class Decoder(nn.Module):
    """A stack of decoder layers; with norm_first a final norm follows."""

    def __init__(self, layers, d_model, heads, d_ff, dropout=0.1, norm_first=False) -> None:
        super().__init__()
        sizes = d_model, heads, d_ff, dropout, norm_first
        self.layers = nn.ModuleList(DecoderLayer(*sizes) for _ in range(layers))
        self.norm = LayerNorm(d_model) if norm_first else nn.Identity()

    def forward(self, x: Tensor, memory: Tensor, source_mask=None, target_mask=None) -> Tensor:
        """Pass the target through all layers, each of which reads the same memory."""
        for layer in self.layers:
            x = layer(x, memory, source_mask, target_mask)
        return self.norm(x)


@dataclass(frozen=True)
class TransformerConfig:
    """Sizes and choices of a Transformer."""

    source_vocab: int
    target_vocab: int
    d_model: int = 64
    heads: int = 4
    encoder_layers: int = 2
    decoder_layers: int = 2
    d_ff: int = 256
    dropout: float = 0.0
    max_len: int = 256
    pad_id: int = PAD
    norm_first: bool = True
    tying: str = "two_way"  # or "none", or "three_way" where both languages share one vocabulary


# --- transformer: output_logits (given) -----------------------------------------------------
# (vectors, table): Score each token after each position: the dot product with the token's row.
output_logits = given.output_logits


# --- transformer: tie (given) ---------------------------------------------------------------
# (network): Let both embeddings and the output layer share the target's table.
tie = given.tie


# --- transformer: Transformer (given) -------------------------------------------------------
# (config): Score the next token after each prefix of a target, given a source (figure 1).
Transformer = given.Transformer


# --- around the parts -----------------------------------------------------------------------
@contextmanager
def evaluating(network: nn.Module) -> Iterator[None]:
    """Switch dropout and gradients off inside the block."""
    was_training = network.training
    network.eval()
    try:
        with torch.no_grad():
            yield
    finally:
        network.train(was_training)


# --- toy_translation: collate (given) -------------------------------------------------------
# (pairs, bos, eos, pad): Return source, target in and target out as rectangles of ids.
collate = given.collate


# --- toy_translation: masked_mean (given) ---------------------------------------------------
# (loss, mask): Return the mean of the losses where the mask is True, a tensor without axes.
masked_mean = given.masked_mean


# --- toy_translation: smoothed_cross_entropy (given) ----------------------------------------
# (logits, targets, smoothing, pad): Return the mean loss per real token, a tensor without axes.
smoothed_cross_entropy = given.smoothed_cross_entropy


# --- toy_translation: adam_update (given) ---------------------------------------------------
# (weight, gradient, mean, square, step, rate, beta1=0.9, beta2=0.98, eps=1e-09): Return the new
# weight and the new running means of the gradient and of its square.
adam_update = given.adam_update


# --- around the parts -----------------------------------------------------------------------
class Adam:
    """The optimiser: an update for each weight, with the two running means that it needs."""

    def __init__(self, weights: Iterator[nn.Parameter], rate: float) -> None:
        self.weights = [(w, torch.zeros_like(w), torch.zeros_like(w)) for w in weights]
        self.rate, self.steps = rate, 0

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget the gradients of the step before."""
        for weight, _, _ in self.weights:
            weight.grad = None

    @torch.no_grad()
    def step(self) -> None:
        """Change each weight that has a gradient, and its means."""
        self.steps += 1
        for weight, mean, square in self.weights:
            if weight.grad is not None:
                new = adam_update(weight, weight.grad, mean, square, self.steps, self.rate)
                for tensor, value in zip((weight, mean, square), new, strict=True):
                    tensor.copy_(value)


# --- toy_translation: noam (given) ----------------------------------------------------------
# (step, d_model, warmup): Return the learning rate at a step, counted from 1.
noam = given.noam


# --- toy_translation: training_step (given) -------------------------------------------------
# (network, optimizer, source, target_in, target_out, pad, smoothing=0.0): Update the weights once
# on a batch; return its loss per real token as a number.
training_step = given.training_step


# --- decoding: next_token_probabilities (given) ---------------------------------------------
# (logits, temperature=1.0, top_k=None, top_p=None): Return the probabilities [B, V] to draw the
# next token from; None switches a filter off.
next_token_probabilities = given.next_token_probabilities


# --- decoding: greedy (given) ---------------------------------------------------------------
# (network, source_ids, bos, eos, max_length): Return the most probable tokens [B, at most
# max_length], ended rows filled with padding.
greedy = given.greedy


# --- decoding: length_score (given) ---------------------------------------------------------
# (log_probability, length, alpha=None): Return the mean log-probability per token, or with alpha
# GNMT's score.
length_score = given.length_score


# --- decoding: beam_search (given) ----------------------------------------------------------
# (step, bos, eos, beam, max_length, alpha): Return the tokens of the best hypothesis found, and
# its score.
beam_search = given.beam_search


# --- real_translation: clipped_counts (given) -----------------------------------------------
# (candidate, reference, n): Return how many n-grams of the candidate match, clipped, and how many
# it has.
clipped_counts = given.clipped_counts


# --- real_translation: brevity_penalty (given) ----------------------------------------------
# (candidate_length, reference_length): Return 1 for a candidate that is long enough, and less for
# a shorter one.
brevity_penalty = given.brevity_penalty


# --- real_translation: corpus_bleu (given) --------------------------------------------------
# (candidates, references, max_n=4): Return the BLEU of a whole corpus, between 0 and 1.
corpus_bleu = given.corpus_bleu


# --- real_translation: token_budget_batches (given) -----------------------------------------
# (lengths, batch_tokens): Return the numbers of the sentence pairs of each batch.
token_budget_batches = given.token_budget_batches


# --- from text to text ----------------------------------------------------------------------
def words(text: str) -> list[str]:
    """Cut a sentence into words and punctuation marks; l'homme is two words, l' and homme."""
    return re.findall(r"\w+(?:-\w+)*(?:'(?=\w))?|[^\w\s]", text.replace("\u2019", "'"))


def sentence(pieces: list[str]) -> str:
    """Join words and punctuation marks again."""
    return re.sub(r"(?<=\w') |(?<=\() | (?=[.,;:!?)])", "", " ".join(pieces))


@dataclass
class Translator:
    """A network, and the words of its two languages with their ids."""

    network: nn.Module
    source: dict[str, int]
    target: dict[str, int]

    @classmethod
    def from_pairs(cls, pairs: list, at_least: int = 1, seed: int = 0, **sizes) -> "Translator":
        """Make one with random weights; it knows the words that occur `at_least` times."""
        vocabularies = []
        for side in zip(*pairs, strict=True):
            counts = Counter(word for text in side for word in words(text))
            kept = [[w for w in words(text) if counts[w] >= at_least] for text in side]
            vocabularies.append(build_vocabulary(kept))
        torch.manual_seed(seed)
        return cls(Transformer(TransformerConfig(*map(len, vocabularies), **sizes)), *vocabularies)

    def encode(self, pairs: list) -> list[tuple[list[int], list[int]]]:
        """Turn sentence pairs into pairs of ids."""

        def ids(text: str, vocabulary: dict[str, int]) -> list[int]:
            return [vocabulary.get(word, UNK) for word in words(text)[:240]]  # below max_len

        return [(ids(one, self.source), ids(other, self.target)) for one, other in pairs]

    def decode(self, ids: list[int]) -> str:
        """Turn ids into a sentence, up to the end token."""
        known = sorted(self.target, key=self.target.get)
        return sentence([known[number] for number in ids[: [*ids, EOS].index(EOS)]])

    def translate(self, texts: list[str]) -> list[str]:
        """Translate sentences with `greedy`, into at most 10 words more than the longest has."""
        if len(texts) > 32:  # in halves: short sentences need not wait for the longest
            order, half = sorted(texts, key=len), len(texts) // 2
            said = self.translate(order[:half]) + self.translate(order[half:])
            return [*map(dict(zip(order, said, strict=True)).get, texts)]
        source, _, _ = collate(self.encode([(text, "") for text in texts]), BOS, EOS, PAD)
        rows = greedy(self.network, source, BOS, EOS, source.shape[1] + 10)
        return [self.decode(row) for row in rows.tolist()]

    def search(self, text: str, beam: int = 4, alpha: float = 0.6) -> str:
        """Translate a sentence with `beam_search`."""
        source, _, _ = collate(self.encode([(text, "")]), BOS, EOS, PAD)
        with evaluating(self.network):
            memory = self.network.encode(source)

            def next_scores(tokens: tuple[int, ...]) -> Tensor:
                logits = self.network.decode(torch.tensor([tokens]), memory, source)
                return logits[0, -1].log_softmax(dim=-1)

            tokens, _ = beam_search(next_scores, BOS, EOS, beam, source.shape[1] + 10, alpha)
        return self.decode(list(tokens))

    def bleu(self, pairs: list) -> float:
        """Return the `corpus_bleu` of sentence pairs, 0 to 100."""
        said = [text.replace("<unk>", "unk") for text in self.translate([one for one, _ in pairs])]
        return 100 * corpus_bleu([*map(words, said)], [words(target) for _, target in pairs])


@dataclass
class Trainer:
    """Trains a translator; stopped, it goes on when `train` is called again."""

    translator: Translator
    pairs: list
    dev: list
    steps: int = 500
    batch_tokens: int = 1024
    rate: float = 0.3  # times what noam returns
    warmup: int = 75
    smoothing: float = 0.1
    look_every: int = 50
    seed: int = 0
    step: int = 0  # how many are done
    seconds: float = 0.0
    history: list[dict] = field(default_factory=list)  # a row for each look at the dev sentences

    def __post_init__(self) -> None:
        self.optimizer = Adam(self.translator.network.parameters(), self.rate)
        self.chance = random.Random(self.seed)
        self.encoded = self.translator.encode(self.pairs)
        self.waiting, self.losses = [], []  # this epoch's batches to come; losses since a look

    def next_batch(self) -> tuple[Tensor, Tensor, Tensor]:
        """Return source, target in and target out of sentences of similar length."""
        if not self.waiting:
            self.chance.shuffle(self.encoded)
            lengths = [(len(source) + 1, len(target) + 1) for source, target in self.encoded]
            self.waiting = token_budget_batches(lengths, self.batch_tokens)
            self.chance.shuffle(self.waiting)
        return collate([self.encoded[number] for number in self.waiting.pop()], BOS, EOS, PAD)

    def train(self, watch: Callable[["Trainer"], None] = lambda trainer: None) -> None:
        """Take the steps that are left; call `watch` after each look at the dev sentences."""
        network, width = self.translator.network, self.translator.network.config.d_model
        while self.step < self.steps:
            start = time.perf_counter()
            network.train()
            settle = min(1.0, 5 - 5 * self.step / self.steps)  # in the last fifth, down to 0
            self.optimizer.rate = self.rate * settle * noam(self.step + 1, width, self.warmup)
            loss = training_step(network, self.optimizer, *self.next_batch(), PAD, self.smoothing)
            self.losses.append(loss)
            self.step += 1
            self.seconds += time.perf_counter() - start
            if self.step % self.look_every == 0:
                self.look(watch)
        if self.losses:
            self.look(watch)

    def look(self, watch: Callable[["Trainer"], None]) -> None:
        """Translate the dev sentences, measure the loss on them, and call `watch`."""
        said = self.translator.translate([source for source, _ in self.dev])
        right = [words(one) == words(two) for one, (_, two) in zip(said, self.dev, strict=True)]
        row = {"step": self.step, "seconds": self.seconds, "said": said[:3]}
        row |= {"train_loss": sum(self.losses) / len(self.losses), "dev_loss": self.dev_loss()}
        self.history.append(row | {"dev_exact_match": sum(right) / len(right)})
        self.losses = []
        watch(self)

    def dev_loss(self) -> float:
        """Return the loss on the dev sentences, not smoothed."""
        source, target_in, target_out = collate(self.translator.encode(self.dev), BOS, EOS, PAD)
        with evaluating(self.translator.network):
            logits = self.translator.network(source, target_in).flatten(0, 1)
            return smoothed_cross_entropy(logits, target_out.flatten(), 0.0, PAD).item()

    @property
    def seconds_left(self) -> float:
        """How long the steps that are left will take, without the looks at dev."""
        return self.seconds / max(1, self.step) * (self.steps - self.step)


# --- from a terminal ------------------------------------------------------------------------
def show(trainer: Trainer) -> None:
    """Print how far the training has got, and what the translator says now."""
    row, bar = trainer.history[-1], "#" * (20 * trainer.step // trainer.steps)
    print(
        f"[{bar:20}] step {row['step']:,} of {trainer.steps:,}, {trainer.seconds_left:.0f} s left "
        f"(Ctrl-C ends it); smoothed loss {row['train_loss']:.2f}, dev loss {row['dev_loss']:.2f}"
    )
    for (source, _), said in zip(trainer.dev, row["said"], strict=False):
        print(f"    {source}  ->  {said}")


def main(*files: Path) -> None:
    """Train on two files, whose lines translate each other; then translate what is typed."""
    sides = [file.read_text("utf-8-sig").removesuffix("\n").split("\n") for file in files]
    if len(sides[0]) != len(sides[1]) or len(sides[0]) < 2:
        sys.exit(f"{len(sides[0]):,} lines and {len(sides[1]):,}: each line needs its translation.")
    pairs, every = list(zip(*sides, strict=True)), max(20, len(sides[0]) // 100)
    train = [pair for number, pair in enumerate(pairs) if number % every]
    translator = Translator.from_pairs(train, at_least=2, d_model=128)
    with suppress(KeyboardInterrupt):
        Trainer(translator, train, pairs[::every], 3000, warmup=400, look_every=100).train(show)
    with suppress(KeyboardInterrupt, EOFError):
        while text := input("A sentence (an empty line ends): ").strip():
            print(translator.search(text))


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("usage: python my_transformer.py SOURCE TARGET (two files, one sentence a line)")
    main(*map(Path, sys.argv[1:]))
