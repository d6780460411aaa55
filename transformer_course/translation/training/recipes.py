"""Recipes that are known to work, in files of the folder ``recipes``."""

from pathlib import Path

from transformer_course.translation.corpora.registry import check_name
from transformer_course.translation.training.recipe import (
    Recipe,
    Settings,
    read_settings,
)
from transformer_course.translation.training.settings import TrainingSettings

FOLDER = Path(__file__).parents[2] / "recipes"
MEANINGS = "meanings"
LIKE = "like"


def shipped_recipe(name: str) -> Recipe:
    """Return the recipe of a file that ships.

    Raises
    ------
    ValueError
        If none of that name ships.
    """
    names = recipe_names()
    if name not in names:
        raise ValueError(f"no settings {name!r} ship with the course; use {', '.join(names)}.")
    return read_recipe(FOLDER / f"{name}.toml", Recipe(TrainingSettings()))


def recipe_names() -> list[str]:
    """Return the names of the recipes that ship."""
    return sorted(path.stem for path in FOLDER.glob("*.toml") if path.stem != MEANINGS)


def read_recipe(path: Path, recipe: Recipe) -> Recipe:
    """Read a file of settings, or those that ship under a name; the rest is as in ``recipe``.

    A line ``like = "NAME"`` at its head takes the recipe of that name for this.

    Raises
    ------
    OSError
        If the file cannot be read.
    ValueError
        If it is no TOML, no settings ship under the name, there is no such setting, or it cannot
        have the value.
    """
    path = _file_of(path)
    settings = read_settings(path)
    try:
        if LIKE in settings:
            recipe = shipped_recipe(settings.pop(LIKE))
        return recipe.changed(settings)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None


def _file_of(path: Path) -> Path:
    """Return a file of settings, or that of those that ship under a name."""
    if path.is_file() or path.suffix:
        return path
    if str(path) not in recipe_names():
        raise ValueError(
            f"there is no file {path}, and no settings of that name ship with the course; use "
            f"{', '.join(recipe_names())}."
        )
    return FOLDER / f"{path}.toml"


def meanings() -> Settings:
    """Return what each setting means, by section and name."""
    return read_settings(FOLDER / f"{MEANINGS}.toml")


RECIPES = {
    "toy": shipped_recipe("toy"),
    "files": shipped_recipe("tiny"),
    "multi30k": shipped_recipe("multi30k"),
    "wmt14": shipped_recipe("wmt14"),
}
LONG_RUN = shipped_recipe("multi30k-long")
PIECES_RUN = shipped_recipe("multi30k-pieces")


def recipe_for(corpus: str) -> Recipe:
    """Return the recipe for a kind of corpus; raise ValueError for an unknown kind."""
    check_name(corpus)
    return RECIPES[corpus]
