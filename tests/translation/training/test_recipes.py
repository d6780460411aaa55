import pytest

from transformer_course.model import TransformerConfig
from transformer_course.translation.training.recipes import RECIPES, recipe_for


@pytest.mark.parametrize("corpus", RECIPES)
def test_sizes_make_a_model(corpus: str) -> None:
    recipe = recipe_for(corpus)
    assert recipe is RECIPES[corpus]
    TransformerConfig(source_vocab=100, target_vocab=120, tying="two_way", **recipe.sizes)


def test_unknown_corpus_is_refused() -> None:
    with pytest.raises(ValueError, match="no corpus 'wmt99'; use one of toy, files"):
        recipe_for("wmt99")
