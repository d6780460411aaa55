import pytest
import torch

from transformer_course.cases import catalogue, desk, experiments, journal, score, take
from transformer_course.cases.desk import Desk
from transformer_course.checker.feedback import Verdict
from transformer_course.exercises import when_it_does_not_work as exercises
from transformer_course.workspace import home

STEPS = ("600, 32, 5e-3, 60, 25", "4, 32, 5e-3, 60, 2")
"""Of a training that is over at once."""


@pytest.fixture(autouse=True)
def one_thread():
    torch.set_num_threads(1)


@pytest.fixture
def opened(tmp_path):
    """Open a case whose training takes four steps."""

    def opened(key):
        case = Desk(catalogue.cases()[key], tmp_path / key)
        if case.case.program == "with_torch" and STEPS[0] in case.file.read_text():
            case.mend(*STEPS)
        return case

    return opened


def test_a_case_is_laid_as_it_is_and_kept_as_it_becomes(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my_transformer.py").touch()
    case = take("clairvoyant")
    assert case.file == tmp_path / "cases" / "clairvoyant" / "translator.py"
    assert case.file.read_text() == case.case.text
    case.file.write_text("mine")
    assert take("clairvoyant").file.read_text() == "mine"
    assert take("clairvoyant", anew=True).file.read_text() == case.case.text


def test_an_unknown_case_is_named_with_those_that_there_are():
    with pytest.raises(ValueError, match="no case 'lost'; there is clairvoyant, stranger"):
        take("lost")


def test_the_card_shows_story_score_and_translations(opened):
    case = opened("endless")
    words = repr(case)
    assert case.case.story in words
    assert "0% of 200 new numbers are right" in words
    assert "0 so far; par is 1" in words
    assert case.case.story.split(",")[0] in case._repr_html_()
    assert case.case.mended not in words


def test_an_experiment_gets_what_it_asks_for_and_is_counted(opened, capsys):
    case = opened("endless")
    losses = case.run(exercises.loss_by_position)
    assert losses.ndim == 1
    assert "Experiment 1; par is 1" in capsys.readouterr().out
    assert case.run(lambda pad, most: (pad, most)) == (0, 300)
    assert journal.spent(case.case) == 2


def test_what_it_is_fed_is_what_its_own_code_makes(opened):
    fed = opened("parrot").run(experiments.what_it_is_fed)
    assert (fed["target in"] == fed["target out"]).all()
    fed = opened("waverer").run(experiments.what_it_is_fed)
    assert all(row.startswith("<bos>") for row in fed["target in"])
    assert (fed["target in"] != fed["target out"]).all()


def test_known_sentences_are_those_of_the_text_whatever_was_loaded(opened):
    case = opened("amnesiac")
    assert set(case.supply("known")) <= set(case.program.text("train"))


def test_an_experiment_may_be_given_something_else(opened):
    case = opened("endless")
    random = case.supply("exchanged_batch")
    assert case.run(lambda batch: batch, batch=random) is random


def test_an_experiment_that_asks_for_the_moon_is_told_what_there_is(opened):
    with pytest.raises(
        ValueError, match=r"cannot ask for moon: there is batch, exchanged_batch, fed"
    ):
        opened("endless").run(lambda moon: moon)


@pytest.mark.parametrize("key", ["waverer", "hoarder"])
def test_the_step_is_that_of_the_network(opened, key, monkeypatch):
    monkeypatch.setattr(desk.catalogue.PROGRAMS["with_parts"][1], "STEPS", 4)
    assert opened(key).run(exercises.still_weights) == []


def test_a_wrong_name_costs_an_experiment_and_a_right_one_nothing(opened):
    case = opened("endless")
    assert case.name("heads_mixed").verdict is Verdict.WRONG
    assert journal.spent(case.case) == 1
    assert case.name("end_not_learned").passed
    assert journal.spent(case.case) == 1
    with pytest.raises(ValueError, match=r"gremlins: see the names in `cases.names\(\)`"):
        case.name("gremlins")
    with pytest.raises(ValueError, match="say what is wrong by a name"):
        case.name()


def test_of_two_faults_both_have_to_be_named(opened):
    case = opened("two_of_them")
    assert "There is another" in repr(case.name("rate_too_low"))
    assert "Now mend" in repr(case.name("search_begins_wrongly"))


def test_mending_replaces_what_is_there_once(opened):
    case = opened("endless")
    with pytest.raises(ValueError, match="2 times; give a piece"):
        case.mend("LOOK_EVERY", "LOOK")
    case.mend("ignore_index=EOS", "ignore_index=PAD")
    assert "ignore_index=PAD" in case.file.read_text()


def test_a_file_that_does_not_run_is_said_to_be_so(opened):
    case = opened("endless")
    case.file.write_text("def f(:")
    assert "translator.py does not run: SyntaxError" in repr(case.check())


def test_what_was_not_mended_is_not_solved_and_what_is_changed_is_trained_anew(opened):
    case = opened("endless")
    assert "90% are wanted. It was 0%." in repr(case.check())
    weights = (case.folder / "weights.pt").stat().st_mtime_ns
    case.check()
    assert (case.folder / "weights.pt").stat().st_mtime_ns == weights
    case.mend("ignore_index=EOS", "ignore_index=PAD")
    case.check()
    assert (case.folder / "weights.pt").stat().st_mtime_ns != weights
    assert not journal.is_solved(case.case)


def test_weights_of_a_training_that_was_killed_count_for_nothing(opened, monkeypatch):
    case = opened("endless")
    before, text = case.measured(), case.file.read_text()
    case.mend("ignore_index=EOS", "ignore_index=PAD")
    monkeypatch.setattr(desk, "write_text", lambda path, text: pytest.fail("it is killed"))
    with pytest.raises(pytest.fail.Exception, match="it is killed"):
        case.measured()
    monkeypatch.undo()
    case.file.write_text(text)
    assert case.measured() == before


def test_what_was_learned_by_the_same_program_is_taken_over(opened, monkeypatch):
    learned, mended = opened("endless"), opened("parrot")
    seen = learned.measured()
    monkeypatch.setattr(mended, "_train", lambda program: pytest.fail("it is trained"))
    mended.file.write_text(learned.file.read_text())
    assert mended.measured() == seen
    (mended.folder / "train.en").write_text("one\n")
    with pytest.raises(pytest.fail.Exception, match="it is trained"):
        mended.measured()


def test_it_is_solved_when_it_is_mended_and_named(opened, monkeypatch):
    case = opened("endless")
    monkeypatch.setattr(desk, "GOAL", 0.0)
    assert "Now say what it was" in repr(case.check())
    case.name("end_not_learned")
    solved = case.check()
    assert solved.passed
    assert "You made 0 experiments; par is 1." in repr(solved)
    assert case.case.mended in repr(solved)
    rows = {row[0]: row[-1] for row in score.scoreboard().table.rows}
    assert [key for key, is_solved in rows.items() if is_solved == "yes"] == ["endless"]
    case.run(exercises.loss_by_position)
    assert journal.spent(case.case) == 0


def test_the_home_page_counts_what_was_mended(opened, monkeypatch, tmp_path):
    case = opened("endless")
    monkeypatch.setattr(desk, "GOAL", 0.0)
    case.run(exercises.loss_by_position)
    case.name("end_not_learned")
    case.check()
    page = home.page(tmp_path, [], [])
    level = sum(each.level == 1 for each in catalogue.cases().values())
    assert f">{home.SOLVED}{home.UNSOLVED * (level - 1)}</td>" in page


def test_the_demonstration_is_not_on_the_scoreboard():
    assert "parrot" not in {row[0] for row in score.scoreboard().table.rows}
