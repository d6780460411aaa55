"""A page of a translator on sub-words cuts, translates and joins as Python does."""

import random
from pathlib import Path

import pytest
import torch
from playwright.sync_api import expect

from tests.browser.conftest import random_run
from tests.browser.test_live_translator import TRANSLATE_ALL, ask
from tools.live_translator import ON_REQUEST
from transformer_course.model import silenced_heads
from transformer_course.publish import write_page
from transformer_course.translation import (
    Translator,
    learn_subwords,
    multi30k_corpus,
    shipped_checkpoint,
)
from transformer_course.translation.corpora.corpus import SentencePair
from transformer_course.translation.translator import CAPTIONS

MULTI30K = Path(__file__).parents[2].parent / "shared" / "data" / "multi30k"
needs_multi30k = pytest.mark.skipif(not MULTI30K.is_dir(), reason="Multi30k is not here")
CAPTIONS = CAPTIONS.read_text(encoding="utf-8").splitlines()
# The sub-words hold their letters, é composed and as e with an accent.
ACCENTS = ["Un café près de l'église, en été.", "Zwei Mädchen grüßen.", "e\u0301te\u0301"]
STRANGE = [
    "",
    " ",
    "▁",
    "  A  man ",
    "▁A man▁",
    " ▁ a ▁▁ b",
    "A\tman\n",
    "A\u00a0man",
    "A\u3000man",
    "\ufeffA\u2028man\x85 a\x1cman\r\n",
    "漢字 a漢b",
    "\U0001f600\U0001f600 \U0001f469\u200d\U0001f680",
    "<unk> <bos></s>",
    "cafe\u0301 café",
    "l'été",
    "1234567890",
    "AAAAAAAAAAAAAA",
]
ALPHABET = [*"aentsA.", " ", " ", "▁", "é", "e\u0301", "ü", "字", "\U0001f600"]
CUT = """sentences => {
    const { source } = new Translator(TRANSLATORS.published);
    return sentences.map(sentence => source.tokens(sentence)).map(each => [each, source.ids(each)]);
}"""
JOIN = """sentences => {
    const { target } = new Translator(TRANSLATORS.published);
    return sentences.map(ids => target.text(ids));
}"""
MOST_BYTES = 8e6
SIZES = {"d_model": 32, "heads": 4, "d_ff": 48}


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Return the folder of a small run with random weights, and its translator."""
    folder = tmp_path_factory.mktemp("run")
    pairs = [SentencePair(text, text) for text in CAPTIONS + ACCENTS]
    translator = random_run(folder, pairs, subwords=400, **SIZES)
    write_page(folder, folder / "page.html")
    return folder, translator


@pytest.fixture
def page(run, opens):
    with opens(run[0] / "page.html") as visit:
        yield visit.page


@pytest.fixture
def translator(run):
    return run[1]


def random_texts(number, rng):
    return ["".join(rng.choices(ALPHABET, k=rng.randrange(1, 40))) for _ in range(number)]


def assert_cut_as_in_python(page, tokenizer, sentences):
    expected = [[tokenizer.tokens(text), tokenizer.encode(text)] for text in sentences]
    found = page.evaluate(CUT, sentences)
    wrong = [each for each in zip(sentences, found, expected, strict=True) if each[1] != each[2]]
    assert wrong == []


def assert_joined_as_in_python(page, tokenizer, sentences):
    assert page.evaluate(JOIN, sentences) == [tokenizer.decode(ids) for ids in sentences]


def assert_translated_as_in_python(page, translator, sentences, beam):
    found = page.evaluate(TRANSLATE_ALL, ["published", sentences, beam])
    translations = translator.translate(sentences, beam=beam)
    pairs = zip([one["translation"] for one in found], translations, strict=True)
    assert [pair for pair in pairs if pair[0] != pair[1]] == []
    return translations


def test_sentences_are_cut_as_in_python(page, translator):
    sentences = CAPTIONS + ACCENTS + STRANGE + random_texts(500, random.Random(0))
    assert_cut_as_in_python(page, translator.source, sentences)


def test_pieces_are_joined_as_in_python(page, translator):
    rng = random.Random(0)
    size = len(translator.target.vocabulary)
    word_begins = translator.target.vocabulary.tokens.index("▁")
    ids = [rng.choices([0, 1, 2, 3, word_begins, *range(size)], k=8) for _ in range(500)]
    assert_joined_as_in_python(page, translator.target, ids)


def test_random_weights_translate_as_in_python(page, translator):
    said = assert_translated_as_in_python(page, translator, CAPTIONS[:20], beam=1)
    assert len(set(said)) > 10  # random weights do not say the same to everything


def test_random_weights_are_searched_as_in_python(page, translator):
    assert_translated_as_in_python(page, translator, CAPTIONS[:5], beam=5)


def test_attention_is_that_of_python(page, translator):
    (found,) = page.evaluate(TRANSLATE_ALL, ["published", CAPTIONS[:1], 1])
    weights, _, columns = translator.attention_map(CAPTIONS[0], found["translation"])
    here = torch.tensor(found["attention"]).permute(1, 2, 0, 3)
    assert found["tokens"] == columns[:-1]
    # The translation, joined and cut again, may have other pieces: its first is the same.
    torch.testing.assert_close(here[:, :, 0], weights[:, :, 0], rtol=0, atol=1e-4)


def test_page_shows_pieces(page, translator):
    expect(page.locator("#live-hint")).to_contain_text("▁ marks the beginning of a word")
    ask(page, "A dog is hungry.")
    pieces = translator.source.tokens("A dog is hungry.")
    assert len(pieces) > 5
    assert page.locator("#live-read").inner_text().split(" ") == pieces
    columns = page.locator("#live-grid thead tr:last-child th").all_inner_texts()
    assert columns == [*pieces, "<eos>"]
    expect(page.locator("#live-status")).to_contain_text("ms a piece")


def test_unknown_characters_are_named(page):
    ask(page, "A 漢字 dog.")
    assert page.locator("#live-read .unknown").all_inner_texts() == ["漢字"]
    expect(page.locator("#live-status")).to_contain_text("It does not know the piece 漢字")


def test_a_silenced_head_is_that_of_python(page, translator):
    source = CAPTIONS[1]
    page.get_by_text("Switch heads off", exact=True).click()
    ask(page, source)
    for head in (0, 2):
        page.get_by_label(f"cross-attention, layer 1, head {head}").uncheck()
    page.get_by_label("encoder, layer 0, head 3").uncheck()
    silenced = [("decoder.layers.1.cross_attention", head) for head in (0, 2)]
    with silenced_heads(translator.model, [*silenced, ("encoder.layers.0.self_attention", 3)]):
        (expected,) = translator.translate([source])
    assert page.locator("#live-translation").text_content() == expected
    assert translator.translate([source]) != [expected]


# The translators that ship


@pytest.fixture(scope="module", params=ON_REQUEST)
def shipped(request, tmp_path_factory):
    """Return a translator that ships, the name of its folder and a page that has its weights."""
    folder = shipped_checkpoint(request.param)
    path = tmp_path_factory.mktemp("pages") / "page.html"
    write_page(folder, path)
    return Translator.load(folder), request.param, path


def test_its_page_is_small(shipped):
    assert shipped[2].stat().st_size <= MOST_BYTES


def test_captions_are_translated_as_in_python(opens, shipped):
    translator, _, path = shipped
    with opens(path) as visit:
        assert_translated_as_in_python(visit.page, translator, CAPTIONS[:20], beam=1)
        assert_translated_as_in_python(visit.page, translator, CAPTIONS[:5], beam=5)


@needs_multi30k
@pytest.mark.exhaustive
@pytest.mark.timeout(3000)
def test_the_test_set_is_translated_as_in_python(opens, shipped):
    translator, name, path = shipped
    corpus = multi30k_corpus(name.removeprefix("multi30k-"), MULTI30K.parent)
    test = [pair.source for pair in corpus.split("test")]
    assert len(test) == 1000
    with opens(path) as visit:
        assert_translated_as_in_python(visit.page, translator, test, beam=1)
        assert_translated_as_in_python(visit.page, translator, test[:200], beam=5)


# All of Multi30k


@needs_multi30k
@pytest.mark.exhaustive
@pytest.mark.timeout(3000)
@pytest.mark.parametrize("pair", ["en-fr", "en-de"])
def test_every_sentence_is_cut_and_joined_as_in_python(opens, tmp_path, pair):
    corpus = multi30k_corpus(pair, MULTI30K.parent)
    train = [text for each in corpus.split("train") for text in (each.source, each.target)]
    test = [text for each in corpus.split("test") for text in (each.source, each.target)]
    translator = random_run(tmp_path, subwords=learn_subwords(train, 6000))
    write_page(tmp_path, tmp_path / "page.html")
    with opens(tmp_path / "page.html") as visit:
        assert_cut_as_in_python(visit.page, translator.source, train + test)
        ids = [translator.target.encode(text) for text in test]
        assert_joined_as_in_python(visit.page, translator.target, ids)
