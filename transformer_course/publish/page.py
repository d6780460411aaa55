"""The page: the translator's script, what the reader sees of it, and what it was made from."""

import random
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from string import Template

from transformer_course.files import write_text
from transformer_course.plots.book import script_json
from transformer_course.publish.checkpoint import checkpoint
from transformer_course.publish.document import check_page, framed, paragraph, shades, web_file
from transformer_course.publish.rule_of_thumb import meaning_of
from transformer_course.translation.corpora.languages import language_name
from transformer_course.translation.corpora.toy_language import toy_corpus
from transformer_course.translation.training.looks import Measured, measured_in
from transformer_course.translation.training.runs import (
    Run,
    doubt_in,
    pairs_trained,
    steps_trained,
)
from transformer_course.translation.translator import (
    CAPTIONS,
    Translator,
    parameters_by_name,
)

SCRIPTS = (
    "translator.js",
    "search.js",
    "tokenizers.js",
    "checkpoint.js",
    "drawing.js",
    "view.js",
)
"""They follow the data, in this order."""
STYLE = "translator.css"
EXAMPLES = 20
PART = 1_000_000
"""Characters of the weights that a script brings at most, so that a page can show progress."""
PAIRS_OF = {
    "toy": "made up in the course's toy language",
    "files": "a text that its maker brought",
    "multi30k": "captions of photographs from Multi30k",
    "wmt14": "proceedings of the European Parliament",
}
"""What the sentence pairs of a corpus are, for people who do not know it."""


@dataclass(frozen=True)
class Choice:
    """A translator that the reader of a page may choose.

    Attributes
    ----------
    name
        Under which its scripts bring it; see :func:`translator_scripts`.
    title
        What its button says; a page with a single choice has no button.
    scripts
        Files beside the page's other scripts, which it loads when the reader asks for it.
    megabytes
        Their size.
    """

    name: str
    title: str = ""
    scripts: Sequence[str] = ()
    megabytes: float = 0.0


def write_page(folder: Path, path: Path) -> None:
    """Write a page that translates with the weights of a run; a page already there is replaced.

    Parameters
    ----------
    folder
        What ``transformer-course train --output`` wrote.
    path
        The page, which needs no other file and no network.

    Raises
    ------
    CheckpointError
        If the folder holds no run, or a damaged one.
    ValueError
        If the page's name does not end in ``.html``, or as
        :func:`~transformer_course.publish.checkpoint.checkpoint`.
    OSError
        If the page cannot be written; what was there before is untouched.
    """
    check_page(path)
    run = Run.read(folder)
    translator = Translator.load(folder)
    source, target = translator.source.language, translator.target.language
    scripts = [
        opening_script([Choice("published")]),
        *translator_scripts(
            "published", translator, _examples(run.corpus, source), doubt_in(folder)
        ),
        *map(web_file, SCRIPTS),
    ]
    quality = _quality(run, pairs_trained(folder), measured_in(folder))
    content = Template(web_file("published.html")).substitute(
        quality=paragraph(quality), translator=web_file("translator.html")
    )
    title = f"A translator from {language_name(source)} into {language_name(target)}"
    origin = _origin(translator, run, steps_trained(folder))
    write_text(path, framed(title, STYLE, content, origin, scripts))


def opening_script(choices: Sequence[Choice]) -> str:
    """Return the script that goes before all others: colours, and what the reader may choose.

    The page opens with the first choice, whose scripts it must bring itself.
    """
    constants = {
        "SHADES": shades(),
        "CHOICES": [asdict(choice) for choice in choices],
        "TRANSLATORS": {},
    }
    return "".join(f"const {name} = {script_json(value)};\n" for name, value in constants.items())


def translator_scripts(
    name: str, translator: Translator, examples: Sequence[str], doubt: float | None = None
) -> list[str]:
    """Return the scripts that bring a translator and its examples, to be loaded in this order.

    ``doubt`` is the mean log-probability below which the translator is not sure, if it is known.

    Raises
    ------
    ValueError
        As :func:`~transformer_course.publish.checkpoint.checkpoint`.
    """
    content = checkpoint(translator) | {"examples": examples, "doubt": doubt}
    weights, content["weights"] = content["weights"], ""
    place = f"TRANSLATORS[{script_json(name)}]"
    parts = [weights[start : start + PART] for start in range(0, len(weights), PART)]
    return [
        f"{place} = {script_json(content)};\n",
        *(f"{place}.weights += {script_json(part)};\n" for part in parts),
    ]


def toy_examples() -> list[str]:
    """Return sentences of the toy corpus' test split, always the same ones."""
    pairs = toy_corpus().split("test")
    return [pair.source for pair in random.Random(0).sample(pairs, EXAMPLES)]


def caption_examples() -> list[str]:
    """Return captions that a translator trained on Multi30k can read."""
    return CAPTIONS.read_text(encoding="utf-8").splitlines()[:EXAMPLES]


def _examples(corpus: str, language: str) -> list[str]:
    if corpus == "toy":
        return toy_examples()
    return caption_examples() if (corpus, language) == ("multi30k", "en") else []


def _quality(run: Run, pairs: int | None, measured: Measured | None) -> str:
    """Say how good the translator is, as far as that is known, and that it cannot tell itself."""
    began = "It began with the weights of another translator and" if run.start else "It"
    number = "" if pairs is None else f"{pairs:,} "
    if measured is None:
        judged = "; how good it is has not been measured, and it"
    else:
        judged = (
            f" and reaches a BLEU of {measured.bleu:.1f} (0 to 100, more is better; as a rule this "
            f"means: {meaning_of(measured.bleu)}) by {measured.search} on "
            f"{measured.sentences:,} pairs that were held out, but it"
        )
    return (
        f"{began} learned from {number}sentence pairs ({PAIRS_OF[run.corpus]}){judged} does not "
        f"know when it does not know: what sounds right may be wrong."
    )


def _origin(translator: Translator, run: Run, steps: int | None) -> str:
    """Say what the page was made from."""
    parameters = sum(tensor.numel() for tensor in parameters_by_name(translator.model).values())
    trained = "not yet trained to the end" if steps is None else f"trained for {steps:,} steps"
    return f"A Transformer with {parameters:,} parameters, {trained} on the corpus “{run.corpus}”."
