"""Measure what lesson 10's variants are worth, and write it down.

    python -m tools.variant_runs positions
    python -m tools.variant_runs recall
    python -m tools.variant_runs corrections
    python -m tools.variant_runs steady
    python -m tools.variant_runs experts
    python -m tools.variant_runs captions --data FOLDER
    python -m tools.variant_runs longer --data FOLDER
    python -m tools.variant_runs gpt --data FOLDER

Each kind and seed is written to ``results/variants-WHAT.json`` when it is done and is not run
again, so what was stopped goes on where it was. The first five take seconds a run, captions
three minutes (all kinds with three seeds: an hour and a quarter), longer as many, and gpt
more than half an hour.
"""

import argparse
import random
import time
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

from tools.command import command
from transformer_course.model import FeedForward, LayerNorm, SinusoidalPositionalEncoding
from transformer_course.model import variants as v
from transformer_course.model.transformer import initialise_linear_layers
from transformer_course.model.variants import small_tasks as tasks
from transformer_course.translation import (
    BOS,
    EOS,
    PAD,
    RECIPES,
    SubwordTokenizer,
    Trainer,
    Translator,
    Vocabulary,
    evaluate,
    learn_subwords,
    multi30k_corpus,
    pad_rows,
    scores,
    toy_corpus,
)
from transformer_course.translation.checkpoints import read_json, write_json
from transformer_course.translation.training.recipe import Recipe
from transformer_course.translation.training.recorded_runs import RESULTS
from transformer_course.translation.training.runs import environment

LENGTHS = (8, 16, 24, 28, 32, 40, 48, 64)
PAIRS = (2, 4, 8, 16, 32)
SEEDS = {
    "positions": 5,
    "recall": 5,
    "corrections": 5,
    "steady": 3,
    "experts": 3,
    "captions": 3,
    "longer": 3,
    "gpt": 1,
}
RATES = (4e-3, 6.4e-2, 2.56e-1)  # Adam's, of the small GPT: lesson 10's, 16 and 64 times as high
TOY_STEPS = 300
STEPS = 1000
LONGER = {"steps": 3 * STEPS, "evaluate_every": 1000, "dev_sentences": 1014}
SMALLER = {"d_model": 64, "d_ff": 128, "encoder_layers": 2, "decoder_layers": 2}
SMALLER_SUBWORDS = 2000
GPT_STEPS = {"captions": 1000, "translations": 3000}
LONGEST = 128  # tokens of a text that the GPT writes

Row = dict[str, Any]


def rms_norm(network: nn.Module) -> None:
    """Exchange every layer norm."""
    v.replace_parts(network, LayerNorm, lambda norm: v.RMSNorm(len(norm.gain)))


def gelu(network: nn.Module) -> None:
    """Exchange every ReLU."""
    v.replace_parts(network, FeedForward, lambda part: _as_started(v.GELUFeedForward, part))


def swiglu(network: nn.Module) -> None:
    """Exchange every feed-forward network for a gated one of as many weights."""
    v.replace_parts(network, FeedForward, lambda part: _as_started(v.SwiGLU, part))


def rotary(network: nn.Module) -> None:
    """Turn queries and keys in self-attention, and add no positions to the words."""
    for part in network.modules():
        if isinstance(part, SinusoidalPositionalEncoding):
            part.encoding.zero_()
    v.look_up_by(network, lambda attention: v.rotary_attention)


def _as_started(kind: Callable[[int, int], nn.Module], part: FeedForward) -> nn.Module:
    """Make a feed-forward network that starts as the course's do, by Xavier's scale."""
    new = kind(part.expand.in_features, part.expand.out_features)
    initialise_linear_layers(new)
    return new


# What is done to lesson 9's translator, whose norms come first.
CAPTIONS: dict[str, tuple[Callable[[nn.Module], object], ...]] = {
    "as in lesson 9": (),
    "norm after the sum": (),
    "RMSNorm": (rms_norm,),
    "GELU": (gelu,),
    "SwiGLU": (swiglu,),
    "no biases": (v.without_biases,),
    "rotary": (rotary,),
    "all that Llama has": (rms_norm, swiglu, rotary, v.without_biases),
}


def run_positions(kind: str, seed: int, options: argparse.Namespace) -> Row:
    """Train on 8 to 24 tokens, ask on up to 64."""
    network = tasks.three_back(kind, seed)
    right = {n: tasks.share_right(network, tasks.draw_three_back, n) for n in LENGTHS}
    return {"right": right}


def run_recall(kind: str, seed: int, options: argparse.Namespace) -> Row:
    """Train on 2 to 32 pairs, ask on each number of them."""
    network = tasks.recall(kind, seed)
    return {"right": {n: tasks.share_right(network, tasks.draw_recall, n, 1000) for n in PAIRS}}


def run_corrections(kind: str, seed: int, options: argparse.Namespace) -> Row:
    """Do the same where each name comes with two numbers."""
    network = tasks.corrections(kind, seed)
    right = {n: tasks.share_right(network, tasks.draw_corrections, n, 1000) for n in PAIRS}
    return {"right": right}


