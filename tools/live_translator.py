"""The page of the book that translates in the browser: the toy translator, and how it computes.

What computes and shows belongs to the package, which publishes pages with it.
"""

import re
from textwrap import dedent

from transformer_course.publish import WEB, data_script, toy_examples, widget
from transformer_course.translation import Translator, toy_checkpoint

FORWARD_PASS = WEB / "translator.js"
WIDGET = WEB / "translator.html"
# A comment that names a Python function, perhaps more comment, and code down to its last brace.
MIRROR = re.compile(
    r"^(?P<indent> *)// (?P<file>[\w/]+\.py): (?P<name>[\w.]+)\n"
    r"(?P<remarks>(?: *//.*\n)*)(?P<code>(?:.*\n)+?(?P=indent)\}\n)",
    re.MULTILINE,
)


def translator_script() -> str:
    """Return the script that brings the toy translator and its examples.

    It is a script, because a page that is opened from a folder may load scripts but read no files.
    """
    return data_script(Translator.load(toy_checkpoint()), toy_examples())


def live_translator() -> str:
    """Return the HTML of the toy translator."""
    return widget("en", "fr")


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
