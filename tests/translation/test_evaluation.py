import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import pytest
import sacrebleu
import torch
import torch.nn.functional as F
from sacremoses import MosesPunctNormalizer, MosesTokenizer
from torch import Tensor

from transformer_course.translation.batches import collate
from transformer_course.translation.corpus import SentencePair
from transformer_course.translation.evaluation import (
    alignment_accuracy,
    bleu,
    bleu_tokenized_lowercase,
    evaluate,
    exact_match,
    paired_bootstrap,
    perplexity,
    scores,
)
from transformer_course.translation.text import BOS, EOS, PAD
from transformer_course.translation.translator import Translator

REFERENCES = ["le chat dort .", "mon chien mange .", "Le roi chante ."]
# Alike but for one word, one capital and one full stop; no blank before the full stops.
SAID = ["C'est un ami de Paul.", "Les deux chats dorment là.", "le roi chante"]
WANTED = ["C'est l'ami de Paul.", "Les deux chats dorment là.", "Le roi chante."]


def test_exact_match_is_a_share_and_minds_every_letter() -> None:
    assert exact_match(REFERENCES, REFERENCES) == 1.0
    assert exact_match(["le chat dort .", "mon chien mange", "le roi chante ."], REFERENCES) == (
        pytest.approx(1 / 3)
    )


def test_bleu_is_that_of_sacrebleu() -> None:
    translations = ["le chat dort .", "mon chien mange bien .", "Le roi rêve ."]
    expected = sacrebleu.corpus_bleu(translations, [REFERENCES]).score
    assert 0 < expected < 100
    assert bleu(translations, REFERENCES) == expected
    assert bleu(REFERENCES, REFERENCES) == pytest.approx(100)


def test_bleu_minds_case() -> None:
    lower = [reference.lower() for reference in REFERENCES]
    assert bleu(lower, REFERENCES) < 100


def test_tokenized_bleu_minds_no_case_but_every_word() -> None:
    upper = [reference.upper() for reference in WANTED]
    assert bleu_tokenized_lowercase(upper, WANTED, "fr") == pytest.approx(100)
    assert bleu_tokenized_lowercase(SAID, WANTED, "fr") < 100


def test_tokenized_bleu_takes_all_quotation_marks_for_the_same() -> None:
    assert bleu_tokenized_lowercase(["Il dit « oui »"], ['Il dit "oui"'], "fr") > 99


def test_tokenized_bleu_by_hand() -> None:
    """French rules cut "c' est l' ami": 7/8 * 5/7 * 3/6 * 2/5 = 1/8."""
    said, wanted = ["C'est un ami de Paul et Marie"], ["C'est l'ami de Paul et Marie"]
    expected = 100 * (1 / 8) ** (1 / 4)
    assert bleu_tokenized_lowercase(said, wanted, "fr") == pytest.approx(expected)
    # English rules cut "c 'est l 'ami", so that "ami" alone is wrong too.
    assert bleu_tokenized_lowercase(said, wanted, "en") < 0.9 * expected


@pytest.mark.parametrize("language", ["en", "fr", "de"])
def test_tokenized_bleu_is_that_of_sacrebleu(language: str) -> None:
    alike, cut = MosesPunctNormalizer(lang=language).normalize, MosesTokenizer(lang=language)
    said, wanted = (
        [cut.tokenize(alike(text.lower()), return_str=True) for text in texts]
        for texts in (SAID, WANTED)
    )
    expected = sacrebleu.corpus_bleu(
        said, [wanted], force=True, tokenize="none", smooth_method="none"
    )
    assert bleu_tokenized_lowercase(SAID, WANTED, language) == pytest.approx(expected.score)


def test_scores_are_named_and_signed() -> None:
    found = scores(SAID, WANTED, "fr")
    assert list(found) == [
        "sacrebleu",
        "signature",
        "bleu_tokenized_lowercase",
        "chrf",
        "sentences",
    ]
    assert found["sacrebleu"] == bleu(SAID, WANTED)
    assert found["signature"] == (
        f"nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:{sacrebleu.__version__}"
    )
    assert found["bleu_tokenized_lowercase"] == bleu_tokenized_lowercase(SAID, WANTED, "fr")
    assert found["chrf"] == sacrebleu.corpus_chrf(SAID, [WANTED]).score
    assert found["sentences"] == 3
    assert found["sacrebleu"] < found["bleu_tokenized_lowercase"]  # a capital is wrong