def run_steady(kind: str, seed: int, options: argparse.Namespace) -> Row:
    """Train lesson 10's small GPT at several learning rates."""
    losses = {}
    for rate in RATES:
        network, texts, dev = _toy_gpt(seed)
        if kind == "QK-norm":
            v.look_up_by(network, lambda attention: v.NormedAttention(d_k=16))
        _train_toy_gpt(network, texts, seed, rate)
        losses[str(rate)] = _loss(network.eval(), dev).item()
    return {"loss": losses}


def run_experts(kind: str, seed: int, options: argparse.Namespace) -> Row:
    """Train it with eight experts in each layer, two for each token."""
    network, texts, dev = _toy_gpt(seed)
    made = []

    def make(part: FeedForward) -> nn.Module:
        d_model, d_ff = part.expand.in_features, part.expand.out_features
        made.append(v.Experts(d_model, 8, 2, lambda: v.SwiGLU(d_model, d_ff // 2)))
        return made[-1]

    if kind != "one network":
        v.replace_parts(network, FeedForward, make)
    weight = 0.01 if kind == "experts, balanced" else 0.0
    _train_toy_gpt(
        network, texts, seed, RATES[0], lambda: weight * sum(part.imbalance for part in made)
    )
    loss = _loss(network.eval(), dev).item()
    held = sum(weight.numel() for weight in network.parameters())
    idle = sum(held - used for held, used in (part.weights_held_and_used() for part in made))
    loads = [sorted(part.load.tolist(), reverse=True) for part in made]
    return {"loss": loss, "held": held, "used": held - idle, "loads": loads}


def _toy_gpt(seed: int) -> tuple[nn.Module, list[list[int]], torch.Tensor]:
    """Return lesson 10's small GPT, and the English sentences of the toy language as ids."""
    corpus = toy_corpus()
    sentences = {
        name: [pair.source.split() for pair in corpus.split(name)] for name in ("train", "dev")
    }
    vocabulary = Vocabulary.from_sentences(sentences["train"])
    texts, dev = (
        [[BOS, *vocabulary.encode(words), EOS] for words in sentences[name]]
        for name in ("train", "dev")
    )
    torch.manual_seed(seed)
    return v.DecoderOnly(len(vocabulary), max_len=48), texts, pad_rows(dev[:500], PAD)


def _train_toy_gpt(
    network: nn.Module,
    texts: list[list[int]],
    seed: int,
    rate: float,
    more_loss: Callable[[], Any] = lambda: 0,
) -> None:
    optimizer = torch.optim.Adam(network.parameters(), betas=(0.9, 0.98))
    chance = random.Random(seed)
    for step in range(TOY_STEPS):
        now = rate * min(1, (step + 1) / 60, 2 * (1 - step / TOY_STEPS))
        optimizer.param_groups[0]["lr"] = now
        loss = _loss(network, pad_rows(chance.sample(texts, 64), PAD)) + more_loss()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def _loss(network: nn.Module, ids: torch.Tensor) -> torch.Tensor:
    """Return the cross-entropy of the next tokens, in nats."""
    logits = network(ids[:, :-1]).flatten(0, 1)
    return F.cross_entropy(logits, ids[:, 1:].flatten(), ignore_index=PAD)


def run_captions(kind: str, seed: int, options: argparse.Namespace) -> Row:
    """Train lesson 9's translator with other parts."""
    recipe = RECIPES["multi30k"]
    training = replace(recipe.training, steps=STEPS, seed=seed)
    return _train_captions(kind, replace(recipe, training=training), options)


def run_longer(kind: str, seed: int, options: argparse.Namespace) -> Row:
    """Train a smaller one three times as long, and look at the whole dev split."""
    recipe = RECIPES["multi30k"]
    sizes = recipe.sizes | SMALLER
    training = replace(recipe.training, seed=seed, **LONGER)
    smaller = replace(recipe, training=training, sizes=sizes, subwords=SMALLER_SUBWORDS)
    return _train_captions(kind, smaller, options)


def _train_captions(kind: str, recipe: Recipe, options: argparse.Namespace) -> Row:
    corpus = multi30k_corpus("en-fr", options.data)
    sizes = recipe.sizes | {"norm_first": kind != "norm after the sum"}
    pairs = corpus.without_long(recipe.most_words).split("train")
    choices = {"subwords": recipe.subwords, "seed": recipe.training.seed}
    translator = Translator.from_pairs(pairs, ("en", "fr"), **choices, **sizes)
    torch.manual_seed(recipe.training.seed)  # for the parts that are exchanged
    for change in CAPTIONS[kind]:
        change(translator.model)
    history = Trainer(translator, pairs, corpus.split("dev"), recipe.training).train()
    return {
        "weights": sum(weight.numel() for weight in translator.model.parameters()),
        "dev_loss": min(row["dev_loss"] for row in history),
        "dev_bleu": history[-1]["dev_bleu"],
        "test": evaluate(translator, corpus.split("test")),
        "settings": asdict(recipe.training) | sizes | choices,
    }


def run_gpt(kind: str, seed: int, options: argparse.Namespace) -> Row:
    """Train a decoder on French captions, then on lines of ``english = french``."""
    corpus, recipe = multi30k_corpus("en-fr", options.data), RECIPES["multi30k"]
    pairs, test = corpus.without_long(recipe.most_words).split("train"), corpus.split("test")
    lines = [f"{pair.source} = {pair.target}" for pair in pairs]
    tokenizer = SubwordTokenizer("fr", learn_subwords(lines, recipe.subwords))
    torch.manual_seed(seed)
    sizes = {"d_model": 128, "heads": 4, "layers": 4, "d_ff": 256, "dropout": 0.1}
    network = v.DecoderOnly(len(tokenizer.vocabulary), max_len=2 * LONGEST, **sizes)
    captions = [pair.target for pair in pairs]
    _train_gpt(network, tokenizer, captions, GPT_STEPS["captions"])
    written = {str(t): _write(network, tokenizer, t, set(captions)) for t in (0.5, 1.0, 1.5)}
    _train_gpt(network, tokenizer, lines, GPT_STEPS["translations"])
    translations = _translate(network, tokenizer, [pair.source for pair in test])
    return {
        "weights": sum(weight.numel() for weight in network.parameters()),
        "written": written,
        "test": scores(translations, [pair.target for pair in test], "fr"),
        "translations": translations[:10],
        "settings": sizes | {"steps": GPT_STEPS, "subwords": recipe.subwords},
    }


def _train_gpt(network: nn.Module, tokenizer: SubwordTokenizer, lines: list[str], steps: int):
    """Train as lesson 10 does, at half its rate: this network is wider and deeper."""
    texts = [[BOS, *tokenizer.encode(line), EOS][:LONGEST] for line in lines]
    optimizer = torch.optim.Adam(network.parameters(), betas=(0.9, 0.98))
    chance = random.Random(0)
    network.train()
    for step in range(steps):
        rate = 2e-3 * min(1, (step + 1) / 100, 1.1 * (1 - step / steps))
        optimizer.param_groups[0]["lr"] = rate
        ids = pad_rows(chance.sample(texts, 64), PAD)
        loss = _loss(network, ids)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def _write(
    network: nn.Module, tokenizer: SubwordTokenizer, temperature: float, known: set[str]
) -> Row:
    """Let the network write 200 captions."""
    generator = torch.Generator().manual_seed(0)

    def choose(logits: torch.Tensor) -> torch.Tensor:
        return (logits / temperature).softmax(dim=-1).multinomial(1, generator=generator)[:, 0]

    rows = network.complete(torch.full((200, 1), BOS), EOS, LONGEST, choose)
    said = [tokenizer.decode(row) for row in rows.tolist()]
    return {"new": sum(text not in known for text in said) / len(said), "first": said[:3]}


def _translate(network: nn.Module, tokenizer: SubwordTokenizer, sentences: list[str]) -> list[str]:
    """Let the network go on after each ``english =``; similar lengths go together."""
    prompts = [[BOS, *tokenizer.encode(f"{sentence} =")] for sentence in sentences]
    order = sorted(range(len(prompts)), key=lambda number: len(prompts[number]))
    translations = [""] * len(prompts)
    for start in range(0, len(order), 100):
        numbers = order[start : start + 100]
        rows = network.complete(
            pad_rows([prompts[n] for n in numbers], PAD), EOS, 2 * LONGEST
        ).tolist()
        for number, row in zip(numbers, rows, strict=True):
            translations[number] = tokenizer.decode(row[len(prompts[number]) :])
    return translations


WHATS: dict[str, tuple[list[str], Callable[[str, int, argparse.Namespace], Row]]] = {
    "positions": ([*tasks.POSITIONS], run_positions),
    "recall": ([*tasks.RECALLS], run_recall),
    "corrections": ([*tasks.CORRECTIONS], run_corrections),
    "steady": (["usual", "QK-norm"], run_steady),
    "experts": (["one network", "experts", "experts, balanced"], run_experts),
    "captions": ([*CAPTIONS], run_captions),
    "longer": (["as in lesson 9", "rotary", "all that Llama has"], run_longer),
    "gpt": (["GPT"], run_gpt),
}


def main() -> None:
    """Run what is not in the file yet, seed by seed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=[*WHATS])
    parser.add_argument("--seeds", type=int, help="how many; by default as many as are recorded")
    parser.add_argument("--data", type=Path, help="folder with the Multi30k files")
    options = parser.parse_args()
    torch.set_num_threads(1)
    kinds, run = WHATS[options.what]
    file = RESULTS / f"variants-{options.what}.json"
    runs = read_json(file)["runs"] if file.is_file() else []
    for seed in range(options.seeds or SEEDS[options.what]):
        for kind in kinds:
            if any((row["kind"], row["seed"]) == (kind, seed) for row in runs):
                continue
            start = time.process_time()
            row = {"kind": kind, "seed": seed} | run(kind, seed, options)
            runs.append(row | {"seconds": round(time.process_time() - start, 1)})
            how = {"command": command("tools.variant_runs")} | environment()
            write_json(file, how | {"runs": runs})
            print(runs[-1], flush=True)


if __name__ == "__main__":
    main()
