"""The lessons, in the order in which they are meant to be read.

The name of a lesson, without its number, is also the name of its exercises and its tests.
"""

from pathlib import Path

LESSONS = {
    "00_start_here": "Start here",
    "01_positional_encoding": "Positional encoding",
    "02_attention": "Attention",
    "03_multi_head_attention": "Multi-head attention",
    "04_feed_forward": "Feed-forward",
    "05_layers": "Encoder and decoder layers",
    "06_transformer": "The Transformer",
    "07_toy_translation": "Training a toy translation",
    "08_decoding": "Decoding",
    "09_real_translation": "Real translation",
    "10_variants": "Variants",
    "11_pretrained": "A real pretrained translator",
    "12_when_it_does_not_work": "When it does not work",
    "13_your_own_text": "Your own text",
}
"""The title of each lesson by the name of its notebook."""


def lessons_folder() -> Path:
    """Return the folder that holds the notebooks: the package's own, or that of the checkout."""
    package = Path(__file__).parent
    shipped = package / "lessons"
    return shipped if shipped.is_dir() else package.parent / "notebooks"


def colab_link(repository: str, lesson: str) -> str:
    """Return the address that opens a lesson of the repository in Colab."""
    path = repository.removeprefix("https://github.com/")
    return f"https://colab.research.google.com/github/{path}/blob/main/notebooks/{lesson}.ipynb"


def kaggle_link(repository: str, lesson: str) -> str:
    """Return the address that opens a copy of a lesson of the repository in Kaggle."""
    path = repository.removeprefix("https://github.com/")
    raw = f"https://raw.githubusercontent.com/{path}/main/notebooks/{lesson}.ipynb"
    return f"https://kaggle.com/kernels/welcome?src={raw}"