@pytest.mark.parametrize(
    "score", [exact_match, bleu, lambda said, wanted: scores(said, wanted, "fr")]
)
def test_unequal_numbers_and_nothing_are_refused(score) -> None:
    with pytest.raises(ValueError, match="got 2 translations and 3 references"):
        score(SAID[:2], WANTED)
    with pytest.raises(ValueError, match="got 3 translations and 1 references"):
        score(SAID, WANTED[:1])
    with pytest.raises(ValueError, match="got 0 translations and 0 references"):
        score([], [])


# Ten sentences: one system gets every third wrong, the other every second.
SENTENCES = [f"The {noun} number {n} sleeps in the sun." for n, noun in enumerate("abcdefghij")]
GOOD = [s.replace("sleeps", "is") if n % 3 == 0 else s for n, s in enumerate(SENTENCES)]
POOR = [s.replace("sleeps", "is") if n % 2 == 0 else s for n, s in enumerate(SENTENCES)]


def test_bootstrap_scores_the_whole_test_set() -> None:
    result = paired_bootstrap(GOOD, POOR, SENTENCES, samples=10)
    assert result["better"] == pytest.approx(bleu(GOOD, SENTENCES))
    assert result["worse"] == pytest.approx(bleu(POOR, SENTENCES))
    assert result["difference"] == result["better"] - result["worse"] > 0
    assert result["samples"] == 10


def test_bootstrap_smooths_as_sacrebleu_does() -> None:
    """Without four words in a row in common, nothing but the smoothing is left."""
    said, wanted = (
        ["le chat dort", "mon chien mange bien"],
        ["le chat mange", "mon chien dort bien"],
    )
    assert bleu_tokenized_lowercase(said, wanted, "fr") == 0
    result = paired_bootstrap(said, said, wanted, samples=5)
    assert result["better"] == pytest.approx(bleu(said, wanted))
    assert result["better"] > 0


def test_bootstrap_draws_whole_sentences_and_the_same_for_both() -> None:
    draws = np.random.default_rng(7).multinomial(10, [0.1] * 10, size=20)
    differences = []
    for draw in draws:
        drawn = [np.repeat(side, draw).tolist() for side in (GOOD, POOR, SENTENCES)]
        differences.append(bleu(drawn[0], drawn[2]) - bleu(drawn[1], drawn[2]))
    result = paired_bootstrap(GOOD, POOR, SENTENCES, samples=20, seed=7)
    assert result["p_value"] == (sum(d <= 0 for d in differences) + 1) / 21
    assert 1 / 21 < result["p_value"] < 1
    assert result["confidence_interval"] == pytest.approx(np.percentile(differences, [2.5, 97.5]))


def test_bootstrap_knows_a_sure_win_a_sure_loss_and_a_tie() -> None:
    always_wrong = [sentence.replace("sleeps", "is") for sentence in SENTENCES]
    win = paired_bootstrap(SENTENCES, always_wrong, SENTENCES, samples=99)
    loss = paired_bootstrap(always_wrong, SENTENCES, SENTENCES, samples=99)
    tie = paired_bootstrap(GOOD, GOOD, SENTENCES, samples=99)
    assert win["p_value"] == 1 / 100
    assert loss["p_value"] == 1
    assert tie["p_value"] == 1  # who does not differ does not win
    assert win["confidence_interval"][0] > 0
    assert loss["confidence_interval"] == pytest.approx(
        [-b for b in win["confidence_interval"]][::-1]
    )
    assert tie["confidence_interval"] == (0, 0)


def test_bootstrap_is_determined_by_its_seed() -> None:
    first, again, other = (
        paired_bootstrap(GOOD, POOR, SENTENCES, samples=50, seed=seed) for seed in (0, 0, 1)
    )
    assert first == again
    assert first["confidence_interval"] != other["confidence_interval"]


def test_bootstrap_takes_silence() -> None:
    assert paired_bootstrap(SENTENCES, [""] * 10, SENTENCES, samples=5)["worse"] == 0


def test_bootstrap_refuses_what_it_cannot_draw() -> None:
    with pytest.raises(ValueError, match="got samples = 0"):
        paired_bootstrap(GOOD, POOR, SENTENCES, samples=0)
    with pytest.raises(ValueError, match="got 9 translations and 10 references"):
        paired_bootstrap(GOOD, POOR[:9], SENTENCES)
    with pytest.raises(ValueError, match="got 0 translations"):
        paired_bootstrap([], [], [])


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


def test_no_pairs_are_refused(translator: Translator) -> None:
    with pytest.raises(ValueError, match="at least one sentence pair"):
        evaluate(translator, [])
