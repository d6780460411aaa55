"""The files of known mistakes: what is read from them, and what each error says."""

import subprocess
import sys

import pytest

from transformer_course.checker.records import Record, RecordError, records

GOOD = """
[[mistake]]
name = "tripled"
edits = [['2', '3']]
observed = '''1 becomes "3",
and 2 becomes 6.'''
change = "Use `2`."
unless = "2"
seen = 4
"""


@pytest.fixture
def write(tmp_path):
    """Return a function that writes a file of mistakes, by default one of the lesson."""

    def written(text, name="lesson/double.toml"):
        file = tmp_path / name
        file.parent.mkdir(exist_ok=True)
        file.write_text(text, encoding="utf-8")
        return file

    return written


def test_a_record_holds_what_is_written_and_a_line_break_is_a_space(write):
    file = write(GOOD)
    words = '1 becomes "3", and 2 becomes 6.'
    assert records(file) == [
        Record(file, "tripled", words, "Use `2`.", edits=(("2", "3"),), unless="2", seen=4)
    ]


@pytest.mark.parametrize(
    ("file", "reference"),
    [("lesson/double.toml", "double"), ("before/double.toml", "before/double")],
)
def test_a_mistake_of_another_exercise_keeps_its_words(write, file, reference):
    original = write(GOOD, file)
    same = f"[[mistake]]\nlike = '{reference}: tripled'\n"
    (taken,) = records(write(same, "lesson/again.toml"))
    assert taken.observed == records(original)[0].observed
    assert (taken.edits, taken.unless) == ((("2", "3"),), "2")
    (edited,) = records(write(same + "edits = [['4', '5']]", "lesson/edited.toml"))
    assert (edited.change, edited.edits) == ("Use `2`.", (("4", "5"),))


def test_no_mistake_is_known_where_the_file_is_empty(write):
    assert records(write("")) == []


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (GOOD.replace("change", "chnage"), "«tripled» has the unknown key `chnage`; a mistake has"),
        (GOOD.replace('change = "Use `2`."', ""), "«tripled» lacks `change`; a mistake has `name`"),
        (GOOD.replace('"tripled"', '" "'), "« » lacks `name`"),
        (GOOD.replace('"Use `2`."', "2"), "«tripled» wants a text in quotes for `change`."),
        (GOOD.replace("seen = 4", "seen = '4'"), "«tripled» wants a whole number for `seen`."),
        (GOOD.replace("[['2', '3']]", "[['2']]"), r"«tripled» has an edit \['2'\]; write pairs"),
        (GOOD.replace("[['2', '3']]", "'2'"), "«tripled» has an edit '2'; write pairs"),
        (GOOD.replace("edits = [['2', '3']]", ""), "«tripled» needs either `edits` or a `body`."),
        (GOOD + 'body = "f"', "«tripled» needs either `edits` or a `body`."),
        (GOOD.replace('unless = "2"', 'unless = "("'), "«tripled» has an `unless` that is no"),
        (GOOD + GOOD, "«tripled» has this name, as another one has"),
        ("name = 'x'" + GOOD, "`name` is outside of any"),
        (GOOD.replace("[[mistake]]", "[mistake]"), "begins with .*two pairs of brackets"),
        (GOOD.replace("[['2'", "[['2"), r"double.toml is not TOML: .*at line"),
        ("[[mistake]]\nlike = 'other: x'", "«other: x» is not found: .*other.toml has no"),
        ("[[mistake]]\nlike = 'x: y'\nname = 'y'", "has `name` beside `like`"),
    ],
)
def test_an_error_says_where_and_what_to_do(write, text, words):
    with pytest.raises(RecordError, match=words) as raised:
        records(write(text))
    assert "double.toml" in str(raised.value)


def test_another_algorithm_needs_edits_where_it_is_taken(write):
    write(GOOD.replace("edits = [['2', '3']]", "body = 'f'"))
    with pytest.raises(RecordError, match="is another algorithm there"):
        records(write("[[mistake]]\nlike = 'double: tripled'", "lesson/again.toml"))


def test_what_is_not_there_or_is_no_text(tmp_path):
    with pytest.raises(RecordError, match="cannot be read"):
        records(tmp_path / "none.toml")
    (tmp_path / "binary.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(RecordError, match="is not TOML"):
        records(tmp_path / "binary.toml")


def test_records_are_read_without_torch():
    code = "import sys, transformer_course.checker.records; print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
