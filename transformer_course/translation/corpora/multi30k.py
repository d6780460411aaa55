"""Multi30k: 29,000 captions of photographs in English, with their translations.

Source: Elliott et al. (2016), "Multi30K: Multilingual English-German Image Descriptions"; the
French is from Elliott et al. (2017), "Findings of the Second Shared Task on Multimodal Machine
Translation and Multilingual Image Description".
"""

from pathlib import Path

from transformer_course.translation.corpora.corpus import Corpus, counted, languages_of_pair
from transformer_course.translation.corpora.downloads import (
    check_sha256,
    data_folder,
    download,
    find_file,
)
from transformer_course.translation.corpora.text_files import BLANK, read_pairs

PAIRS = ("en-fr", "fr-en", "en-de", "de-en")
SPLITS = {"train": "train", "dev": "val", "test": "test_2016_flickr"}
# The repository of its authors, at a fixed commit: what the address names never changes.
COMMIT = "a3d2e0d26b56f3846f66a952536ffed4e401d05a"
MIRRORS = (
    f"https://raw.githubusercontent.com/multi30k/dataset/{COMMIT}/data/task1/raw",
    f"https://github.com/multi30k/dataset/raw/{COMMIT}/data/task1/raw",
    f"https://cdn.jsdelivr.net/gh/multi30k/dataset@{COMMIT}/data/task1/raw",
)
SHA256 = {
    "train.en.gz": "d79cfa999dd4c51d2cb42499b6796d5a882c3a8a961923c25a898c90f8bbd56f",
    "train.fr.gz": "622e75069e9f4c577425c4f277116ce66e63a2401c0a2312d90073cb12379a3c",
    "train.de.gz": "726e39b2fa9eb9ffb6dc763fb35a179f80fae06ffc5d28b6ace5faa883de28a6",
    "val.en.gz": "14f7d25ddd868909a9213e361768460edcacdd6ab9d1e77b92560dc10c10dc28",
    "val.fr.gz": "ca3106f1a72390591d25f6c45cb4cd39dec4cd3f123e099748a3ce5256c160e9",
    "val.de.gz": "f0cba2f995189cf5770f29a8a9a537a3ad3f51657ad873405082ff6863a5e75a",
    "test_2016_flickr.en.gz": "611d361c6334bc7246101d48097c13cf5c4413c5befc793cc629934359d532d9",
    "test_2016_flickr.fr.gz": "6d326e188d259fb1d04ac19eae3af956559b3a0b93d7635e56c90987c40c8b90",
    "test_2016_flickr.de.gz": "9204244e408ccb38d2a55cfcd344df15005fc42a07a6e55ca6c52b6ababb8cc8",
}


def multi30k_corpus(pair: str = "en-fr", folder: Path | None = None) -> Corpus:
    """Read Multi30k with its splits train, dev and test; download what is not there.

    Parameters
    ----------
    pair
        ``"en-fr"``, ``"en-de"`` or one of them reversed.
    folder
        See :func:`~transformer_course.translation.data_folder`. The files may lie in it
        or in its subfolder ``multi30k``; downloads go to the subfolder.

    Raises
    ------
    ValueError
        If the pair or the folder is unknown, or a file is not the published one.
    OSError
        If a file cannot be downloaded, written or read.
    """
    languages = languages_of_pair(pair, PAIRS)
    folder = data_folder(folder)
    splits, left_out = {}, 0
    for split, stem in SPLITS.items():
        source, target = (_file(folder, f"{stem}.{language}.gz") for language in languages)
        splits[split], blank = read_pairs(source, target)
        left_out += blank
    return Corpus("multi30k", *languages, splits, counted({BLANK: left_out}))


def _file(folder: Path, name: str) -> Path:
    found = find_file(folder, "multi30k", name)
    if found is not None:
        check_sha256(found, SHA256[name])
        return found
    path = folder / "multi30k" / name
    download(path, SHA256[name], MIRRORS)
    return path
