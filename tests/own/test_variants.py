"""Every right answer that the tests know, put into the file, alone among the course's parts."""

import importlib.util
from pathlib import Path

import pytest

from tests.own.notebooks import own_module
from transformer_course.exercises import catalogues
from transformer_course.own.join import join
from transformer_course.own.sections import parts

FOLDER = Path(__file__).parents[1] / "exercises" / "variants"
# Instances of classes have no definition to copy; a class cannot derive from what it replaces.
REFUSED = {
    "AttentionByTorch": "its text cannot be found",
    "EncodingAsModule": "its text cannot be found",
    "EncoderLayerByDef": "whose place it should take",
    "EncoderLayerByHand": "whose place it should take",
    "EncoderLayerInOneExpression": "whose place it should take",
    "DecoderLayerByDef": "whose place it should take",
    "DecoderLayerByPartial": "whose place it should take",
}


def variants():
    for lesson in dict.fromkeys(parts().values()):
        spec = importlib.util.spec_from_file_location(f"own_{lesson}", FOLDER / f"{lesson}.py")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        for name, answers in module.VARIANTS.items():
            for number, answer in enumerate(answers if name in parts() else ()):
                label = getattr(answer, "__name__", type(answer).__name__)
                marks = pytest.mark.exhaustive if number else ()
                exercise = catalogues()[lesson][name]
                yield pytest.param(exercise, answer, id=f"{name}: {label}", marks=marks)


@pytest.mark.parametrize(("exercise", "answer"), list(variants()))
def test_right_answer_joins_or_is_told_why_not(exercise, answer, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    said = join(exercise, answer, own_module(tmp_path))
    reason = REFUSED.get(getattr(answer, "__name__", type(answer).__name__))
    assert (reason or f"`{exercise.name}` is in your translator: 1 of") in said
