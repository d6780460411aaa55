import importlib
import inspect
import re
from operator import attrgetter

from tools import live_translator
from tools.sources import ROOT
from transformer_course.translation import Translator, toy_checkpoint

PAGE = ROOT / "book" / "live_translator.md"


def test_every_named_function_stands_beside_its_python():
    script = "".join(file.read_text(encoding="utf-8") for file in live_translator.MIRRORED)
    named = re.findall(r"// ([\w/]+)\.py: ([\w.]+)", script)
    text = live_translator.mirrors()
    assert len(named) == text.count("### ") == text.count("```javascript\n") > 10
    for path, name in named:
        found = importlib.import_module(f"transformer_course.{path.replace('/', '.')}")
        assert inspect.isfunction(attrgetter(name)(found))
        assert f"### `{name}`\n" in text


def test_functions_are_whole():
    block = re.compile(r"```javascript\n(.*?)```", re.DOTALL)
    for code in block.findall(live_translator.mirrors()):
        assert code.endswith("}\n") and code.count("{") == code.count("}")
        assert not code.startswith(" ") and "//" not in code


def test_page_is_right_about_what_it_proposes():
    proposed = re.findall(r'"([^"]+)" becomes \*([^*]+)\*', PAGE.read_text(encoding="utf-8"))
    assert len(proposed) > 3
    sources, targets = zip(*proposed, strict=True)
    toy = Translator.load(toy_checkpoint())
    assert toy.translate(sources) == list(targets)
