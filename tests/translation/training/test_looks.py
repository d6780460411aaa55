"""Looks at a test split, as they are noted and as somebody may have changed the notes."""

import errno
import json
from pathlib import Path

import pytest

from transformer_course.translation import Translator, bleu, sentence_counts, toy_checkpoint
from transformer_course.translation.checkpoints import CheckpointError
from transformer_course.translation.corpora.corpus import SentencePair
from transformer_course.translation.training import looks
from transformer_course.translation.training.looks import (
    LOOKS_FILE,
    NEVER,
    End,
    Measured,
    looks_in,
    measured_in,
    note_look,
)
from transformer_course.translation.training.recipes import RECIPES
from transformer_course.translation.training.runs import RUN_FILE, Run, steps_trained
from transformer_course.translation.translator import shipped_checkpoint, shipped_names

PAIRS = [
    SentencePair("the cat sleeps", "le chat dort"),
    SentencePair("a dog eats", "un chien mange"),
]
SAID = ["le chat mange", "un chien mange"]


@pytest.fixture(scope="module")
def translator() -> Translator:
    return Translator.load(toy_checkpoint())


def test_look_is_noted_with_what_bleu_needs(tmp_path: Path, translator: Translator) -> None:
    noted = [note_look(tmp_path, by, 1, translator, PAIRS, SAID) for by in ("report", "card")]
    assert looks_in(tmp_path) == noted
    assert [look.by for look in noted] == ["report", "card"]
    references = [pair.target for pair in PAIRS]
    assert (noted[0].table == sentence_counts(SAID, references, "fr")).all()
    assert noted[0].languages == ["en", "fr"]


def test_notes_hold_no_sentence(tmp_path: Path, translator: Translator) -> None:
    note_look(tmp_path, "report", 1, translator, PAIRS, SAID)
    text = (tmp_path / LOOKS_FILE).read_text(encoding="utf-8")
    assert not any(word in text for word in ("chat", "chien", "cat", "dog"))


def test_translators_that_ship_get_no_notes(translator: Translator) -> None:
    note_look(toy_checkpoint(), "report", 1, translator, PAIRS, SAID)
    assert not (toy_checkpoint() / LOOKS_FILE).exists()


def test_folder_without_notes_has_no_looks(tmp_path: Path) -> None:
    assert looks_in(tmp_path) == []


def test_a_run_is_measured_by_looks_after_its_training(
    tmp_path: Path, translator: Translator
) -> None:
    run = Run("toy", RECIPES["toy"])
    run.write(tmp_path, ended="2026-11-27T10:00:00+00:00")
    assert measured_in(tmp_path) is None
    by_beam = note_look(tmp_path, "report", 5, translator, PAIRS, SAID)
    assert measured_in(tmp_path) == Measured(bleu(SAID, [p.target for p in PAIRS], "fr"), 2, 5)
    assert measured_in(tmp_path).search == "a beam of 5"
    note_look(tmp_path, "evaluate", 1, translator, PAIRS, SAID)
    note_look(tmp_path, "report", 5, translator, PAIRS, SAID)
    assert measured_in(tmp_path).search == "a greedy search"
    run.write(tmp_path)  # the training goes on
    assert measured_in(tmp_path) is None
    run.write(tmp_path, ended=by_beam.at.replace("20", "21", 1))
    assert measured_in(tmp_path) is None


def test_a_training_without_an_end_ends_now_at_whatever_step() -> None:
    ended = End(step=7).after(7)
    assert ended.at < NEVER
    assert ended.after(7) == ended


@pytest.mark.parametrize("name", shipped_names())
def test_translators_that_ship_have_their_scores(name: str) -> None:
    folder = shipped_checkpoint(name)
    stored = json.loads((folder / RUN_FILE).read_text(encoding="utf-8"))["scores"]
    score = stored["test" if name == "toy" else "greedy"]["sacrebleu"]
    assert measured_in(folder) == Measured(score, 1000, 1)
    assert steps_trained(folder) > 0


@pytest.mark.parametrize(
    "changes",
    [
        {"beam": "x"},
        {"beam": 0},
        {"counts": []},
        {"counts": [[1, 2, 3]]},
        {"counts": [[1.5] * 10]},
        {"counts": [[-1] * 10]},
        {"counts": [[10**9] * 10]},
        {"counts": 5},
        {"at": "yesterday"},
        {"at": "2026-11-27T10:00:00+05:00"},
        {"languages": ["en"]},
        {"test": 5},
        {"more": 1},
    ],
)
def test_damaged_notes_are_refused(
    tmp_path: Path, translator: Translator, changes: dict[str, object]
) -> None:
    note_look(tmp_path, "report", 1, translator, PAIRS, SAID)
    path = tmp_path / LOOKS_FILE
    path.write_text(json.dumps(json.loads(path.read_text(encoding="utf-8")) | changes))
    with pytest.raises(CheckpointError, match="is damaged"):
        looks_in(tmp_path)


@pytest.mark.parametrize("text", ["{", "[" * 100_000, "[]", "null", "é"])
def test_notes_that_are_none_are_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / LOOKS_FILE).write_bytes(text.encode("latin-1"))
    with pytest.raises(CheckpointError, match="is damaged"):
        looks_in(tmp_path)


def test_a_full_disk_costs_no_earlier_look(
    tmp_path: Path, translator: Translator, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = note_look(tmp_path, "report", 1, translator, PAIRS, SAID)

    def full(file: Path, content: bytes) -> None:
        with file.open("wb") as there:
            there.write(content[:20])
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(Path, "write_bytes", full)
        with pytest.raises(OSError, match="No space left"):
            note_look(tmp_path, "card", 1, translator, PAIRS, SAID)
    assert looks_in(tmp_path) == [before]


@pytest.mark.parametrize("number", [errno.EACCES, errno.EPERM, errno.EROFS])
def test_where_nobody_may_write_nothing_is_noted(
    tmp_path: Path, translator: Translator, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError(number, "no")

    monkeypatch.setattr(looks, "atomic_write", refuse)
    assert note_look(tmp_path, "card", 1, translator, PAIRS, SAID).by == "card"
    assert looks_in(tmp_path) == []
