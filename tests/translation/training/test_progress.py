"""Lines and advice while a training goes on."""

from types import SimpleNamespace

import pytest

from transformer_course.translation.corpora.corpus import SentencePair
from transformer_course.translation.training.progress import advice, line, reporting, verdict
from transformer_course.translation.training.recorded_runs import own_text_runs, recorded_run

VOCABULARY = 1000  # ln V = 6.91


def history(losses: list[float], dev: list[float], bleu: list[float]) -> list[dict]:
    names = ("train_loss", "dev_loss", "dev_bleu")
    return [
        {"step": 10 * n, "seconds": 60.0 * n} | dict(zip(names, row, strict=True))
        for n, row in enumerate(zip(losses, dev, bleu, strict=True), start=1)
    ]


def test_good_training_gets_no_advice() -> None:
    falling = [6.0 - 0.5 * n for n in range(8)]
    assert advice(history(falling, falling, [5.0 * n for n in range(8)]), VOCABULARY) == {}


def test_loss_of_guessing_is_said() -> None:
    found = advice(history([6.9], [6.9], [0.0]), VOCABULARY)
    assert "still that of guessing, ln 1,000 = 6.91" in found["guessing"]
    assert "guessing" not in advice(history([6.5], [6.9], [0.0]), VOCABULARY)


@pytest.mark.parametrize(
    ("bleu", "kind"), [([9, 9, 8, 8, 8, 8, 8], "by heart"), ([5, 6, 9, 10, 11, 12, 12], "too sure")]
)
def test_dev_loss_that_rises_for_long_is_said(bleu: list[float], kind: str) -> None:
    rising = [3.0, 2.9, 3.0, 3.1, 3.2, 3.3, 3.4]
    falling = [4.0, 3.0, 2.0, 1.5, 1.2, 1.1, 1.0]
    assert [*advice(history(falling, rising, bleu), VOCABULARY)] == [kind]
    assert advice(history(falling[:6], rising[:6], bleu[:6]), VOCABULARY) == {}


@pytest.mark.parametrize(
    ("progress", "words"),
    [(0.5, "60 s left"), (0.1, "9 min left"), (0.005, "3.3 h left")],
)
def test_line_says_what_is_left(progress: float, words: str) -> None:
    said = line(history([5.0], [4.0], [3.0]), progress, 2000)
    assert said.startswith(f"step 10 of 2,000, {words}: loss 5.00, on dev 4.00, BLEU 3.0")


def test_training_that_ended_too_early_is_said() -> None:
    falling = history([5.0] * 4, [5.0, 4.5, 4.2, 4.1], [0.1] * 4)
    assert verdict(falling).startswith("The dev loss fell until the last look, by 0.10 in the last")
    assert verdict(falling[:1]) == ""
    assert verdict(history([5.0] * 4, [5.0, 4.1, 4.2, 4.11], [0.1] * 4)) == ""


def test_no_recorded_training_ended_too_early() -> None:
    curves = [run["curve"] for run in own_text_runs()["runs"]]
    for pair in ("en-fr", "en-de"):
        curves += [recorded_run(pair, recipe)["curve"] for recipe in ("short", "long")]
    assert len(curves) == 10
    assert [verdict(curve) for curve in curves] == [""] * 10


@pytest.mark.parametrize(
    ("step", "steps", "advised"), [(1, 1, False), (100, 100, True), (150, 1000, False)]
)
def test_advice_waits_until_a_right_training_would_have_learned_something(
    step: int, steps: int, advised: bool, unchecked_signatures: None
) -> None:
    pairs = [SentencePair("a dog", "un chien"), SentencePair("a cat", "un chat")]
    trainer = SimpleNamespace(
        dev=SimpleNamespace(pairs=pairs),
        settings=SimpleNamespace(minutes=None, steps=steps, warmup=0.1),
        translator=SimpleNamespace(translate=lambda sentences: [""] * len(sentences)),
        progress=step / steps,
        model=SimpleNamespace(config=SimpleNamespace(target_vocab=VOCABULARY)),
    )
    said: list[str] = []
    reporting(trainer, said.append)([history([6.9], [6.9], [0.0])[0] | {"step": step}])
    assert said[0].startswith(f"step {step:,} of {steps:,}")
    assert any("guessing" in words for words in said) == advised
    assert any("translated alike" in words for words in said) == advised
