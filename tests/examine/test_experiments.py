"""Each experiment is seen to give each of its outcomes, on a subject for which it must."""

import random
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from tools.patients import SMALL, course
from tools.signatures import WAYS
from transformer_course.examine.bench import Bench, NotExamined
from transformer_course.examine.experiment import EXPERIMENTS
from transformer_course.examine.experiments.learning import (
    _may_have_ended_early,
    beside_ours,
    judged,
)
from transformer_course.examine.faults.batches import to_the_right
from transformer_course.examine.lesson import lesson
from transformer_course.examine.patient import Patient
from transformer_course.examine.subject import Pair

Break = Callable[[Patient], None]


# Ways to break, and to vary, a subject that are no known faults


def probabilities_by_log(patient: Patient) -> None:
    patient.after_scores.append(lambda scores: scores.log_softmax(dim=-1))


def nan_scores(patient: Patient) -> None:
    patient.after_scores.append(lambda scores: scores * float("nan"))


def no_dropout(patient: Patient) -> None:
    for module in patient.network.modules():
        if isinstance(module, nn.Dropout):
            module.p = 0.0


def sees_the_last_token(patient: Patient) -> None:
    def call(source, target, masks, right=patient.call):
        last = target[:, -1:, None] * (torch.arange(target.shape[1]) == 1)[None, :, None]
        return right(source, target, masks) + last

    patient.call = call


def forgets_the_second_token(patient: Patient) -> None:
    right = patient.masks["decoder"]

    def mask(source, target):
        seen = right(source, target).clone()
        if seen.shape[-1] > 2:
            seen[..., 2:, 1] = False
        return seen

    patient.masks["decoder"] = mask


def only_itself(patient: Patient) -> None:
    patient.masks["decoder"] = lambda source, target: torch.eye(target.shape[1]).bool()[None, None]


def scores_of_nothing(patient: Patient) -> None:
    patient.after_scores.append(lambda scores: torch.zeros_like(scores).requires_grad_())


def every_second_word_of_source(patient: Patient) -> None:
    right = patient.real
    patient.real = lambda ids, pad: right(ids, pad) & (torch.arange(ids.shape[1]) % 2 == 0)


def nan_at_padding(patient: Patient) -> None:
    def call(source, target, masks, right=patient.call):
        padded = (source == patient.pad).any() | (target[:, 1:] == patient.pad).any()
        return right(source, target, masks) * (float("nan") if padded else 1.0)

    patient.call = call


def squeezed(patient: Patient) -> None:
    def call(source, target, masks, right=patient.call):
        return right(source, target, masks).squeeze(1) if target.shape[1] > 1 else 1 / 0

    patient.call = call


def empty_source_is_nan(patient: Patient) -> None:
    def call(source, target, masks, right=patient.call):
        empty = (source == patient.pad).all(dim=1)
        return right(source, target, masks).masked_fill(empty[:, None, None], float("nan"))

    patient.call = call


def empty_source_is_nan_for_all(patient: Patient) -> None:
    def call(source, target, masks, right=patient.call):
        empty = bool((source == patient.pad).all(dim=1).any())
        return right(source, target, masks) * (float("nan") if empty else 1.0)

    patient.call = call


def empty_source_raises(patient: Patient) -> None:
    def call(source, target, masks, right=patient.call):
        if (source == patient.pad).all(dim=1).any():
            raise ValueError("an empty sentence")
        return right(source, target, masks)

    patient.call = call


def times(factor: float) -> Break:
    def scale(patient: Patient) -> None:
        patient.after_scores.append(lambda scores: scores * factor)

    scale.__name__ = f"times {factor}"
    return scale


def knows_the_words(patient: Patient) -> None:
    """Say the wanted words of the bench's pairs, which are those of the usual sentences."""
    pairs = Bench(patient.subject(), 10).pairs

    def call(source, target, masks, right=patient.call):
        logits = right(source, target, masks)
        for row, ids in enumerate(target.tolist()):
            for _, words in pairs:
                wanted = [*words, patient.eos]
                if ids[1 : len(words) + 1] == list(words):
                    logits[row, range(len(wanted)), wanted] += 20
        return logits

    patient.call = call


def unused_weights(patient: Patient) -> None:
    patient.network.unused = nn.Linear(2, 2)


def begins_with_unknown(patient: Patient) -> None:
    right = patient.collate

    def collate(pairs):
        source, target_in, target_out = right(pairs)
        target_in[:, 0] = patient.UNKNOWN
        return source, target_in, target_out

    patient.collate = collate


