"""The page of the book that translates in the browser: its translators, and how they compute.

What computes and shows belongs to the package, which publishes pages with it.
"""

import re
from hashlib import sha256
from textwrap import dedent

from transformer_course.publish import (
    WEB,
    Choice,
    caption_examples,
    opening_script,
    toy_examples,
    translator_scripts,
)
from transformer_course.translation import Translator, shipped_checkpoint, toy_checkpoint
from transformer_course.translation.training.runs import doubt_in
from transformer_course.translation.translator import shipped_names

MIRRORED = (WEB / "translator.js", WEB / "search.js")
WIDGET = WEB / "translator.html"
ON_REQUEST = {
    "multi30k-en-fr": "English to French, captions",
    "multi30k-en-de": "English to German, captions",
}
"""Translators that the page offers if they ship, and loads when the reader asks for them."""
# A comment that names a Python function, perhaps more comment, and code down to its last brace.
MIRROR = re.compile(
    r"^(?P<indent> *)// (?P<file>[\w/]+\.py): (?P<name>[\w.]+)\n"
    r"(?P<remarks>(?: *//.*\n)*)(?P<code>(?:.*\n)+?(?P=indent)\}\n)",
    re.MULTILINE,
)


def data_files() -> dict[str, str]:
    """Return the scripts that bring the translators, by the names of their files.

    They are scripts, because a page that is opened from a folder may load scripts but read no
    files. The page begins with ``toy.js``.
    """
    toy = translator_scripts(
        "toy", Translator.load(toy_checkpoint()), toy_examples(), doubt_in(toy_checkpoint())
    )
    choices, files = [Choice("toy", "English to French, toy language")], {}
    for name in (name for name in ON_REQUEST if name in shipped_names()):
        choice, scripts = _on_request(name)
        choices.append(choice)
        files |= scripts
    return {"toy.js": opening_script(choices) + "".join(toy)} | files


def _on_request(name: str) -> tuple[Choice, dict[str, str]]:
    folder = shipped_checkpoint(name)
    scripts = translator_scripts(
        name, Translator.load(folder), caption_examples(), doubt_in(folder)
    )
    content = "".join(scripts).encode()
    files = {f"{name}.{number}.js": script for number, script in enumerate(scripts)}
    # A browser that has kept some files of yesterday's book must not mix them with today's.
    addresses = [f"{file}?v={sha256(content).hexdigest()[:8]}" for file in files]
    return Choice(name, ON_REQUEST[name], addresses, round(len(content) / 1e6, 1)), files


def live_translator() -> str:
    """Return the HTML of what the reader uses."""
    return WIDGET.read_text(encoding="utf-8")


def mirrors() -> str:
    """Return each function of forward pass and search above the Python one that it follows."""
    script = "\n".join(file.read_text(encoding="utf-8") for file in MIRRORED)
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
