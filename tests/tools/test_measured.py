from tools import measured
from tools.book_text import filled


def test_every_row_has_a_result_a_command_and_a_date():
    rows = measured.rows()
    assert len(rows) > 5
    for row in rows:
        assert len(row) == len(measured.HEAD)
        assert "python -m" in row[2]
        assert row[3].startswith("20")


def test_the_page_for_those_who_judge_holds_them():
    page = filled("{{ measured }}")
    assert all(what in page for what, *_ in measured.rows())