def ends_with_unknown(patient: Patient) -> None:
    right = patient.collate

    def collate(pairs):
        source, target_in, target_out = right(pairs)
        return source, target_in, target_out.where(target_out != patient.eos, patient.UNKNOWN)

    patient.collate = collate


def other_targets(patient: Patient) -> None:
    right = patient.collate
    patient.collate = lambda pairs: right([(source, [5, 5, 5]) for source, _ in pairs])


def one_row_each(patient: Patient) -> None:
    """Cut all rows to the shortest, so that nothing is padded."""
    right = patient.collate

    def collate(pairs):
        length = min(len(side) for pair in pairs for side in pair)
        return right([(source[:length], target[:length]) for source, target in pairs])

    patient.collate = collate


def first_word_not_counted(patient: Patient) -> None:
    right = patient.loss
    patient.loss = lambda scores, wanted: right(scores[:, 1:], wanted[:, 1:])


def hardly_learns(patient: Patient) -> None:
    patient.rate = 3e-5


def scores_detached(patient: Patient) -> None:
    patient.after_scores.append(lambda scores: scores.detach())


def step_raises(patient: Patient) -> None:
    def make():
        def step(*batch):
            raise RuntimeError("no step")

        return step

    patient.make_step = make


def follows_the_gradient(patient: Patient) -> None:
    def make():
        optimizer = torch.optim.SGD(patient.network.parameters(), 0.1)

        def step(source, target_in, target_out):
            optimizer.zero_grad()
            patient.loss(patient.scores(source, target_in), target_out).backward()
            optimizer.step()

        return step

    patient.make_step = make


def moves_at_random(patient: Patient) -> None:
    def make():
        def step(*batch):
            with torch.no_grad():
                for weight in patient.network.parameters():
                    weight.add_(torch.randn_like(weight) * 1e-3)

        return step

    patient.make_step = make


def translates(change: Callable) -> Break:
    def break_patient(patient: Patient) -> None:
        right = patient.translate
        patient.translate = lambda sentences: change(right(sentences))

    return break_patient


def raises(*inputs):
    raise RuntimeError("no translation")


def begins_with_unknown_in_translating(patient: Patient) -> None:
    from transformer_course.examine.reference import greedy

    patient.greedy = lambda scores, source: greedy(scores, source, patient.UNKNOWN, patient.eos, 12)


def source_with_an_end(patient: Patient) -> None:
    right = patient.source_of
    patient.source_of = lambda sentences: right([[*s, patient.eos] for s in sentences])


def knows_no_other_sentence(patient: Patient) -> None:
    """Translate every sentence as the first."""
    right = patient.translate
    patient.translate = lambda sentences: [right(sentences)[0]] * len(sentences)


def beams(change: Callable) -> Break:
    def break_patient(patient: Patient) -> None:
        right = patient.beam
        patient.beam = lambda sentences: change(right(sentences))

    return break_patient


def beam_cuts_one_sentence(patient: Patient) -> None:
    """Leave out the last word of the first sentence of a batch, alone as in the batch."""
    right, first = patient.beam, []

    def beam(sentences):
        if len(sentences) > 1 and not first:
            first.append(sentences[0])
        said = zip(sentences, right(sentences), strict=True)
        return [row[:-1] if sentence in first else row for sentence, row in said]

    patient.beam = beam


def cut_at_the_shortest(rows):
    return [row[: min(map(len, rows))] for row in rows]


def cut_last_word(rows):
    return [row[:-1] for row in rows]


def one_word(rows):
    return [[row[0]] * 5 for row in rows]


def first_row_for_all(rows):
    return [rows[0]] * len(rows)


def goes_on(rows):
    return [[*row, *row[:1] * 9] for row in rows]


def shorter_and_other(rows):
    return [[row[-1], 9][: len(row) - 1] for row in rows]


def first_word_only(rows):
    return [[row[0], *([9, 8, 9, 8, 9][: len(row)])] for row in rows]


def backwards(rows):
    return [[*row[::-1], 9] for row in rows]


def other_order(rows):
    return [*rows[1:], rows[0]]


DIFFERENCES = {
    "one word for ever": one_word,
    "all sentences alike": first_row_for_all,
    "it does not end": goes_on,
    "it is cut short": cut_last_word,
    "it is cut where the first one ends": cut_at_the_shortest,
    "it is too short": shorter_and_other,
    "only the first word is right": first_word_only,
    "the sentences are in another order": other_order,
}


