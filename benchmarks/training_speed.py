"""How fast several implementations of the same Transformer train on the same batches.

A contestant's step is what a user's would be: loss, gradient, clipping, optimizer. Each round
gives every contestant the same batches, one after the other, so that what slows the machine down
slows all of them.
"""

import itertools
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from benchmarks.peers import SIZES, TextbookTransformer, TorchTransformer, marian, textbook_loss
from benchmarks.tables import (
    compare,
    in_turn,
    installed,
    median_ratio,
    options,
    skipped,
    table,
    write_tables,
)
from transformer_course.model import Transformer, TransformerConfig, evaluating
from transformer_course.translation import BOS, EOS, PAD, UNK
from transformer_course.translation.corpora.batches import (
    Batch,
    EncodedPair,
    length_batches,
    padding_waste,
)
from transformer_course.translation.training.cpu_loss import cpu_loss

BATCH_TOKENS = 2048
BATCHES = {"small": 4, "base": 1}  # in a round, so that a round of either size takes some seconds
SMOOTHING, CLIP_NORM = 0.1, 1.0
TOLERANCE = 1e-4
# Rows, inner side and columns of the matrix products that the machine is measured by: squares,
# and those of the feed-forward networks. The best counts.
PRODUCTS = (
    (512, 512, 512),
    (1024, 1024, 1024),
    (2048, 2048, 2048),
    (BATCH_TOKENS, 256, 1024),
    (BATCH_TOKENS, 512, 2048),
)

OURS, FAST, TEXTBOOK = "ours, plain", "ours, fast", "textbook"
TORCH, TORCH_PAPER = "torch.nn.Transformer", "torch.nn.Transformer, the paper's dropout"
MARIAN = "Hugging Face Marian"
BASELINES = (TORCH, MARIAN)

FUSED_ADAMW = partial(torch.optim.AdamW, fused=True)


# Sentences


def random_pairs(count: int, vocab: int, seed: int) -> list[EncodedPair]:
    """Draw pairs of random ids, about as long as sentences: 10 to 25 tokens, pairs alike."""
    generator = torch.Generator().manual_seed(seed)
    lengths = (17 + 4 * torch.randn(count, generator=generator)).round().clamp(10, 25)
    others = (lengths + 2 * torch.randn(count, generator=generator)).round().clamp(min=5)
    first = max(PAD, UNK, BOS, EOS) + 1

    def draw(length: float) -> list[int]:
        return torch.randint(first, vocab, (int(length),), generator=generator).tolist()

    return [(draw(s), draw(t)) for s, t in zip(lengths.tolist(), others.tolist(), strict=True)]


def random_batches(vocab: int) -> list[Batch]:
    """Return 40 batches or so, bucketed by length as in training."""
    pairs = random_pairs(5000, vocab, seed=0)
    groups = length_batches(pairs, BATCH_TOKENS, torch.Generator().manual_seed(0))
    return [Batch.from_pairs([pairs[n] for n in group], BOS, EOS, PAD) for group in groups]


def tokens(batch: Batch) -> int:
    """Count the source and target tokens of a batch, padding left out."""
    return int((batch.source != PAD).sum() + (batch.target_in != PAD).sum())


def training_flops(config: TransformerConfig, batch: Batch) -> int:
    """Count the operations of the matrix products that one step needs, padding left out.

    A product needs a multiplication and an addition for each pair of numbers, and the backward
    pass two products for each one of the forward pass: six in all (Kaplan et al., 2020, section
    2.1). Attention counts all pairs of positions, those that the causal mask hides included.
    """
    d, d_ff = config.d_model, config.d_ff
    source = (batch.source != PAD).sum(dim=1)
    target = (batch.target_in != PAD).sum(dim=1)
    encoder = 4 * d * d + 2 * d * d_ff + 2 * d * source  # per source token: weights, then pairs
    # The decoder's keys and values of the source are computed once per source token.
    decoder = 6 * d * d + 2 * d * d_ff + 2 * d * (target + source)
    products = source * (config.encoder_layers * encoder + config.decoder_layers * 2 * d * d)
    products += target * (config.decoder_layers * decoder + d * config.target_vocab)
    return 6 * int(products.sum())


# Contestants


def cross_entropy(logits: Float[Tensor, "batch target vocab"], batch: Batch) -> Float[Tensor, ""]:
    """Return the smoothed cross-entropy by torch's own kernel."""
    return F.cross_entropy(
        logits.flatten(0, 1),
        batch.target_out.flatten(),
        ignore_index=PAD,
        label_smoothing=SMOOTHING,
    )


