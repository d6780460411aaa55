import math

import pandas as pd
import pytest

from transformer_course.plots import beam_search as pictures
from transformer_course.translation.decoding.beam import (
    mean_length,
    search,
)
from transformer_course.translation.decoding.prefix_scorers import FunctionScorer

PAD, BOS, EOS, LE, UN, CHAT, CHIEN = range(7)
WORDS = ["<pad>", "<bos>", "<eos>", "le", "un", "chat", "chien"]
CHANCES = {
    (): {LE: 0.6, UN: 0.4},
    (LE,): {CHAT: 0.55, CHIEN: 0.45},
    (UN,): {CHIEN: 0.95, CHAT: 0.05},
}
"""Greedy finds "le chat", .33; the best is "un chien", .38."""


def decoder(chances=CHANCES) -> FunctionScorer:
    def logits(prefix):
        row = chances.get(prefix, {EOS: 1.0})
        return [math.log(row[token]) if token in row else -math.inf for token in range(7)]

    return FunctionScorer(logits)


def tree(beam=2, limit=5, penalty=mean_length):
    return pictures.beam_tree(decoder(), WORDS, BOS, EOS, limit, beam, penalty)


def nodes(chart):
    records = chart.to_dict()["data"]["values"]
    return {record["said"]: record for record in records if "said" in record}


def test_candidates_are_the_joint_best_with_their_log_probabilities():
    found = nodes(tree())
    assert [found[said]["rank"] for said in ("un chien", "le chat", "le chien", "un chat")] == [
        1,
        2,
        3,
        4,
    ]
    assert found["un chien"]["total"] == pytest.approx(math.log(0.38), abs=5e-3)
    assert {said: node["fate"] for said, node in found.items()} == {
        "le": "kept",
        "un": "kept",
        "un chien": "kept",
        "le chat": "kept",
        "le chien": "dropped",
        "un chat": "dropped",
        "un chien <eos>": "finished",
        "le chat <eos>": "finished",
    }


def test_children_stand_behind_their_parents():
    found = nodes(tree())
    for said, node in found.items():
        before = said.rpartition(" ")[0]
        assert node["parent"] == (found[before]["rank"] if before else 1)
        assert node["step"] == len(said.split())


@pytest.mark.parametrize("beam", [1, 2, 3])
def test_the_thick_path_leads_to_what_the_search_returns(beam):
    [[best]] = search(decoder(), BOS, EOS, [5], beam)
    path = [said for said, node in nodes(tree(beam)).items() if node["best"]]
    assert path[-1] == " ".join(WORDS[token] for token in (*best.tokens, EOS))
    assert len(path) == len(best.tokens) + 1
    said = " ".join(WORDS[token] for token in best.tokens)
    assert f"{said}, log-probability {best.log_probability:.2f}." in tree(beam).description


def test_a_limit_ends_the_tree():
    found = nodes(tree(limit=2))
    assert max(node["step"] for node in found.values()) == 2
    assert found["un chien"]["fate"] == found["le chat"]["fate"] == "finished"


def test_padding_is_no_candidate():
    flat = FunctionScorer(lambda prefix: [5.0] + [0.0] * 6)
    chart = pictures.beam_tree(flat, WORDS, BOS, EOS, limit=2, beam=2, pad=PAD)
    assert not any("<pad>" in said for said in nodes(chart))


def test_totals_follow_rows_that_change_places():
    chances = {
        (): {LE: 0.55, UN: 0.45},
        (LE,): dict.fromkeys((LE, UN, CHAT, CHIEN), 0.25),
        (UN,): {CHAT: 0.5, CHIEN: 0.5},  # both are kept, and "le" has no children left
        (UN, CHIEN): {CHAT: 0.9, LE: 0.1},
    }
    found = nodes(pictures.beam_tree(decoder(chances), WORDS, BOS, EOS, limit=5, beam=2))
    assert found["un chat"]["fate"] == found["un chien"]["fate"] == "kept"
    assert found["un chien chat"]["total"] == pytest.approx(math.log(0.45 * 0.5 * 0.9), abs=5e-3)
    assert found["un chien chat <eos>"]["fate"] == "finished"


