import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from transformer_course.translation.corpora.batches import collate
from transformer_course.translation.corpora.corpus import SentencePair
from transformer_course.translation.corpora.vocabulary import BOS, EOS, PAD
from transformer_course.translation.evaluation.evaluate import (
    alignment_accuracy,
    evaluate,
    perplexity,
)
from transformer_course.translation.evaluation.metrics import (
    scores,
)
from transformer_course.translation.translator import Translator

# Alike but for one word, one capital and one full stop; no blank before the full stops.
SAID = ["C'est un ami de Paul.", "Les deux chats dorment là.", "le roi chante"]
WANTED = ["C'est l'ami de Paul.", "Les deux chats dorment là.", "Le roi chante."]
# Three sentences of unequal length.
UNEVEN = [
    SentencePair("the cat sleeps", "le chat dort"),
    SentencePair("dog", "chien"),
    SentencePair("my king", "mon roi chante mange dort"),
]


def test_translator_that_knows_nothing_hesitates_among_all_tokens(translator: Translator) -> None:
    with torch.no_grad():
        for weights in translator.model.parameters():
            weights.zero_()  # all logits are equal then
    assert perplexity(translator, UNEVEN) == pytest.approx(len(translator.target.vocabulary))


def test_perplexity_is_a_mean_over_tokens_not_sentences(translator: Translator) -> None:
    source, target_in, target_out = collate(translator.encode_pairs(UNEVEN), BOS, EOS, PAD)
    translator.model.eval()
    with torch.no_grad():
        logits = translator.model(source, target_in).flatten(0, 1)
    translator.model.train()
    expected = F.cross_entropy(logits, target_out.flatten(), ignore_index=PAD).exp().item()
    assert perplexity(translator, UNEVEN) == pytest.approx(expected, rel=1e-5)
    alone = [math.log(perplexity(translator, [pair])) for pair in UNEVEN]
    assert math.exp(sum(alone) / 3) != pytest.approx(expected, rel=1e-3)
    assert translator.model.training


def test_perplexity_does_not_depend_on_the_batches(translator: Translator) -> None:
    together = perplexity(translator, UNEVEN)
    assert perplexity(translator, UNEVEN[::-1], batch_tokens=1) == pytest.approx(together, rel=1e-5)


def test_perplexity_of_nothing_is_refused(translator: Translator) -> None:
    with pytest.raises(ValueError, match="at least one sentence pair"):
        perplexity(translator, [])


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


def test_pairs_without_links_are_refused(staring: Staring) -> None:
    pair = SentencePair("a b", "x")
    with pytest.raises(ValueError, match="no pair has a gold link"):
        alignment_accuracy(staring.stare_at([torch.rand(2, 3)]), [pair])


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
    found = evaluate(translator, [*own, pairs[3]])
    assert list(found) == [
        "sacrebleu",
        "signature",
        "bleu_tokenized_lowercase",
        "chrf",
        "sentences",
        "seconds",
        "exact_match",
        "alignment_accuracy",
    ]
    assert found["sentences"] == 4
    assert found["exact_match"] == 3 / 4
    assert 0 < found["sacrebleu"] < 100
    assert 0 < found["seconds"] < 60
    assert 0 <= found["alignment_accuracy"] <= 1


def test_evaluation_hands_the_beam_on_and_knows_the_target_language(
    translator: Translator,
) -> None:
    class Said(Translator):
        def translate(self, sentences: Sequence[str], batch_size: int = 100, beam: int = 1):
            assert sentences == ["a", "b", "c"]
            return WANTED if beam == 5 else SAID

    said = Said(translator.model, translator.source, translator.target)
    pairs = [SentencePair(*texts) for texts in zip("abc", WANTED, strict=True)]
    assert evaluate(said, pairs, beam=5)["exact_match"] == 1
    found = evaluate(said, pairs)
    assert found["exact_match"] == 1 / 3
    assert found.items() >= scores(SAID, WANTED, "fr").items()
    assert scores(SAID, WANTED, "fr") != scores(SAID, WANTED, "en")


def test_without_gold_links_there_is_no_alignment_score(
    translator: Translator, pairs: list[SentencePair]
) -> None:
    plain = [replace(pair, alignment=()) for pair in pairs[:3]]
    assert "alignment_accuracy" not in evaluate(translator, plain)


def test_sub_words_have_no_alignment_score(pairs: list[SentencePair]) -> None:
    sizes = {"d_model": 8, "heads": 2, "encoder_layers": 1, "decoder_layers": 1, "d_ff": 8}
    cut = Translator.from_pairs(pairs, ("en", "fr"), 1, 0, 60, **sizes)
    assert any(pair.alignment for pair in pairs)
    assert "alignment_accuracy" not in evaluate(cut, pairs[:3])
    with pytest.raises(ValueError, match="gold alignments are of words"):
        alignment_accuracy(cut, pairs)


def test_no_pairs_are_refused(translator: Translator) -> None:
    with pytest.raises(ValueError, match="at least one sentence pair"):
        evaluate(translator, [])