def sources_padded_in_front(patient: Patient) -> None:
    """Pad sources in front, and have a model for which that is the same as behind."""
    collate, scores = patient.collate, patient.scores

    def in_front(pairs: list[Pair]) -> tuple[Tensor, Tensor, Tensor]:
        source, target_in, target_out = collate(pairs)
        return to_the_right(source, patient.pad), target_in, target_out

    def behind(source: Tensor, target: Tensor) -> Tensor:
        return scores(to_the_right(source.flip(1), patient.pad).flip(1), target)

    patient.collate, patient.scores = in_front, behind


MUST: dict[str, dict[str, str | Break | None]] = {
    "scores": {
        "logits": None,
        "log-probabilities": probabilities_by_log,
        "probabilities": "returns_probabilities",
        "logits of which none is negative": "activation_on_scores",
        "they sum along the sentence": "softmax_over_positions",
        "NaN": nan_scores,
    },
    "two calls": {
        "the same": None,
        "different": "no_dropout_switch",
        "not after other sentences": "memory_kept_by_shape",
    },
    "dropout": {"on in training": None, "there is none": no_dropout},
    "future": {
        "none": None,
        "all": "no_causal_mask",
        "the next few": "sees_the_next",
        "at the first position only": "begin_hidden",
        "some": sees_the_last_token,
    },
    "past": {"all": None, "none": "mask_upside_down", "some": forgets_the_second_token},
    "own token": {"yes": None, "no": "rows_without_anything"},
    "begin token": {"yes": None, "no": "begin_hidden"},
    "source": {
        "all": None,
        "none": "source_not_read",
        "only the first": "only_first_token_of_source",
        "all but the last": "end_of_source_hidden",
        "some": every_second_word_of_source,
    },
    "source for the first word": {"yes": None, "no": "causal_everywhere"},
    "padded source": {"yes": None, "no": "only_padding_seen"},
    "source padding": {"no": None, "yes": "padding_of_source_seen", "NaN": nan_at_padding},
    "target padding": {"no": None, "yes": "no_causal_mask", "NaN": nan_at_padding},
    "other sentences": {"no": None, "yes": "memory_of_other_sentences"},
    "positions": {
        "in both": None,
        "not in the decoder": "no_positions_in_decoder",
        "not in the encoder": "no_positions_in_encoder",
        "in neither": "no_positions",
    },
    "one word": {"yes": None, "no": squeezed},
    "length": {"yes": None},
    "empty source": {
        "nowhere": None,
        "in that sentence": empty_source_is_nan,
        "in others": empty_source_is_nan_for_all,
        "it raises an error": empty_source_raises,
    },
    "first loss": {
        "about ln V": None,
        "above": times(3.0),
        "far above": times(60.0),
        "below": knows_the_words,
    },
    "gradients": {
        "for all": None,
        "some are cut off": "encoder_detached",
        "some are not used": unused_weights,
        "for none": scores_detached,
    },
    "registered": {"yes": None, "no": "layers_in_a_list"},
    "layers": {"yes": None, "no": "one_layer_repeated"},
    "begin": {
        "the begin token": None,
        "the first word": "no_begin",
        "something else": begins_with_unknown,
    },
    "end": {
        "the end token": None,
        "the last word": "no_end",
        "not in the longest": "one_column_too_narrow",
        "something else": ends_with_unknown,
    },
    "shift": {
        "by one": None,
        "not at all": "not_shifted",
        "by two": "shifted_twice",
        "it is another text": other_targets,
    },
    "texts": {
        "yes": None,
        "they are swapped": "swapped",
        "the source is reversed": "source_reversed",
        "no": "sources_in_another_order",
    },
    "padding": {
        "at the end": None,
        "at the front of the source, unseen": sources_padded_in_front,
        "at the front": "padded_at_the_front",
        "before the end token": "end_after_the_padding",
        "it has another id": "padded_with_another_id",
        "there is none": one_row_each,
    },
    "long sentences": {"yes": None, "no": "cut_before_the_end"},
    "padding in the loss": {"no": None, "yes": "padding_counted"},
    "words in the loss": {
        "yes": None,
        "not the end": "end_and_padding_ignored",
        "not all": first_word_not_counted,
    },
    "mean": {
        "tokens": None,
        "sentences": "mean_per_sentence",
        "positions with padding": "divided_by_padding_too",
        "nothing, it is a sum": "summed",
    },
    "sure and wrong": {"yes": None, "no": "softmax_twice"},
    "sure and right": {"yes": None, "no": "scores_reshaped"},
    "weights that move": {
        "all that have a gradient": None,
        "none": "nothing_moves",
        "some stay still": "encoder_not_trained",
    },
    "size of a step": {
        "usual": None,
        "hardly": "rate_far_too_low",
        "very far": "rate_far_too_high",
    },
    "direction of a step": {"downhill": None, "uphill": "uphill", "across": moves_at_random},
    "old gradients": {"yes": None, "no": "gradients_left"},
    "shrinking": {"yes": None, "no": "decay_outweighs_the_loss"},
    "memory of a step": {
        "yes": None,
        "no, it follows the gradient": follows_the_gradient,
        "no, and each weight moves equally far": "optimiser_made_anew",
    },
    "learning": {
        "by heart": None,
        "it is still learning": hardly_learns,
        "the token after the next": "step_shifts_again",
        "the token that is fed in": "step_feeds_what_it_wants",
        "it is stuck": "source_not_read",
        "not at all": "rate_far_too_low",
        "it diverges": "uphill",
        "a step raises an error": step_raises,
    },
    "fed the right words": {"yes": None, "no": "shifted_twice"},
    "fed its own words": {
        "yes": None,
        "one word for ever": "not_shifted",
        "it does not end": "no_end",
        "no": "softmax_over_queries",
    },
    "their translation": {
        "yes": None,
        "no": "first_position",
        "it cannot be used": translates(raises),
    },
    "how it differs": {
        "not at all": None,
        "in another way": translates(backwards),
    },
    "mode": {"eval": None, "train": "in_train_mode"},
    "alone": {"yes": None, "no": "stops_with_the_first"},
    "twice": {"yes": None, "no": "samples"},
    "weights after translating": {"yes": None, "no": "average_stays"},
    "first token": {
        "the begin token": None,
        "padding": "begins_with_padding",
        "the end token": "begins_with_the_end",
        "another": begins_with_unknown_in_translating,
    },
    "fed by their search": {
        "all that was said": None,
        "a few tokens": "only_the_last_token",
        "nothing new": "feeds_the_begin_token_only",
    },
    "source in translating": {
        "yes": None,
        "without the end": "source_without_the_end",
        "with an end": source_with_an_end,
        "backwards": "source_backwards",
        "no": "source_with_other_ids",
    },
    "beam": {
        "yes": None,
        "it finds what greedy finds": "beam_of_one",
        "it finds something less likely": "beam_of_the_least_likely",
        "it cannot be used": beams(raises),
    },
    "beam alone": {"yes": None, "no": "beam_repeats_the_batch"},
    "beam on the pairs": {
        "not at all": None,
        "in a single sentence": beam_cuts_one_sentence,
        "in another way": beams(backwards),
    },
    "ids": {"yes": None, "no": "ids_too_large"},
    "test in train": {"hardly any": None, "many": "test_in_train"},
    "lines": {"yes": None, "no": "lines_shifted"},
    "copies": {"hardly any": None, "many": "target_is_source"},
    "special ids": {"no": None, "yes": "words_with_special_ids"},
    "unknown words": {"few": None, "many of the test": "test_unknown", "many": "text_unknown"},
    "vocabularies": {"yes": None, "no": "vocabulary_made_anew"},
}
ELSEWHERE = {
    ("positions", "relative"): "test_rotary_positions_are_relative",
    ("length", "no"): "test_short_tables_are_found",
    ("fed its own words", "all sentences alike"): "test_sentences_that_are_alike_are_said_to_be",
    **{
        (name, word): "test_difference_has_its_word"
        for name in ("how it differs", "beam on the pairs")
        for word in DIFFERENCES
    },
}
"""Outcomes that another test of this file shows."""


