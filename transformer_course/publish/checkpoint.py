"""A translator as JavaScript reads it."""

import base64
import re
from dataclasses import asdict
from typing import Any

import torch

from transformer_course.translation.corpora.languages import language_name
from transformer_course.translation.corpora.subwords import SubwordTokenizer
from transformer_course.translation.corpora.vocabulary import (
    BOS,
    EOS,
    PAD,
    SPECIAL_TOKENS,
    UNK,
    Tokenizer,
    WordTokenizer,
)
from transformer_course.translation.translator import Translator, parameters_by_name

# What the page's `WordTokenizer` finds; what it joins may end with an apostrophe, such as "l'".
READ = re.compile(r"[^\W_]+(?:['\u2019-][^\W_]+)*")
JOINED = re.compile(rf"{READ.pattern}'?")


def checkpoint(translator: Translator) -> dict[str, Any]:
    """Return a translator as `checkpoint.js` reads it, its weights in half precision.

    Returns
    -------
    checkpoint
        ``source`` and ``target`` are lists of tokens. ``scores`` are those of sub-words: of all
        merges the one with the best score comes first; None means words. ``weights`` holds all
        numbers, one tensor behind the other in the order of ``shapes``, two bytes each, the lower
        one first, in base64.

    Raises
    ------
    ValueError
        If the page cannot compute such a model or read such words, or a weight is too large for
        half precision.
    """
    _check_positions(translator)
    for tokenizer, pattern in ((translator.source, READ), (translator.target, JOINED)):
        if isinstance(tokenizer, WordTokenizer):
            _check_words(tokenizer, pattern)
    tensors = parameters_by_name(translator.model)
    numbers = torch.cat([tensor.detach().flatten() for tensor in tensors.values()]).half()
    if not numbers.isfinite().all():
        raise ValueError(
            f"a weight lies outside half precision, which ends at {torch.finfo(torch.half).max}: "
            f"train the translator again, with weight decay."
        )
    return {
        "config": asdict(translator.model.config),
        "special": {"PAD": PAD, "BOS": BOS, "EOS": EOS, "UNK": UNK},
        "languages": {
            "source": _language(translator.source),
            "target": _language(translator.target),
        },
        "source": translator.source.vocabulary.tokens,
        "target": translator.target.vocabulary.tokens,
        "scores": _scores(translator.source),
        "shapes": {name: tuple(tensor.shape) for name, tensor in tensors.items()},
        "weights": base64.b64encode(numbers.numpy().astype("<f2").tobytes()).decode("ascii"),
    }


def _language(tokenizer: Tokenizer) -> dict[str, str]:
    return {"code": tokenizer.language, "name": language_name(tokenizer.language)}


def _scores(tokenizer: Tokenizer) -> list[float] | None:
    return tokenizer.scores() if isinstance(tokenizer, SubwordTokenizer) else None


def _check_positions(translator: Translator) -> None:
    positions = translator.model.config.positions
    if positions != "sinusoidal":
        raise ValueError(
            f"a page computes sinusoidal positions, and this translator has {positions} ones: "
            f"train one with positions='sinusoidal'."
        )


def _check_words(tokenizer: WordTokenizer, pattern: re.Pattern[str]) -> None:
    words = tokenizer.vocabulary.tokens[len(SPECIAL_TOKENS) :]
    strange = next((word for word in words if not _is_readable(word, pattern)), None)
    if strange is not None:
        raise ValueError(
            f"a page reads words in small letters without punctuation, and this translator knows "
            f"{strange!r}: publish one that was trained on such words, as on the corpus toy."
        )


def _is_readable(word: str, pattern: re.Pattern[str]) -> bool:
    return bool(pattern.fullmatch(word)) and word == word.lower()