def logits_of(model: nn.Module, batch: Batch) -> Float[Tensor, "batch target vocab"]:
    """Call a model that makes its own masks."""
    return model(batch.source, batch.target_in)


def marian_logits(model: nn.Module, batch: Batch) -> Float[Tensor, "batch target vocab"]:
    """Call Marian as its own users do: padding behind a target needs no mask."""
    mask = (batch.source != PAD).long()
    return model(
        input_ids=batch.source,
        attention_mask=mask,
        decoder_input_ids=batch.target_in,
        use_cache=False,
    ).logits


def plain_loss(model: nn.Module, batch: Batch) -> Float[Tensor, ""]:
    """Return the loss of ours and of torch's."""
    return cross_entropy(logits_of(model, batch), batch)


def fast_path_loss(model: Transformer, batch: Batch) -> Float[Tensor, ""]:
    """Return the loss of ours as the course's training computes it."""
    return cpu_loss(model, batch.source, batch.target_in, batch.target_out, SMOOTHING)


def kl_loss(model: TextbookTransformer, batch: Batch) -> Float[Tensor, ""]:
    """Return the loss of the textbook version."""
    logits = logits_of(model, batch).flatten(0, 1)
    return textbook_loss(logits, batch.target_out.flatten(), SMOOTHING, PAD)


def marian_loss(model: nn.Module, batch: Batch) -> Float[Tensor, ""]:
    """Return the loss of Marian; its own has no label smoothing."""
    return cross_entropy(marian_logits(model, batch), batch)


def copy_of(model: Transformer) -> Transformer:
    """Build ours once more."""
    copy = Transformer(model.config)
    copy.load_state_dict(model.state_dict())
    return copy


@dataclass(frozen=True)
class Kind:
    """An implementation: how to build it from ours, its logits, its loss, its optimizer."""

    build: Callable[[Transformer], nn.Module]
    loss: Callable[[nn.Module, Batch], Float[Tensor, ""]]
    logits: Callable[[nn.Module, Batch], Float[Tensor, "batch target vocab"]] = logits_of
    optimizer: Callable[..., torch.optim.Optimizer] = FUSED_ADAMW


KINDS = {
    OURS: Kind(copy_of, plain_loss),
    FAST: Kind(copy_of, fast_path_loss),
    TEXTBOOK: Kind(TextbookTransformer, kl_loss, optimizer=torch.optim.Adam),
    TORCH: Kind(TorchTransformer, plain_loss),
    TORCH_PAPER: Kind(partial(TorchTransformer, paper_dropout=True), plain_loss),
    MARIAN: Kind(partial(marian, start_id=BOS, eos_id=EOS), marian_loss, marian_logits),
}


def kinds() -> list[str]:
    """Name the implementations that can be built here."""
    return [name for name in KINDS if name != MARIAN or installed("transformers")]


def check_same_function(config: TransformerConfig) -> float:
    """Return the largest difference between the logits of ours and of any other.

    Raises
    ------
    RuntimeError
        If it is above the tolerance: then other things would be compared than speed.
    """
    model = new_model(config)
    pairs = random_pairs(8, config.target_vocab, seed=1)
    batch = Batch.from_pairs(pairs, BOS, EOS, PAD)
    real = batch.target_in != PAD
    with evaluating(model):
        expected = logits_of(model, batch)[real]
    worst = 0.0
    for name in kinds():
        other = KINDS[name].build(model)
        with evaluating(other):
            difference = (KINDS[name].logits(other, batch)[real] - expected).abs().max().item()
        if difference > TOLERANCE:
            raise RuntimeError(f"the logits of {name} differ from ours by {difference:.2g}.")
        worst = max(worst, difference)
    return worst


def new_model(config: TransformerConfig) -> Transformer:
    """Build ours with weights that are always the same."""
    torch.manual_seed(0)
    return Transformer(config)


# Rounds


class Contestant:
    """An implementation in training.

    Parameters
    ----------
    kind
        Which one.
    model
        Ours, whose sizes and weights to take.
    """

    def __init__(self, kind: Kind, model: Transformer) -> None:
        self.loss = kind.loss
        self.model = kind.build(model).train()
        self.optimizer = kind.optimizer(self.model.parameters(), lr=1e-4, betas=(0.9, 0.98))

    def step(self, batch: Batch) -> None:
        """Take one step, as a training loop does that watches its loss."""
        self.optimizer.zero_grad()
        loss = self.loss(self.model, batch)
        loss.backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), CLIP_NORM)
        self.optimizer.step()
        loss.item()


def matrix_speed() -> float:
    """Return the most operations per second that this machine's matrix products reach."""
    return max(_product_speed(*sides) for sides in PRODUCTS)