def outcome(name: str, patient: Patient) -> str:
    return outcome_on(Bench(patient.subject(), 600), name)


def outcome_on(bench: Bench, name: str) -> str:
    torch.manual_seed(0)
    return EXPERIMENTS[name].run(bench).word


def test_how_far_a_search_without_end_goes_may_depend_on_the_batch() -> None:
    made = course(**SMALL)

    def endless(scores: Callable, source: Tensor) -> list[list[int]]:
        said = torch.full((len(source), 1), made.bos)
        for _ in range(source.shape[1] + 8):
            last = scores(source, said)[:, -1]
            last[:, made.eos] = -1e9
            said = torch.cat([said, last.argmax(-1)[:, None]], dim=1)
        return said[:, 1:].tolist()

    made.greedy = endless
    bench = Bench(made.subject(), 600)
    assert outcome_on(bench, "their translation") == "no"
    assert outcome_on(bench, "alone") == "yes"


@cache
def bench_with(way: str | Break | None, learns: bool, with_a_beam: bool) -> Bench:
    """Return one bench for all experiments, as an examination has: a subject learns once.

    One that has to learn is small, and without a beam it need not learn twenty targets of a source.
    """
    subject = patient_with(way, **(SMALL if learns else {})).subject()
    return Bench(subject if with_a_beam else replace(subject, beam=None), 600)


