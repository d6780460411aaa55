import numpy as np
import pytest
import sacrebleu
from sacrebleu.metrics import BLEU
from sacrebleu.significance import PairedTest
from sacremoses import MosesPunctNormalizer, MosesTokenizer

from transformer_course.translation.evaluation.metrics import (
    bleu,
    bleu_tokenized_lowercase,
    compare_counts,
    exact_match,
    paired_bootstrap,
    scores,
    scores_with_intervals,
    sentence_counts,
)

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
    assert result["system"] == pytest.approx(bleu(GOOD, SENTENCES))
    assert result["baseline"] == pytest.approx(bleu(POOR, SENTENCES))
    assert result["difference"] == result["system"] - result["baseline"] > 0
    assert result["samples"] == 10


def test_bootstrap_smooths_as_sacrebleu_does() -> None:
    """Without four words in a row in common, nothing but the smoothing is left."""
    said, wanted = (
        ["le chat dort", "mon chien mange bien"],
        ["le chat mange", "mon chien dort bien"],
    )
    assert bleu_tokenized_lowercase(said, wanted, "fr") == 0
    result = paired_bootstrap(said, said, wanted, samples=5)
    assert result["system"] == pytest.approx(bleu(said, wanted))
    assert result["system"] > 0


def test_bootstrap_draws_whole_sentences_and_the_same_for_both() -> None:
    draws = np.random.default_rng(7).multinomial(10, [0.1] * 10, size=20)
    differences = []
    for draw in draws:
        drawn = [np.repeat(side, draw).tolist() for side in (GOOD, POOR, SENTENCES)]
        differences.append(bleu(drawn[0], drawn[2]) - bleu(drawn[1], drawn[2]))
    result = paired_bootstrap(GOOD, POOR, SENTENCES, samples=20, seed=7)
    far = [abs(d - np.mean(differences)) >= result["difference"] for d in differences]
    assert result["p_value"] == (sum(far) + 1) / 21
    assert 1 / 21 < result["p_value"] < 1
    assert result["confidence_interval"] == pytest.approx(np.percentile(differences, [2.5, 97.5]))


def test_bootstrap_knows_a_sure_win_a_sure_loss_and_a_tie() -> None:
    always_wrong = [sentence.replace("sleeps", "is") for sentence in SENTENCES]
    win = paired_bootstrap(SENTENCES, always_wrong, SENTENCES, samples=99)
    loss = paired_bootstrap(always_wrong, SENTENCES, SENTENCES, samples=99)
    tie = paired_bootstrap(GOOD, GOOD, SENTENCES, samples=99)
    assert win["p_value"] == 1 / 100
    assert loss["p_value"] == 1 / 100  # both ways count
    assert tie["p_value"] == 1
    assert win["confidence_interval"][0] > 0
    assert loss["confidence_interval"] == pytest.approx(
        [-b for b in win["confidence_interval"]][::-1]
    )
    assert tie["confidence_interval"] == (0, 0)


@pytest.mark.exhaustive
def test_bootstrap_raises_a_false_alarm_in_one_of_twenty_comparisons() -> None:
    """Both systems get half of the sentences wrong, each by chance: neither is better."""
    wanted = SENTENCES * 6
    alarms = 0
    for seed in range(100):
        wrong = np.random.default_rng(seed).random((2, 60)) < 0.5
        said = [
            [s.replace("sleeps", "is") if bad else s for s, bad in zip(wanted, row, strict=True)]
            for row in wrong
        ]
        alarms += paired_bootstrap(*said, wanted, samples=200, seed=seed)["p_value"] < 0.05
    assert 2 <= alarms <= 10


def test_bootstrap_is_determined_by_its_seed() -> None:
    first, again, other = (
        paired_bootstrap(GOOD, POOR, SENTENCES, samples=50, seed=seed) for seed in (0, 0, 1)
    )
    assert first == again
    assert first["confidence_interval"] != other["confidence_interval"]


def test_bootstrap_takes_silence() -> None:
    assert paired_bootstrap(SENTENCES, [""] * 10, SENTENCES, samples=5)["baseline"] == 0


def test_bootstrap_refuses_what_it_cannot_draw() -> None:
    with pytest.raises(ValueError, match="samples must be a whole number of at least 1; got 0"):
        paired_bootstrap(GOOD, POOR, SENTENCES, samples=0)
    with pytest.raises(ValueError, match="samples must be a whole number of at least 1; got 0"):
        scores_with_intervals(GOOD, SENTENCES, "en", samples=0)
    with pytest.raises(ValueError, match="put a single one into brackets"):
        exact_match("abc", "abc")
    with pytest.raises(ValueError, match="got 9 translations and 10 references"):
        paired_bootstrap(GOOD, POOR[:9], SENTENCES)
    with pytest.raises(ValueError, match="got 0 translations"):
        paired_bootstrap([], [], [])


