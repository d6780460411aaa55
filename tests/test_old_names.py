"""Names that learners' code contains keep working when what they name has moved."""

import pkgutil

import pytest
import torch

from transformer_course import invariance, model, translation
from transformer_course.old_names import COURSE, OLD_NAMES


@pytest.mark.parametrize("old", OLD_NAMES)
def test_an_old_name_means_what_it_means_now(old):
    package, _, name = old.partition(".")
    found = getattr(pkgutil.resolve_name(f"{COURSE}.{package}"), name)
    assert found is pkgutil.resolve_name(f"{COURSE}.{OLD_NAMES[old]}")


def test_an_old_name_can_be_imported_from_its_package():
    from transformer_course.model import inference_mode
    from transformer_course.model import invariance as properties

    assert inference_mode is model.evaluating
    assert properties is invariance.properties


def test_other_names_are_missing_as_everywhere():
    with pytest.raises(
        AttributeError, match=r"'transformer_course\.model' has no .*'attend_twice'"
    ):
        _ = model.attend_twice


def test_the_fast_decoder_of_the_first_edition_still_decodes():
    toy = translation.Translator.load(translation.toy_checkpoint())
    source = torch.tensor([toy.source.encode("the small cat sleeps")])
    ends = translation.BOS, translation.EOS
    fast = translation.FastDecoding(toy.model)
    assert torch.equal(
        translation.greedy(toy.model, source, *ends, decoder=fast),
        translation.greedy(toy.model, source, *ends),
    )