def test_of_equal_candidates_those_that_live_are_shown():
    equal = FunctionScorer(lambda prefix: [-9.0, -9.0, -9.0, 0.0, 0.0, 0.0, 0.0])
    found = nodes(pictures.beam_tree(equal, WORDS, BOS, EOS, limit=3, beam=1))
    assert [node["fate"] for node in found.values() if node["best"]] == ["kept", "kept", "finished"]


def test_the_reader_steps_through_the_tree():
    [slider] = [p for p in tree().to_dict()["params"] if "bind" in p]
    assert (slider["bind"]["min"], slider["bind"]["max"], slider["value"]) == (1, 3, 3)


@pytest.mark.parametrize("picture", [pictures.beam_tree, pictures.beam_steps])
def test_a_search_that_is_too_long_is_refused(picture):
    endless = FunctionScorer(lambda prefix: [-9.0, -9.0, -9.0, 0.0, 0.0, 0.0, 0.0])
    with pytest.raises(ValueError, match="room for 12 steps; this search took 13"):
        picture(endless, WORDS, BOS, EOS, limit=13, beam=1)


def steps(beam=2, limit=5):
    return pictures.beam_steps(decoder(), WORDS, BOS, EOS, limit, beam)


def test_a_step_shows_how_each_probability_came_about():
    assert {said: node["product"] for said, node in nodes(steps()).items()} == {
        "le": "1.00 · 0.60 = 0.60, kept",
        "un": "1.00 · 0.40 = 0.40, kept",
        "un chien": "0.40 · 0.95 = 0.38, kept",
        "le chat": "0.60 · 0.55 = 0.33, kept",
        "le chien": "0.60 · 0.45 = 0.27, dropped",
        "un chat": "0.40 · 0.05 = 0.02, dropped",
        "un chien <eos>": "0.38 · 1.00 = 0.38, finished",
        "le chat <eos>": "0.33 · 1.00 = 0.33, finished",
    }


def test_greedy_search_has_candidates_to_drop():
    found = nodes(steps(beam=1))
    assert [said for said, node in found.items() if node["fate"] != "dropped"] == [
        "le",
        "le chat",
        "le chat <eos>",
    ]
    assert {"un", "le chien"} <= found.keys()


def test_the_reader_begins_at_the_first_step(drawn):
    [slider] = [p for p in steps().to_dict()["params"] if "bind" in p]
    assert (slider["bind"]["min"], slider["bind"]["max"], slider["value"]) == (1, 3, 1)
    svg = drawn(steps())
    assert "step 1 of 3" in svg
    assert "0.60, kept" in svg
    assert "un chien" not in svg.partition("</title>")[2].replace(steps().description, "")


def test_the_steps_say_who_leads_and_who_wins():
    assert "un chien, 0.40 · 0.95 = 0.38, kept; " in steps().description
    assert steps().description.endswith("with dark outlines: un chien.")


def test_each_measure_has_its_panel():
    frame = pd.DataFrame(
        {"beam": [1, 8], "log_probability": [-9, -7], "length": [1.0, 0.8], "bleu": [30, 20]}
    )
    panels = pictures.beam_width_curves(frame).figure.axes
    drawn = [axes.lines[0].get_ydata().tolist() for axes in panels]
    assert drawn == [[-9, -7], [1.0, 0.8], [30, 20]]
    assert [label.get_text() for label in panels[-1].get_xticklabels()] == ["1", "8"]


def test_curves_need_all_measures():
    with pytest.raises(ValueError, match="lacks the column bleu"):
        pictures.beam_width_curves(
            pd.DataFrame({"beam": [1], "log_probability": [0], "length": [1]})
        )