CHINESE = ["猫在睡觉。", "狗在吃鱼。", "国王在唱歌。"] * 3
NEARLY = [sentence.replace("在", "正在", 1) for sentence in CHINESE]


@pytest.mark.parametrize("language", ["zh", "ja", "ko", "th", "yue"])
def test_languages_without_blanks_are_not_one_word_a_sentence(language: str) -> None:
    """By 13a a near match has no word in common."""
    assert bleu(NEARLY, CHINESE) < 30 < bleu(NEARLY, CHINESE, language) < 100
    signature = scores(NEARLY, CHINESE, language)["signature"]
    tokens = {"zh": ("zh",), "ja": ("ja-mecab", "char"), "ko": ("ko-mecab", "char")}
    assert any(f"tok:{each}" in signature for each in tokens.get(language, ("char",)))
    found = paired_bootstrap(CHINESE, NEARLY, CHINESE, samples=20, language=language)
    assert found["baseline"] == pytest.approx(bleu(NEARLY, CHINESE, language))


@pytest.mark.parametrize("language", ["en", "haw", "ar"])
def test_other_languages_are_cut_by_13a(language: str) -> None:
    assert "tok:13a" in scores(GOOD, SENTENCES, language)["signature"]
    assert bleu(GOOD, SENTENCES, language) == bleu(GOOD, SENTENCES)


def test_scores_with_intervals_are_sacrebleus() -> None:
    found = {each.name: each for each in scores_with_intervals(POOR, SENTENCES, "en", samples=100)}
    assert found.keys() == {"BLEU", "chrF2", "TER"}
    assert found["BLEU"].score == pytest.approx(bleu(POOR, SENTENCES))
    metric = sacrebleu.metrics.BLEU()
    drawn = metric.corpus_score(POOR, [SENTENCES], n_bootstrap=100)
    assert found["BLEU"].margin == pytest.approx(drawn._ci)
    assert "bs:100" in found["BLEU"].signature
    assert found["TER"].score == sacrebleu.corpus_ter(POOR, [SENTENCES]).score


def test_scores_come_without_an_interval_where_sacrebleu_has_none() -> None:
    wrong = ["x"] * 9 + SENTENCES[9:]
    found = scores_with_intervals(wrong, SENTENCES, "en", samples=100)
    assert found[1].margin is None
    assert found[1].score == sacrebleu.corpus_chrf(wrong, [SENTENCES]).score


@pytest.mark.parametrize("wrong", [0.43, 0.47, 0.6])
def test_bootstrap_agrees_with_that_of_sacrebleu(wrong: float) -> None:
    """It draws other test sets, and where one system is better counts one side of two."""
    chance = np.random.default_rng(1)
    wanted = [f"{sentence} and {chance.integers(9)} more" for sentence in SENTENCES * 20]
    said = [
        [s.replace("and", "or") if chance.random() < share else s for s in wanted]
        for share in (0.35, wrong)
    ]
    ours = paired_bootstrap(*said, wanted)
    systems = [("baseline", said[1]), ("system", said[0])]
    metric = {"bleu": BLEU()}
    _, theirs = PairedTest(systems, metric, [wanted], test_type="bs", n_samples=1000)()
    baseline, system = theirs["BLEU"]
    assert ours["system"] == pytest.approx(system.score, abs=1e-6)
    assert ours["baseline"] == pytest.approx(baseline.score, abs=1e-6)
    assert ours["p_value"] == pytest.approx(2 * system.p_value, abs=0.04)


def test_side_of_one_run_is_compared_as_its_translations_are() -> None:
    counts = [sentence_counts(texts, SENTENCES) for texts in (GOOD, POOR)]
    assert compare_counts(counts[:1], counts[1:]) == paired_bootstrap(GOOD, POOR, SENTENCES)


def test_sides_of_several_runs_are_compared_by_their_means() -> None:
    good, poor, right = (sentence_counts(texts, SENTENCES) for texts in (GOOD, POOR, SENTENCES))
    found = compare_counts([good, right], [poor, right, right], samples=50)
    assert found["system"] == pytest.approx((bleu(GOOD, SENTENCES) + 100) / 2)
    assert found["baseline"] == pytest.approx((bleu(POOR, SENTENCES) + 200) / 3)
    low, high = found["confidence_interval"]
    assert low <= found["difference"] <= high


def test_side_without_a_run_is_refused() -> None:
    counts = sentence_counts(GOOD, SENTENCES)
    with pytest.raises(ValueError, match="a side has no run"):
        compare_counts([counts], [])
