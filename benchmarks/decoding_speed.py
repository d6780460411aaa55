"""How many sentences per second several programs translate with the same weights.

The weights are random, and such a model does not end its sentences by itself. So every program
produces the same number of tokens for each; before anything is timed, they must be the same tokens.
More threads make some programs slower: each is tried with every number up to ``--threads``, and its
best one counts.
"""

import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from statistics import median
from typing import Any

import torch

from benchmarks.peers import SIZES, ctranslate2_model, marian, token_names
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
from transformer_course.model import Transformer
from transformer_course.translation.corpora.batches import pad_rows
from transformer_course.translation.decoding.beam import beam_search
from transformer_course.translation.decoding.cached import CachedDecoder
from transformer_course.translation.decoding.next_token import MakeDecoder, greedy
from transformer_course.translation.decoding.prefix_scorers import UncachedDecoder

# Padding comes last and the start token's vector is zero, as Marian and CTranslate2 have it.
SIZE = SIZES["small"]
EOS, BOS, PAD = 0, SIZE.target_vocab - 2, SIZE.target_vocab - 1
NEW_TOKENS = 20
CASES = ((1, 1), (1, 4), (100, 1), (100, 4))  # sentences at once, beam
SENTENCES = {1: 10, 100: 100}  # in a round
# Two tokens of nearly the same score may change places by rounding, and all that follows with
# them; more than this share of other sentences is a mistake.
LARGEST_DIFFERENCE = 0.02

UNCACHED, CACHED = "ours, without cache", "ours"
HUGGING_FACE, CTRANSLATE2 = "Hugging Face generate", "CTranslate2"
BASELINES = (HUGGING_FACE, CTRANSLATE2)

Sentences = Sequence[list[int]]
Translate = Callable[[Sentences, int], list[list[int]]]


def talkative_model() -> Transformer:
    """Build a model with random weights whose sentences differ and do not end.

    Fresh weights let a translation repeat one token, whatever the source. So the decoder's
    feed-forward networks get a stronger voice, and lose the part of it that never changes. The
    end token's vector is zero: its logit is then zero, which is never the highest.
    """
    torch.manual_seed(0)
    model = Transformer(replace(SIZE, pad_id=PAD)).eval()
    with torch.no_grad():
        for layer in model.decoder.layers:
            weight = layer.feed_forward.contract.weight
            weight.copy_(4 * (weight - weight.mean(dim=1, keepdim=True)))
        model.target_embeddings.table.weight[[EOS, BOS, PAD]] = 0.0
    return model


def random_sentences(count: int) -> list[list[int]]:
    """Draw sentences of 10 to 25 tokens, ended."""
    generator = torch.Generator().manual_seed(0)
    lengths = torch.randint(10, 26, (count,), generator=generator).tolist()
    return [
        [*torch.randint(EOS + 1, BOS, (length,), generator=generator).tolist(), EOS]
        for length in lengths
    ]


# Contestants


def ours(model: Transformer, decoder: MakeDecoder) -> Translate:
    """Translate by the course's own searches."""

    def translate(sentences: Sentences, beam: int) -> list[list[int]]:
        source = pad_rows(sentences, PAD)
        if beam == 1:
            return greedy(model, source, BOS, EOS, NEW_TOKENS, decoder=decoder).tolist()
        best = beam_search(model, source, BOS, EOS, beam, max_length=NEW_TOKENS, decoder=decoder)
        return [list(hypotheses[0].tokens) for hypotheses in best]

    return translate


def hugging_face(model: Transformer) -> Translate:
    """Translate by Hugging Face's ``generate``."""
    theirs = marian(model, BOS, EOS)

    def translate(sentences: Sentences, beam: int) -> list[list[int]]:
        source = pad_rows(sentences, PAD)
        with torch.inference_mode():
            ids = theirs.generate(
                input_ids=source,
                attention_mask=(source != PAD).long(),
                num_beams=beam,
                max_new_tokens=NEW_TOKENS,
                do_sample=False,
            )
        return ids[:, 1:].tolist()  # behind the start token

    return translate


def ctranslate2(model: Transformer, folder: Path, threads: int) -> Translate:
    """Translate by CTranslate2."""
    theirs = ctranslate2_model(marian(model, BOS, EOS), folder, threads)
    names = token_names(model.config.target_vocab)
    ids = {name: number for number, name in enumerate(names)}

    def translate(sentences: Sentences, beam: int) -> list[list[int]]:
        source = [[names[token] for token in sentence] for sentence in sentences]
        found = theirs.translate_batch(source, beam_size=beam, max_decoding_length=NEW_TOKENS)
        return [[ids[name] for name in result.hypotheses[0]] for result in found]

    return translate


def contestants(model: Transformer, folder: Path, threads: int) -> dict[str, Translate]:
    """Build those whose packages are installed; ``folder`` is for the converted model."""
    programs = {
        UNCACHED: ours(model, UncachedDecoder),
        CACHED: ours(model, CachedDecoder),
    }
    if installed("transformers"):
        programs[HUGGING_FACE] = hugging_face(model)
    if installed("transformers") and installed("ctranslate2"):  # converted from Marian
        programs[CTRANSLATE2] = ctranslate2(model, folder / "converted", threads)
    return programs