def _product_speed(rows: int, inner: int, columns: int) -> float:
    left, right = torch.ones(rows, inner), torch.ones(inner, columns)
    times = []
    for _ in range(5):
        start = time.perf_counter()
        left @ right
        times.append(time.perf_counter() - start)
    return 2 * rows * inner * columns / min(times)


def measure(size: str, rounds: int) -> dict[str, Any]:
    """Check and measure one size; return its figures."""
    config = SIZES[size]
    batches = rounds_of_batches(size, rounds)
    work = [sum(map(tokens, part)) for part in batches]
    operations = [sum(training_flops(config, batch) for batch in part) for part in batches]
    difference = check_same_function(config)
    seconds, peak = measure_rounds(config, batches)
    found = compare(seconds, work, BASELINES)
    for name, row in found.items():
        row["utilisation"] = median_ratio(operations, seconds[name]) / peak
    return {
        "parameters": sum(weight.numel() for weight in new_model(config).parameters()),
        "largest_difference_of_logits": difference,
        "tokens_per_round": work,
        "padding_waste": padding_waste([batch for part in batches for batch in part], PAD),
        "operations_per_token": sum(operations) / sum(work),
        "peak": peak,
        "contestants": found,
    }


def rounds_of_batches(size: str, rounds: int) -> list[list[Batch]]:
    """Return the batches of each round; after the last batch the first comes again."""
    batches = itertools.cycle(random_batches(SIZES[size].target_vocab))
    return [list(itertools.islice(batches, BATCHES[size])) for _ in range(rounds)]


def measure_rounds(
    config: TransformerConfig, rounds: Sequence[Sequence[Batch]]
) -> tuple[dict[str, list[float]], float]:
    """Return each contestant's seconds by round, and the machine's peak."""
    model = new_model(config)
    contestants = {name: Contestant(KINDS[name], model) for name in kinds()}
    for contestant in contestants.values():  # the first step makes the optimizer's running means
        contestant.step(rounds[0][0])
    seconds: dict[str, list[float]] = {name: [] for name in contestants}
    peak = 0.0
    for number, batches in enumerate(rounds):
        taken = dict.fromkeys(contestants, 0.0)
        for turn, batch in enumerate(batches, start=number * len(batches)):
            for name in in_turn(list(contestants), turn):
                start = time.perf_counter()
                contestants[name].step(batch)
                taken[name] += time.perf_counter() - start
        for name, of_round in taken.items():
            seconds[name].append(of_round)
        peak = max(peak, matrix_speed())
    return seconds, peak


def section(size: str, figures: dict[str, Any]) -> str:
    """Write the part of the Markdown file about one size."""
    config = SIZES[size]
    lines = [
        f"## {size}: {config.d_model} / {config.heads} heads / {config.encoder_layers} + "
        f"{config.decoder_layers} layers / {config.d_ff}, {config.target_vocab:,} tokens",
        f"{figures['parameters']:,} parameters; {figures['operations_per_token'] / 1e6:.1f} "
        f"million operations per token. The machine's matrix products reach, in 10^9 operations "
        f"per second: {figures['peak'] / 1e9:.0f}.",
    ]
    rows = [
        {"": name, "tokens per second": row["per_second"]}
        | {f"times {baseline}": ratio for baseline, ratio in row["times"].items()}
        | {"share of the peak": f"{row['utilisation']:.0%}"}
        for name, row in figures["contestants"].items()
    ]
    return "\n\n".join([*lines, table(rows)])


NOTES = f"""\
Tokens are source and target tokens, padding left out; batches hold {BATCH_TOKENS:,} target \
positions, bucketed by length, of random ids as long as sentences. All have the same weights and \
the same logits; all but the textbook version (Adam, unfused) use the fused AdamW, and all but it \
and *ours, fast*, which has a loss of its own, use torch's smoothed cross-entropy. \
`torch.nn.Transformer` and the textbook version also drop attention weights and elements inside \
the feed-forward network; one row has `torch.nn.Transformer` without that. \
All compute in 32 bits."""


def main() -> None:
    """Check, measure, print and write."""
    parser = options(__doc__, rounds=5)
    parser.add_argument("--sizes", nargs="+", choices=SIZES, default=list(SIZES))
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    results, sections = {}, [NOTES, *skipped()]
    for size in arguments.sizes:
        results[size] = measure(size, arguments.rounds)
        sections.append(section(size, results[size]))
        print(sections[-1], flush=True)
    write_tables("training_speed", arguments, results, "Training speed", sections)


if __name__ == "__main__":
    main()
