from collections.abc import Iterator, Sequence
from dataclasses import replace

import pytest
import sacrebleu
import torch
from torch import Tensor

from transformer_course.translation.corpus import SentencePair
from transformer_course.translation.evaluation import (
    alignment_accuracy,
    bleu,
    evaluate,
    exact_match,
)
from transformer_course.translation.translator import Translator

REFERENCES = ["le chat dort .", "mon chien mange .", "Le roi chante ."]


def test_exact_match_is_a_share_and_minds_every_letter() -> None:
    assert exact_match(REFERENCES, REFERENCES) == 1.0
    assert exact_match(["le chat dort .", "mon chien mange", "le roi chante ."], REFERENCES) == (
        pytest.approx(1 / 3)
    )


def test_unequal_numbers_of_sentences_are_refused() -> None:
    with pytest.raises(ValueError, match="argument 2 is longer"):
        exact_match(REFERENCES[:2], REFERENCES)


def test_bleu_is_that_of_sacrebleu() -> None:
    translations = ["le chat dort .", "mon chien mange bien .", "Le roi rêve ."]
    expected = sacrebleu.corpus_bleu(translations, [REFERENCES]).score
    assert 0 < expected < 100
    assert bleu(translations, REFERENCES) == expected
    assert bleu(REFERENCES, REFERENCES) == pytest.approx(100)


def test_bleu_minds_case() -> None:
    lower = [reference.lower() for reference in REFERENCES]
    assert bleu(lower, REFERENCES) < 100


class Staring(Translator):
    """Attends as the test says: for each pair one matrix, the same in each layer and head."""

    def stare_at(self, attention: list[Tensor]) -> "Staring":
        self.attention = attention
        return self

    def cross_attention(
        self, pairs: Sequence[SentencePair], batch_size: int = 100
    ) -> Iterator[Tensor]:
        for weights in self.attention:
            yield weights.expand(2, 2, *weights.shape)


@pytest.fixture
def staring(translator: Translator) -> Staring:
    return Staring(translator.model, translator.source, translator.target)


def test_alignment_accuracy_is_the_share_of_linked_words_that_look_right(staring: Staring) -> None:
    """Two words of one pair look right, one wrong; the other pair's only linked word is right."""
    first = torch.tensor(
        [
            [0.7, 0.1, 0.1, 0.1],  # looks at 0, linked to 0
            [0.4, 0.3, 0.2, 0.1],  # looks at 0, linked to 1
            [0.1, 0.2, 0.6, 0.1],  # looks at 2, linked to 1 and 2
            [0.0, 0.0, 0.0, 1.0],  # the end token
        ]
    )
    second = torch.tensor([[0.1, 0.9], [0.8, 0.2], [0.0, 1.0]])  # only word 1 is linked, to 0
    pairs = [
        SentencePair("a b c", "x y z", alignment=((0, 0), (1, 1), (1, 2), (2, 2))),
        SentencePair("a", "x y", alignment=((0, 1),)),
    ]
    accuracy = alignment_accuracy(staring.stare_at([first, second]), pairs)
    assert accuracy == pytest.approx(3 / 4)


def test_end_token_is_no_word_to_look_at(staring: Staring) -> None:
    pair = SentencePair("a b", "x", alignment=((1, 0),))
    end_first = torch.tensor([[0.1, 0.3, 0.6], [0.0, 0.0, 1.0]])
    assert alignment_accuracy(staring.stare_at([end_first]), [pair]) == 1


def test_heads_of_all_layers_count_alike(translator: Translator) -> None:
    """One sure head outweighs three that waver: neither votes nor the last layer decide."""
    sure, wavering = [0.9, 0.1, 0.0], [0.45, 0.55, 0.0]

    class Layered(Staring):
        def cross_attention(
            self, pairs: Sequence[SentencePair], batch_size: int = 100
        ) -> Iterator[Tensor]:
            yield torch.tensor([[sure, wavering], [wavering, wavering]]).unsqueeze(2)

    layered = Layered(translator.model, translator.source, translator.target)
    assert alignment_accuracy(layered, [SentencePair("a b", "x", alignment=((0, 0),))]) == 1


def test_scores_of_the_model_itself(translator: Translator, pairs: list[SentencePair]) -> None:
    own = [replace(p, target=translator.translate([p.source])[0]) for p in pairs[:3]]
    scores = evaluate(translator, [*own, pairs[3]])
    assert list(scores) == ["sentences", "exact_match", "bleu", "alignment_accuracy"]
    assert scores["sentences"] == 4
    assert scores["exact_match"] == 3 / 4
    assert 0 < scores["bleu"] < 100
    assert 0 <= scores["alignment_accuracy"] <= 1


def test_without_gold_links_there_is_no_alignment_score(
    translator: Translator, pairs: list[SentencePair]
) -> None:
    plain = [replace(pair, alignment=()) for pair in pairs[:3]]
    assert "alignment_accuracy" not in evaluate(translator, plain)


def test_no_pairs_are_refused(translator: Translator) -> None:
    with pytest.raises(ValueError, match="at least one sentence pair"):
        evaluate(translator, [])
