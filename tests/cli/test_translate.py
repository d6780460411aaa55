import io
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import Run
from transformer_course import cli
from transformer_course.cli import translators
from transformer_course.translation.translator import Translator


@pytest.fixture
def type_in(monkeypatch: pytest.MonkeyPatch) -> Callable[[bytes], None]:
    """Return a function that puts bytes on standard input, in a terminal of another encoding."""

    def put(content: bytes) -> None:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content), encoding="latin-1"))

    return put


def test_translate_prints_a_line_for_each_sentence(run: Run, trained: Path) -> None:
    status, output, error = run("translate", trained, "the cat sleeps", "", "the dog eats")
    assert (status, error) == (0, "")
    translations = Translator.load(trained).translate(["the cat sleeps", "", "the dog eats"])
    assert output.split("\n") == [*translations, ""]
    assert translations[1] == ""


def test_translate_reads_standard_input(
    run: Run, trained: Path, type_in: Callable[[bytes], None]
) -> None:
    type_in("the cat sleeps\r\n\n   \nthe café eats".encode())
    status, output, _ = run("translate", trained)
    assert status == 0
    expected = Translator.load(trained).translate(["the cat sleeps", "", "", "the café eats"])
    assert output.split("\n") == [*expected, ""]


def test_translate_keeps_order_and_number_of_lines(
    run: Run, trained: Path, type_in: Callable[[bytes], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """10,000 lines in, 10,000 out, a few at a time; blank lines stay where they are."""
    most_at_once = []

    def number_them(_self: Translator, lines: list[str], beam: int) -> list[str]:
        most_at_once.append(len(lines))
        return [line.upper() for line in lines]

    monkeypatch.setattr(Translator, "translate", number_them)
    lines = [f"line {number}" if number % 7 else "" for number in range(10_000)]
    type_in("".join(f"{line}\n" for line in lines).encode())
    status, output, error = run("translate", trained)
    assert (status, error) == (0, "")
    assert output.split("\n") == [line.upper() for line in lines] + [""]
    assert max(most_at_once) == translators.LINES_AT_ONCE


@pytest.mark.parametrize(
    ("beam", "words"),
    [
        ("0", "beam must be a whole number of at least 1; got 0"),
        ("-3", "beam must be a whole number of at least 1; got -3"),
        ("100000", "beam must be at most the size of the vocabulary"),
    ],
)
def test_beams_that_make_no_sense(
    fails: Callable[..., str], trained: Path, beam: str, words: str
) -> None:
    error = fails("translate", "--beam", beam, trained, "the cat")
    assert words in error
    assert f"got {beam}" in error


def test_beam_one_is_greedy(run: Run, trained: Path) -> None:
    greedy = run("translate", trained, "the king sings")
    assert greedy == run("translate", "--beam", "1", trained, "the king sings")
    assert run("translate", "--beam", "4", trained, "the king sings")[0] == 0


def test_options_may_come_before_or_after_the_checkpoint(run: Run, trained: Path) -> None:
    before = run("translate", "--beam", "2", trained, "the king sings", "the dog sings")
    assert run("translate", trained, "--beam", "2", "the king sings", "the dog sings") == before
    assert run("translate", trained, "the king sings", "the dog sings", "--beam", "2") == before


def test_misspelt_option_is_no_sentence(trained: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        cli.main(["translate", str(trained), "--beam", "2", "the king sings", "--sores"])
    assert "unrecognized arguments: the king sings --sores" in capsys.readouterr().err


def test_scores_need_no_run(run: Run, trained: Path, tmp_path: Path) -> None:
    Translator.load(trained).save(tmp_path)
    status, output, error = run("translate", "--scores", tmp_path, "the king sings")
    assert (status, error) == (0, "")
    assert "not sure" not in output


def test_nothing_in_nothing_out(run: Run, trained: Path, type_in: Callable[[bytes], None]) -> None:
    type_in(b"")
    assert run("translate", trained) == (0, "", "")


def test_unknown_words_are_translated(run: Run, trained: Path) -> None:
    status, output, _ = run("translate", trained, "zebras yodel")
    assert status == 0
    assert output.count("\n") == 1


def test_what_looks_like_a_file_and_is_none_is_said(run: Run, trained: Path) -> None:
    status, output, said = run("translate", trained, "nosuch.txt")
    assert status == 0 and output.count("\n") == 1
    assert "nosuch.txt is no file in" in said


def test_translate_refuses_other_encodings(
    fails: Callable[..., str], trained: Path, type_in: Callable[[bytes], None]
) -> None:
    type_in("le chat\nle café".encode("latin-1"))
    said = fails("translate", trained)
    assert "standard input is not UTF-8 text in line 2, behind 'le caf' (byte 0xe9)" in said


def test_lines_that_are_too_long_are_named_and_the_others_translated(
    run: Run,
    trained: Path,
    type_in: Callable[[bytes], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(translators, "LINES_AT_ONCE", 4)
    lines = ["the cat sleeps", "cat " * 12, "", "the dog eats", "the king sings", "cat " * 13]
    type_in("\n".join(lines).encode())
    status, output, error = run("translate", trained)
    assert status == 2
    readable = [lines[0], "", "", lines[3], lines[4], ""]
    assert output.split("\n") == [*Translator.load(trained).translate(readable), ""]
    reads = "tokens; this translator reads at most 11 at once. Split the sentence."
    assert error.splitlines() == [
        f"transformer-course: line 2 has 12 {reads}",
        f"transformer-course: line 6 has 13 {reads}",
    ]


@pytest.mark.skipif(sys.platform == "win32", reason="no shell to close the streams with")
@pytest.mark.parametrize(
    ("streams", "status", "output", "error"),
    [
        pytest.param("<&-", 0, "", "", marks=pytest.mark.exhaustive),
        pytest.param("'the cat' >&-", 0, "", "", marks=pytest.mark.exhaustive),
        ("'the cat' <&- >&- 2>&-", 0, "", ""),
        ("0>/dev/null", 2, "", "standard input or output: Bad file descriptor.\n"),
    ],
)
def test_closed_streams_are_no_reason_for_a_traceback(
    trained: Path, streams: str, status: int, output: str, error: str
) -> None:
    command = shlex.join([sys.executable, "-m", "transformer_course", "translate", str(trained)])
    done = subprocess.run(
        f"{command} {streams}", shell=True, capture_output=True, text=True, timeout=120
    )
    assert (done.returncode, done.stdout) == (status, output)
    assert done.stderr.removeprefix("transformer-course: ") == error


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="only Linux has a full device")
def test_full_disk_behind_the_output_is_one_sentence(trained: Path) -> None:
    command = [sys.executable, "-m", "transformer_course", "translate", trained, "the cat"]
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, timeout=120)
    said = (
        "transformer-course: standard input or output: No space left on device: make room, then "
        "give the command again.\n"
    )
    assert (done.returncode, done.stderr) == (2, said)


def test_what_ships_is_taken_by_name_unless_a_folder_has_it(
    run: Run, trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run("translate", "toy", "the small cat sleeps") == (0, "le petit chat dort\n", "")
    (tmp_path / "toy").symlink_to(trained)
    _, output, _ = run("translate", "toy", "the small cat sleeps")
    assert output == Translator.load(trained).translate(["the small cat sleeps"])[0] + "\n"