@pytest.fixture(autouse=True)
def one_thread() -> None:
    torch.set_num_threads(1)


def patient_with(way: str | Break | None, **sizes: Any) -> Patient:
    torch.manual_seed(0)
    patient = course(**sizes)
    if way is not None:
        (WAYS[way] if isinstance(way, str) else way)(patient)
    return patient


@pytest.mark.parametrize(
    ("name", "word", "way"),
    [(name, word, way) for name, ways in MUST.items() for word, way in ways.items()],
)
def test_experiment_gives_the_outcome_that_it_must(
    name: str, word: str, way: str | Break | None
) -> None:
    needs = EXPERIMENTS[name].needs
    learns = EXPERIMENTS[name].follows or "translate" in needs
    assert outcome_on(bench_with(way, learns, "beam" in needs), name) == word


def test_every_outcome_is_shown() -> None:
    shown = {(name, word) for name, ways in MUST.items() for word in ways}
    every = {(each.name, word) for each in EXPERIMENTS.values() for word in each.outcomes}
    assert every == shown | ELSEWHERE.keys()
    assert all(test in globals() for test in ELSEWHERE.values())


def test_rotary_positions_are_relative() -> None:
    from tools.patients import modern

    torch.manual_seed(0)
    assert outcome("positions", modern()) == "relative"


def pairs_of_equal_length(count: int = 400) -> list[Pair]:
    chance = random.Random(0)
    sources = [[chance.randint(4, 20) for _ in range(5)] for _ in range(count)]
    return [(source, [word + 3 for word in source]) for source in sources]


def test_lines_of_equal_length_belong_together_by_their_words() -> None:
    patient = patient_with(None)
    patient.train = pairs_of_equal_length()
    assert outcome("lines", patient) == "yes"
    patient.train = patient.train[:1] * 400
    assert outcome("lines", patient) == "yes"


def test_lines_that_a_lost_line_puts_apart_are_found_where_most_are_right() -> None:
    patient = patient_with(None)
    sources, targets = map(list, zip(*pairs_of_equal_length(), strict=True))
    del targets[150], targets[290]
    patient.train = [*zip(sources, targets, strict=False)]
    assert outcome("lines", patient) == "no"


def test_lines_that_are_apart_in_the_middle_are_found_and_numbered() -> None:
    patient = patient_with(None)
    sources, targets = map(list, zip(*pairs_of_equal_length(3000), strict=True))
    targets.insert(1700, targets.pop(600))
    patient.train = [*zip(sources, targets, strict=True)]
    found = EXPERIMENTS["lines"].run(Bench(patient.subject(), 600))
    assert found.word == "no"
    assert found.numbers["places that do not fit begin at pair"] == [601, 901, 1201, 1501]


def test_lines_that_are_apart_from_the_first_on_are_found_though_chance_may_fit_some() -> None:
    for seed in range(20):
        patient, pairs = patient_with(None), pairs_of_equal_length(1500)
        random.Random(seed).shuffle(pairs)
        sources, targets = zip(*pairs, strict=True)
        patient.train = [*zip(sources, targets[500:] + targets[:500], strict=True)]
        assert outcome("lines", patient) == "no", seed


def test_sums_and_their_digits_belong_together_though_words_hardly_tell() -> None:
    for seed in range(20):
        chance, patient = random.Random(seed), patient_with(None)
        terms = [(chance.randint(10, 99), chance.randint(10, 99)) for _ in range(900)]
        patient.train = [([*map(int, f"{a}{b}")], [*map(int, f"{a + b:03}")]) for a, b in terms]
        assert outcome("lines", patient) == "yes", seed


