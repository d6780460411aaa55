"""The toy translator as a script, for the page of the book that translates in the browser.

It is a script, because a page that is opened from a folder may load scripts but read no files.
"""

import base64
import json
import random
import re
from dataclasses import asdict
from textwrap import dedent
from typing import Any

import matplotlib as mpl
import torch
from matplotlib.colors import to_hex, to_rgb

from tools.sources import ROOT
from transformer_course.plots.theme import SEQUENTIAL
from transformer_course.translation import Translator, toy_checkpoint, toy_corpus
from transformer_course.translation.corpora.vocabulary import BOS, EOS, PAD, UNK, WordTokenizer
from transformer_course.translation.translator import parameters_by_name

FORWARD_PASS = ROOT / "book" / "_static" / "live" / "translator.js"
# A comment that names a Python function, perhaps more comment, and code down to its last brace.
MIRROR = re.compile(
    r"^(?P<indent> *)// (?P<file>[\w/]+\.py): (?P<name>[\w.]+)\n"
    r"(?P<remarks>(?: *//.*\n)*)(?P<code>(?:.*\n)+?(?P=indent)\}\n)",
    re.MULTILINE,
)
EXAMPLES = 20
SHADES = 101
"""Colours of the attention weights 0.00, 0.01 ... 1.00."""


def translator_script() -> str:
    """Return the script that brings the toy translator and what the page shows beside it."""
    translator = Translator.load(toy_checkpoint())
    lines = [f"const CHECKPOINT = {_json(checkpoint(translator))};"]
    lines += [f"const EXAMPLES = {_json(examples())};"]
    lines += [f"const SHADES = {_json(shades())};"]
    return "\n".join(lines) + "\n"


def checkpoint(translator: Translator) -> dict[str, Any]:
    """Return a translator as `checkpoint.js` reads it, its weights in half precision.

    Returns
    -------
    checkpoint
        ``weights`` holds all numbers, one tensor behind the other in the order of ``shapes``, two
        bytes each, the lower one first, in base64.

    Raises
    ------
    ValueError
        If `translator.js` does not compute such a model, or a weight is too large for half
        precision.
    """
    _check_choices(translator)
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
        "source": translator.source.vocabulary.tokens,
        "target": translator.target.vocabulary.tokens,
        "shapes": {name: tuple(tensor.shape) for name, tensor in tensors.items()},
        "weights": base64.b64encode(numbers.numpy().astype("<f2").tobytes()).decode("ascii"),
    }


def _check_choices(translator: Translator) -> None:
    config = translator.model.config
    choices = (config.norm_first, config.positions, config.tying)
    if choices != (True, "sinusoidal", "two_way"):
        raise ValueError(
            f"translator.js computes norm_first=True, positions='sinusoidal', tying='two_way'; "
            f"this translator has {choices}. Extend translator.js."
        )
    if not all(isinstance(t, WordTokenizer) for t in (translator.source, translator.target)):
        raise ValueError("checkpoint.js knows words, not sub-words: extend it, or train on words.")


def examples() -> list[str]:
    """Return sentences of the test split, always the same ones."""
    pairs = toy_corpus().split("test")
    return [pair.source for pair in random.Random(0).sample(pairs, EXAMPLES)]


def shades() -> list[tuple[str, str]]:
    """Return the colour of a cell for each weight, and the colour of figures on it.

    On the course's ink or white, figures on the middle shades would fall short of a contrast of
    4.5 (WCAG AA); black or white always reaches it.
    """
    colours = [to_hex(colour) for colour in mpl.colormaps[SEQUENTIAL].resampled(SHADES).colors]
    return [(colour, _figures_on(colour)) for colour in colours]


def _figures_on(colour: str) -> str:
    # Relative luminance as in WCAG 2; black and white are equally far from 0.179.
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in to_rgb(colour)]
    luminance = sum(w * c for w, c in zip((0.2126, 0.7152, 0.0722), linear, strict=True))
    return "#000000" if luminance > 0.179 else "#ffffff"


def mirrors() -> str:
    """Return each function of the forward pass above the Python one that it follows."""
    script = FORWARD_PASS.read_text(encoding="utf-8")
    return "\n".join(_mirror(found) for found in MIRROR.finditer(script))


def _mirror(found: re.Match[str]) -> str:
    remarks = "".join(f" {line.strip(' /')}" for line in found["remarks"].splitlines())
    return f"""### `{found["name"]}`

In JavaScript.{remarks}

```javascript
{dedent(found["code"])}```

In Python, `{found["file"]}`:

```{{literalinclude}} ../transformer_course/{found["file"]}
:pyobject: {found["name"]}
:dedent:
```
"""


def _json(content: Any) -> str:
    return json.dumps(content, ensure_ascii=False, separators=(",", ":"))
