"""Two files for whoever has none: captions in German and French, or the toy language."""

from pathlib import Path

from transformer_course.files import write_text
from transformer_course.translation.corpora.corpus import SentencePair
from transformer_course.translation.corpora.multi30k import multi30k_corpus
from transformer_course.translation.corpora.toy_language import toy_corpus

PAIRS = 3000


def write_captions(folder: Path) -> tuple[Path, Path]:
    """Write captions in German and French, which translate the same English ones, into two files.

    They are the first of the training split of Multi30k, which is downloaded if it is not there.

    Parameters
    ----------
    folder
        Where ``captions.de`` and ``captions.fr`` go; files of these names are replaced.

    Raises
    ------
    ValueError
        If a file of Multi30k is not the published one.
    OSError
        If it cannot be downloaded, or a file cannot be written.
    """
    german, french = (multi30k_corpus(pair).split("train")[:PAIRS] for pair in ("en-de", "en-fr"))
    pairs = [SentencePair(g.target, f.target) for g, f in zip(german, french, strict=True)]
    return _written(pairs, folder / "captions.de", folder / "captions.fr")


def write_toy_sentences(folder: Path) -> tuple[Path, Path]:
    """Write sentences of the toy language, French into English, into two files.

    Parameters
    ----------
    folder
        Where ``toy.fr`` and ``toy.en`` go; files of these names are replaced.

    Raises
    ------
    OSError
        If a file cannot be written.
    """
    drawn = toy_corpus().split("train")[:PAIRS]
    pairs = [SentencePair(pair.target, pair.source) for pair in drawn]
    return _written(pairs, folder / "toy.fr", folder / "toy.en")


def _written(pairs: list[SentencePair], source: Path, target: Path) -> tuple[Path, Path]:
    source.parent.mkdir(parents=True, exist_ok=True)
    write_text(source, "".join(f"{pair.source}\n" for pair in pairs))
    write_text(target, "".join(f"{pair.target}\n" for pair in pairs))
    return source, target
