"""The results of the long runs, which no lesson has the time to repeat.

``python -m tools.recorded_runs`` makes them again.
"""

from pathlib import Path
from typing import Any

from transformer_course.translation.checkpoints import read_json

RESULTS = Path(__file__).parents[2] / "results"


def recorded_run(pair: str) -> dict[str, Any]:
    """Return what the long runs on Multi30k gave, with all that is needed to repeat them.

    Parameters
    ----------
    pair
        ``"en-fr"`` or ``"en-de"``.

    Returns
    -------
    results
        ``sacrebleu`` (mean over the seeds, beam search, test split), ``signature``,
        ``bleu_tokenized_lowercase``, ``chrf``, ``train_minutes``, ``seeds`` (the scores of each),
        ``parameters``, ``settings``, ``command``, ``machine``, ``date``, ``versions``, ``curve``
        (the dev split's scores against minutes) and ``translations`` of the test split, all of the
        first seed.

    Raises
    ------
    ValueError
        If there is no such run.
    """
    path = RESULTS / f"multi30k-{pair}.json"
    if not path.is_file():
        known = ", ".join(file.stem.removeprefix("multi30k-") for file in RESULTS.glob("*.json"))
        raise ValueError(f"no run is recorded for {pair!r}; there is: {known or 'none yet'}.")
    return read_json(path)
