"""The results of training runs that no lesson has the time to repeat.

``python -m tools.recorded_runs`` and, for text cut by Moses' rules, ``python -m
tools.moses_text_run`` make them again; ``python -m tools.own_text_runs`` those of lesson 13, and
``python -m tools.captions_by_pairs`` those on fewer captions. What lesson 9 compares two runs by is
counted by ``python -m tools.moses_counts``.
"""

from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
from jaxtyping import Int

from transformer_course.translation.checkpoints import read_json

RESULTS = Path(__file__).parents[2] / "results"
BY_PAIRS = RESULTS / "captions-by-pairs.json"
OWN_TEXT = RESULTS / "own-text.json"
MOSES_COUNTS = RESULTS / "moses-counts.json"


SHIPS = {"en-fr": "long", "en-de": "pieces"}
"""The recipe of each translator of captions that ships."""


def recorded_run(pair: str, recipe: str | None = None) -> dict[str, Any]:
    """Return what a run on Multi30k gave, with all that is needed to repeat it.

    Parameters
    ----------
    pair
        ``"en-fr"`` or ``"en-de"``.
    recipe
        ``"long"``: 20,000 steps; ``"pieces"``, for ``"en-de"`` only: as many, with 10,000 pieces
        and not 6,000; ``"short"``: 10,000 steps, of fewer words each; ``"moses"``, for ``"en-de"``
        only: the long recipe on lower-cased text that Moses' rules have cut, of which
        ``bleu_tokenized_lowercase``, steps, minutes and the ``translations`` by beam search are
        known. By default the one whose first seed is the translator that ships.

    Returns
    -------
    results
        ``sacrebleu`` (mean over the seeds, beam search, test split), ``signature``,
        ``bleu_tokenized_lowercase``, ``chrf``, ``seeds`` (steps, minutes and scores of each),
        ``parameters``, ``settings``, ``command``, ``machine``, ``date``, ``versions``, and of the
        first seed ``curve`` (the dev split's scores against steps and minutes) and
        ``translations`` of the test split, ``greedy`` and by ``beam_5``.

    Raises
    ------
    ValueError
        If there is no such run.
    """
    recipe = recipe or SHIPS.get(pair, "long")
    path = results_file(pair, recipe)
    if not path.is_file():
        known = sorted(file.stem.removeprefix("multi30k-") for file in RESULTS.glob("multi30k-*"))
        raise ValueError(
            f"no run is recorded for {pair!r}, {recipe!r}; there is: "
            f"{', '.join(known) or 'none yet'}."
        )
    return read_json(path)


def results_file(pair: str, recipe: str) -> Path:
    """Return where the results of a run are kept."""
    return RESULTS / f"multi30k-{pair}-{recipe}.json"


def own_text_runs() -> dict[str, Any]:
    """Return what 3,000 captions, German into French, gave with 1,500 and with 6,000 sub-words.

    Returns
    -------
    results
        ``runs``, for each number of ``pieces`` and each ``seed``: the ``curve`` on the dev split,
        ``dev_bleu`` and ``test_bleu`` in the end, and ``counts`` of the test split, as
        :func:`~transformer_course.translation.sentence_counts` returns them; besides ``command``,
        ``machine``, ``date``, ``signature``, ``settings`` and the pairs of each split.
    """
    stored = read_json(OWN_TEXT)
    runs = [run | {"counts": _table(run["counts"])} for run in stored["runs"]]
    return stored | {"runs": runs}


def moses_counts() -> dict[str, Int[np.ndarray, "sentences 10"]]:
    """Return what BLEU needs of each German test sentence, in lower-cased words of Moses' rules.

    Returns
    -------
    counts
        Of the translator that ships, ``"shipped"``; of the long run, ``"plain text"``, and of the
        same on Moses' text, ``"text like theirs"``. All by beam search, one seed each. Columns as
        :func:`~transformer_course.translation.sentence_counts` has them.
    """
    return {name: _table(rows) for name, rows in read_json(MOSES_COUNTS)["counts"].items()}


def _table(rows: list[str]) -> Int[np.ndarray, "sentences 10"]:
    return np.array([list(map(int, row.split())) for row in rows])


def scores_by_pairs() -> list[dict[str, Any]]:
    """Return what the usual recipe reaches on captions with so many sentence pairs.

    Returns
    -------
    results
        For each number of ``pairs`` and each ``seed`` the ``bleu`` and ``chrf`` of the test split,
        by beam search, with ``steps`` and ``minutes``.
    """
    return read_json(BY_PAIRS)["runs"]


def what_to_expect(pairs: int) -> str:
    """Say what so many sentence pairs may be enough for, from recorded runs on captions."""
    scores: dict[int, list[float]] = {}
    for run in scores_by_pairs():
        scores.setdefault(run["pairs"], []).append(run["bleu"])
    means = {size: fmean(of_size) for size, of_size in scores.items()}
    known = ", ".join(f"{bleu:.0f} with {size:,}" for size, bleu in sorted(means.items()))
    advice = (
        "Expect single words and phrases; more text, as clean, helps more than most settings."
        if pairs < min(means)
        else "Where your sentences are longer or of more kinds than captions, expect less."
    )
    return (
        f"On captions of photographs, English into French, the usual settings reach these BLEU: "
        f"{known} pairs. You have {pairs:,}. {advice}"
    )