def test_few_steps_say_nothing_of_a_loss_that_has_hardly_fallen(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("transformer_course.examine.lesson.MOST_STEPS", 8)
    bench = Bench(patient_with("rate_far_too_low", **SMALL).subject(), 600)
    assert outcome_on(bench, "learning") == "it is still learning"
    assert [step for step, _ in bench.once(lesson).curve] == [1, 5, 8]


def test_short_tables_are_found() -> None:
    torch.manual_seed(0)
    assert outcome("length", course(max_len=20)) == "no"


def test_sentences_that_are_alike_are_said_to_be() -> None:
    pairs = [([4], [5, 6, 7]), ([5], [8, 9, 10])]
    assert judged([[5, 6, 7], [5, 6, 7]], pairs).word == "all sentences alike"


@pytest.mark.parametrize("word", DIFFERENCES)
def test_difference_has_its_word(word: str) -> None:
    ours = [[5, 6, 7, 8], [6, 9, 5], [7, 5, 5, 9, 6], [8, 6, 9]]
    assert beside_ours(DIFFERENCES[word](ours), ours).word == word


@pytest.mark.parametrize(
    ("theirs", "may"),
    [
        ([[6, 7], [6, 9, 5]], True),
        ([[5, 6, 7, 8], [6, 5, 9]], True),
        ([[5, 6, 7, 8, 7], [6, 9, 5]], False),
        ([[5, 6], [6, 9]], False),
    ],
)
def test_a_beam_that_ends_early_says_nothing_longer(theirs: list[list[int]], may: bool) -> None:
    found = beside_ours(theirs, [[5, 6, 7, 8], [6, 9, 5]])
    assert _may_have_ended_early(found.numbers) == may


def test_step_that_keeps_its_gradients_elsewhere_leaves_none() -> None:
    patient = patient_with(None)

    def step(source: Tensor, target_in: Tensor, target_out: Tensor) -> Tensor:
        weights = [*patient.network.parameters()]
        loss = patient.loss(patient.scores(source, target_in), target_out)
        with torch.no_grad():
            gradients = torch.autograd.grad(loss, weights, allow_unused=True)
            for weight, gradient in zip(weights, gradients, strict=True):
                weight -= 0.1 * gradient
        return loss.detach()

    patient.make_step = lambda: step
    assert outcome("old gradients", patient) == "yes"


def test_decay_apart_from_the_gradient_does_not_outweigh_the_loss() -> None:
    # Most rows of the largest table are without a gradient: decay alone moves them.
    patient = patient_with(None, vocabularies=(400, 20), tying="none")
    made = torch.optim.AdamW(patient.network.parameters(), 3e-3, weight_decay=0.1)

    def step(source: Tensor, target_in: Tensor, target_out: Tensor) -> Tensor:
        made.zero_grad()
        loss = patient.loss(patient.scores(source, target_in), target_out)
        loss.backward()
        made.step()
        return loss.detach()

    patient.make_step = lambda: step
    assert outcome("shrinking", patient) == "yes"


def test_positions_are_not_asked_for_where_the_source_is_not_read() -> None:
    with pytest.raises(NotExamined, match="the source is not read"):
        outcome("positions", patient_with("source_not_read"))


def test_labels_of_hugging_face_are_padding() -> None:
    patient = patient_with(None, **SMALL)
    collate, loss, make_step = patient.collate, patient.loss, patient.make_step

    def labelled(pairs: list[Pair]) -> tuple[Tensor, Tensor, Tensor]:
        source, target_in, target_out = collate(pairs)
        return source, target_in, target_out.masked_fill(target_out == patient.pad, -100)

    def by_labels(scores: Tensor, target_out: Tensor) -> Tensor:
        assert patient.pad not in target_out
        return loss(scores, target_out.where(target_out != -100, patient.pad))

    def steps_by_labels() -> Callable[..., Tensor]:
        right = make_step()

        def step(source: Tensor, target_in: Tensor, target_out: Tensor) -> Tensor:
            assert patient.pad not in target_out
            return right(source, target_in, target_out)

        return step

    patient.collate, patient.loss, patient.make_step = labelled, by_labels, steps_by_labels
    for name in ("padding", "end", "padding in the loss", "mean", "learning"):
        assert EXPERIMENTS[name].outcomes[outcome(name, patient)], name


def test_same_ids_of_two_vocabularies_that_are_numbered_alike_are_no_copies() -> None:
    patient = patient_with(None)
    words = [[place % 7 + 3, place % 5 + 3, place % 11 + 3] for place in range(60)]
    ends = [(3, 3) if place % 4 == 0 else (3, 4) for place in range(60)]
    patient.train = [([*w, a], [*w, b]) for w, (a, b) in zip(words, ends, strict=True)]
    with pytest.raises(NotExamined, match="the id of their translation"):
        outcome("copies", patient)
