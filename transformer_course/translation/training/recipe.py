"""What to build and how to train it; in a file, TOML says it in three sections."""

import difflib
import json
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from types import NoneType
from typing import Any, get_args, get_type_hints

import torch

from transformer_course.checks import check_whole
from transformer_course.model import (
    MultiHeadAttention,
    TransformerConfig,
    angular_frequencies,
)
from transformer_course.translation.training.settings import TrainingSettings

Settings = dict[str, dict[str, Any]]
"""Values by section and name."""


@dataclass(frozen=True)
class Recipe:
    """What to build and how to train it.

    Parameters
    ----------
    training
        How to train.
    sizes
        Fields of :class:`~transformer_course.model.TransformerConfig`.
    min_frequency
        Words seen less often in training become ``<unk>``.
    subwords
        If given, this many sub-words for both languages take the place of words; ``"auto"`` goes by
        the size of the text.
    most_words
        If given, training pairs with more words than this on a side are left out.

    Raises
    ------
    ValueError
        If a number of the last three is no whole one of at least 1.
    """

    training: TrainingSettings
    sizes: dict[str, Any] = field(default_factory=dict)
    min_frequency: int = 1
    subwords: int | str | None = None
    most_words: int | None = None

    def __post_init__(self) -> None:
        check_whole("min_frequency", self.min_frequency)
        if isinstance(self.subwords, int):
            check_whole("subwords", self.subwords)
        if self.most_words is not None:
            check_whole("most_words", self.most_words)

    def settings(self) -> Settings:
        """Return all that can be chosen, with what this recipe chooses."""
        return {
            "model": {name: self.sizes.get(name, usual) for name, usual in MODEL.items()},
            "text": {name: getattr(self, name) for name in TEXT},
            "training": asdict(self.training),
        }

    def changed(self, settings: Mapping[str, Any]) -> "Recipe":
        """Return the recipe with other values; what is not given stays.

        Raises
        ------
        ValueError
            If there is no such setting, or it cannot have the value.
        """
        given = {
            section: {name: _taken(section, name, value) for name, value in values.items()}
            for section, values in _checked_sections(settings).items()
        }
        sizes = self.sizes | given["model"]
        if sizes.get("tying") == AUTO:
            del sizes["tying"]
        _check_sizes(sizes)
        training = replace(self.training, **given["training"])
        return replace(self, sizes=sizes, training=training, **given["text"])

    def with_seed(self, seed: int) -> "Recipe":
        """Return the recipe with another seed: two runs of one are equal but for their seeds."""
        return replace(self, training=replace(self.training, seed=seed))

    def in_words(self, meanings: Mapping[str, Mapping[str, str]]) -> str:
        """Return the settings as a file of TOML, each with its meaning above it."""
        lines = []
        for section, values in self.settings().items():
            lines.append(f"[{section}]")
            for name, value in values.items():
                written = json.dumps(0 if value is None else value)
                lines += [f"# {meanings[section][name]}", f"{name} = {written}"]
            lines.append("")
        return "\n".join(lines)


AUTO = "auto"
MODEL = {
    each.name: AUTO if each.name == "tying" else each.default
    for each in fields(TransformerConfig)
    if each.name not in ("source_vocab", "target_vocab", "pad_id")
}
"""What can be chosen of a model, with the paper's choices; vocabularies follow from the text."""
TEXT = ("subwords", "min_frequency", "most_words")
CLASSES = {"model": TransformerConfig, "text": Recipe, "training": TrainingSettings}
NAMES = {
    "model": [*MODEL],
    "text": [*TEXT],
    "training": [each.name for each in fields(TrainingSettings)],
}
KINDS = {bool: "true or false", int: "a whole number", float: "a number", str: "text"}


def read_settings(path: Path) -> dict[str, Any]:
    """Read a file of TOML.

    Raises
    ------
    OSError
        If it cannot be read.
    ValueError
        If it is no TOML.
    """
    try:
        return tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} is not UTF-8 text ({error}); convert it to UTF-8.") from None
    except tomllib.TOMLDecodeError as error:
        raise ValueError(
            f"{path} is not TOML ({error}); `transformer-course settings` prints a file to begin "
            f"with."
        ) from None


def setting(text: str) -> Settings:
    """Read one value, such as ``training.steps=500``.

    Raises
    ------
    ValueError
        If the text has another form.
    """
    name, equals, value = text.partition("=")
    section, dot, name = name.strip().partition(".")
    if not (equals and dot):
        raise ValueError(
            f"a setting is written as section.name=value, such as training.steps=500; got {text!r}."
        )
    try:
        return {section: {name: tomllib.loads(f"value = {value}")["value"]}}
    except tomllib.TOMLDecodeError:  # a word without quotation marks
        return {section: {name: value.strip()}}


def _checked_sections(settings: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """Return all sections, also those of which nothing is given."""
    for section, values in settings.items():
        _check_known(section, NAMES, "section")
        if not isinstance(values, Mapping):
            raise ValueError(f"{section} is a section: write [{section}], and names below it.")
    return {section: settings.get(section, {}) for section in NAMES}


def _check_known(name: str, names: Iterable[str], kind: str, section: str = "") -> None:
    if name in names:
        return
    close = difflib.get_close_matches(name, names, n=1)
    advice = f"did you mean {section}{close[0]}?" if close else f"use {', '.join(names)}."
    raise ValueError(f"there is no {kind} {section}{name}; {advice}")


def _taken(section: str, name: str, value: Any) -> Any:
    """Return a value as its setting takes it, where 0 in a file is what None is here."""
    _check_known(name, NAMES[section], "setting", f"{section}.")
    kinds = get_type_hints(CLASSES[section])[name]
    kinds = get_args(kinds) or (kinds,)
    if value == 0 and not isinstance(value, bool) and NoneType in kinds:
        return None
    if isinstance(value, int) and not isinstance(value, bool) and float in kinds:
        value = float(value)
    if not any(type(value) is kind for kind in kinds):
        wanted = " or ".join(KINDS[kind] for kind in kinds if kind is not NoneType)
        raise ValueError(f"{section}.{name} must be {wanted}; got {value!r}.")
    if name == "subwords" and isinstance(value, str) and value != AUTO:
        raise ValueError(f'text.subwords must be a whole number or "{AUTO}"; got {value!r}.')
    return value


def _check_sizes(sizes: Mapping[str, Any]) -> None:
    """Raise ValueError if no model has these sizes; torch's meta device takes no memory.

    Only what can refuse them is made: for a whole model on that device torch would import its
    compiler, in seconds in which every command waits.
    """
    config = TransformerConfig(**{"source_vocab": 100, "target_vocab": 100, **sizes})
    with torch.device("meta"):
        MultiHeadAttention(config.d_model, config.heads)
    if config.positions == "sinusoidal":
        angular_frequencies(config.d_model)
