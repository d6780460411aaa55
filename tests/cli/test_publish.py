import json
import re
import shutil
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from tests.cli.conftest import TOY, Run, forget_the_end
from transformer_course.publish import page
from transformer_course.publish.rule_of_thumb import meaning_of
from transformer_course.translation.training import runs
from transformer_course.translation.training.recipes import recipe_for

Fails = Callable[..., str]


@pytest.fixture(autouse=True)
def few_examples(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page, "toy_corpus", lambda: TOY)
    monkeypatch.setattr(page, "EXAMPLES", 2)


@pytest.fixture(scope="module")
def subwords(small_recipes: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a run on sub-words, only to be read."""
    folder = tmp_path_factory.mktemp("runs")
    translator = page.Translator.from_pairs(
        TOY.split("train"), ("en", "fr"), subwords=60, d_model=8, heads=2, d_ff=8, max_len=12
    )
    translator.save(folder)
    runs.Run("toy", recipe_for("toy")).write(folder)
    return folder


def test_publish_writes_a_page(run: Run, trained: Path, tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    status, output, error = run("publish", trained, path)
    assert (status, error) == (0, "")
    assert output.startswith(f"{path}: {path.stat().st_size / 1e3:.0f} kB; open it in a browser")
    html = path.read_text(encoding="utf-8")
    assert "trained for 6 steps on the corpus “toy”" in html
    assert list(tmp_path.iterdir()) == [path]


def test_page_is_replaced(run: Run, trained: Path, tmp_path: Path) -> None:
    path = tmp_path / "page.HTM"
    path.write_text("yesterday's", encoding="utf-8")
    assert run("publish", trained, path)[0] == 0
    assert path.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")


def test_run_that_has_not_ended_is_called_so(run: Run, trained: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(trained, tmp_path / "run")
    runs.Run.read(folder).write(folder)
    assert run("publish", folder, tmp_path / "page.html")[0] == 0
    assert "not yet trained to the end" in (tmp_path / "page.html").read_text(encoding="utf-8")


NOT_MEASURED = "how good it is has not been measured, and it does not know when it does not know"


@pytest.mark.parametrize(
    ("bleu", "meaning"),
    [(0.5, "almost useless"), (10.0, "the gist is hard to get"), (58.2, "good")],
)
def test_bleu_is_put_into_words(bleu: float, meaning: str) -> None:
    assert meaning_of(bleu) == meaning


def quality(run: Run, folder: Path, page: Path) -> str:
    """Publish a run; return what its page says of how good it is."""
    assert run("publish", folder, page)[0] == 0
    return re.search(r"<p>(It (?:began|learned)[^<]+)</p>", page.read_text(encoding="utf-8"))[1]


def test_page_says_how_good_an_evaluated_run_is(run: Run, trained: Path, tmp_path: Path) -> None:
    folder, page = Path(shutil.copytree(trained, tmp_path / "run")), tmp_path / "page.html"
    learned = "It learned from 12 sentence pairs (made up in the course&#x27;s toy language)"
    assert quality(run, folder, page).startswith(f"{learned}; {NOT_MEASURED}: ")
    scores = json.loads(run("evaluate", folder)[1])
    assert quality(run, folder, page) == (
        f"{learned} and reaches a BLEU of {scores['sacrebleu']:.1f} (0 to 100, more is better; as "
        f"a rule this means: {meaning_of(scores['sacrebleu'])}) by a greedy search on 3 pairs that "
        f"were held out, but it does not know when it does not know: what sounds right may be "
        f"wrong."
    )
    before = quality(run, folder, page)
    forget_the_end(folder)
    assert run("train", "--resume", "--output", folder)[0] == 0  # no step was left
    assert quality(run, folder, page) == before


@pytest.mark.parametrize("other", [["--split", "dev"], ["--source", "train.en", "--reference"]])
def test_other_sentences_than_the_test_split_are_no_measure(
    run: Run,
    trained: Path,
    texts: tuple[Path, Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    other: list[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    folder = Path(shutil.copytree(trained, tmp_path / "run"))
    files = ["train.fr"] if "--reference" in other else []
    assert run("evaluate", folder, *other, *files)[0] == 0
    assert NOT_MEASURED in quality(run, folder, tmp_path / "page.html")


def test_report_measures_too(run: Run, trained: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(trained, tmp_path / "run"))
    assert run("report", folder, tmp_path / "report.html", "--beam", "2")[0] == 0
    assert "by a beam of 2 on 3 pairs that" in quality(run, folder, tmp_path / "page.html")


def test_page_says_that_another_translator_came_before(
    run: Run, trained: Path, texts: tuple[Path, Path], tmp_path: Path
) -> None:
    folder = tmp_path / "run"
    files = ["--source", texts[0], "--target", texts[1]]
    assert run("train", "--from", trained, *files, "--steps", "1", "--output", folder)[0] == 0
    said = quality(run, folder, tmp_path / "page.html")
    assert said.startswith("It began with the weights of another translator and learned from 14 ")
    assert "sentence pairs (a text that its maker brought);" in said


@pytest.mark.parametrize("name", ["page.txt", "page", "my_transformer.py"])
def test_other_files_are_not_touched(
    fails: Fails, trained: Path, tmp_path: Path, name: str
) -> None:
    path = tmp_path / name
    path.write_text("mine", encoding="utf-8")
    assert f"must end in .html; got '{name}'" in fails("publish", trained, path)
    assert path.read_text(encoding="utf-8") == "mine"


def test_folder_without_a_run_is_named(fails: Fails, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    assert f"no run.json in {tmp_path}: this is not a" in fails("publish", tmp_path, page)
    assert f"no run.json in {page}: this is no" in fails("publish", page, page)
    assert not page.exists()


def test_missing_folder_is_named(fails: Fails, trained: Path, tmp_path: Path) -> None:
    path = tmp_path / "missing" / "page.html"
    assert fails("publish", trained, path) == (
        f"transformer-course: there is no folder {path.parent} for page.html: make it, or name "
        f"another.\n"
    )


def test_subwords_are_published(run: Run, subwords: Path, tmp_path: Path) -> None:
    status, _, error = run("publish", subwords, tmp_path / "page.html")
    assert (status, error) == (0, "")
    assert '"▁the"' in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_full_disk_leaves_the_old_page(
    fails: Fails,
    full_disk: Callable[[int], AbstractContextManager[None]],
    trained: Path,
    tmp_path: Path,
) -> None:
    path = tmp_path / "page.html"
    path.write_text("yesterday's", encoding="utf-8")
    with full_disk(10_000):
        assert fails("publish", trained, path).startswith(f"transformer-course: {path}: ")
    assert path.read_text(encoding="utf-8") == "yesterday's"
    assert list(tmp_path.iterdir()) == [path]