def in_batches(translate: Translate, sentences: Sentences, size: int, beam: int) -> Sentences:
    """Translate so many sentences at once."""
    starts = range(0, len(sentences), size)
    return [row for first in starts for row in translate(sentences[first : first + size], beam)]


def check_same_output(
    programs: dict[str, Translate], sentences: Sentences, beam: int
) -> dict[str, float]:
    """Return the share of sentences that each program translates as our uncached decoder does.

    Raises
    ------
    RuntimeError
        If too many differ, or one has not the wanted number of tokens.
    """
    expected = programs[UNCACHED](sentences, beam)
    shares = {}
    for name, translate in programs.items():
        found = translate(sentences, beam)
        if {len(row) for row in found} != {NEW_TOKENS}:
            raise RuntimeError(f"{name} does not produce {NEW_TOKENS} tokens for each sentence.")
        same = [mine == theirs for mine, theirs in zip(expected, found, strict=True)]
        shares[name] = sum(same) / len(same)
        if shares[name] < 1 - LARGEST_DIFFERENCE:
            raise RuntimeError(
                f"with beam {beam}, {name} translates only {shares[name]:.0%} as ours does."
            )
    return shares


def measure(
    programs: Mapping[int, dict[str, Translate]],
    sentences: Sentences,
    size: int,
    beam: int,
    rounds: int,
) -> dict[str, Any]:
    """Time all programs in turn; without a cache only greedily, because of the time it takes.

    Parameters
    ----------
    programs
        By number of threads and name.
    sentences, size, beam
        What is translated, how many at once, and with which beam.
    rounds
        Times that each is measured with each number of threads.

    Returns
    -------
    figures
        Those of :func:`compare`, for each program with its best number of ``threads``; and
        ``with_threads``, the sentences per second by number of threads.
    """
    names = [name for name in programs[1] if beam == 1 or name != UNCACHED]
    runs = list(product(names, programs))
    seconds: dict[tuple[str, int], list[float]] = {run: [] for run in runs}
    for number in range(rounds):
        for name, threads in in_turn(runs, number):
            torch.set_num_threads(threads)
            start = time.perf_counter()
            in_batches(programs[threads][name], sentences, size, beam)
            seconds[name, threads].append(time.perf_counter() - start)
    best = {name: min(programs, key=lambda n: median(seconds[name, n])) for name in names}
    work = [len(sentences)] * rounds
    figures = compare({name: seconds[name, best[name]] for name in names}, work, BASELINES)
    for name, row in figures.items():
        row["threads"] = best[name]
        row["with_threads"] = {n: median_ratio(work, seconds[name, n]) for n in programs}
    return figures


def section(size: int, beam: int, figures: dict[str, Any]) -> str:
    """Write the part of the Markdown file about one case."""
    how = "greedy" if beam == 1 else f"beam {beam}"
    rows = [
        {"": name, "sentences per second": row["per_second"]}
        | {"threads": row["threads"]}
        | {f"with {n} thread{'s' * (n > 1)}": each for n, each in row["with_threads"].items()}
        | {f"times {baseline}": ratio for baseline, ratio in row["times"].items()}
        | {"same output": f"{row['same_output']:.0%}"}
        for name, row in figures.items()
    ]
    return f"## {size} at a time, {how}\n\n{table(rows)}"


NOTES = f"""\
{SIZE.d_model} / {SIZE.heads} heads / {SIZE.encoder_layers} + {SIZE.decoder_layers} layers / \
{SIZE.d_ff}, {SIZE.target_vocab:,} tokens, random weights, the same for all; 32 bits. Sources of \
10 to 25 random tokens, {NEW_TOKENS} new tokens for each sentence. "Same output" is the share of \
{SENTENCES[100]} sentences that come out as from our decoder without a cache. Each program counts \
with the number of threads that suits it."""


def main() -> None:
    """Check, measure, print and write."""
    arguments = options(__doc__, rounds=7).parse_args()
    model, sentences = talkative_model(), random_sentences(max(SENTENCES.values()))
    results, sections = {}, [NOTES, *skipped()]
    with tempfile.TemporaryDirectory() as folder:
        programs = {
            threads: contestants(model, Path(folder, str(threads)), threads)
            for threads in range(1, arguments.threads + 1)
        }
        # This also warms every program up.
        same = {beam: check_same_output(programs[1], sentences, beam) for beam in (1, 4)}
        for size, beam in CASES:
            some = sentences[: SENTENCES[size]]
            figures = measure(programs, some, size, beam, arguments.rounds)
            for name, row in figures.items():
                row["same_output"] = same[beam][name]
            results[f"batch_{size}_beam_{beam}"] = figures
            sections.append(section(size, beam, figures))
            print(sections[-1], flush=True)
    write_tables("decoding_speed", arguments, results, "Decoding speed", sections)


if __name__ == "__main__":
    main()
