"""What an examination does with models that are odd, and that it leaves them as they were."""

import json
import math
import random
import re
import time
from dataclasses import replace
from types import SimpleNamespace

import pytest
import torch
from torch import Tensor, nn

from tools.patients import SMALL, course
from tools.signatures import WAYS, patient
from tools.sources import ROOT
from transformer_course.examine import (
    ExaminationError,
    Subject,
    adapters,
    assert_healthy,
    examine,
    reference,
)
from transformer_course.examine.bench import Bench, BrokenOff, in_a_line
from transformer_course.examine.experiment import EXPERIMENTS
from transformer_course.examine.lesson import lesson, watching
from transformer_course.examine.report import Curve

IDS = {"pad": 0, "bos": 1, "eos": 2}


class Echo(nn.Module):
    """Scores from the token just read and the mean of the source."""

    def __init__(self, source_vocab: int = 12, target_vocab: int = 12) -> None:
        super().__init__()
        self.source = nn.Embedding(source_vocab, 8)
        self.target = nn.Embedding(target_vocab, 8)
        self.output = nn.Linear(8, target_vocab)

    def forward(self, source, target):
        return self.output(self.target(target) + self.source(source).mean(1, keepdim=True))


class Call:
    """What can be called and is neither a module nor a function."""

    def __call__(self, ids: Tensor) -> Tensor:
        return ids


ECHO = Echo()


def subject(network: nn.Module, **given) -> Subject:
    sizes = {"source_vocab": 12, "target_vocab": 12}
    return Subject(network, **sizes | IDS | given)


# What is given


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"network": 3}, "network must be a torch.nn.Module; got int"),
        ({"source_vocab": 2}, "source_vocab must be at least 3; got 2"),
        ({"target_vocab": 0}, "target_vocab must be a whole number of at least 1"),
        ({"pad": 12}, "pad must be an id from 0 to 11; got 12"),
        ({"source_pad": -1}, "source_pad must be an id from 0 to 11; got -1"),
        ({"pad": None}, "pad must be an id from 0 to 11; got None"),
        ({"eos": [2]}, r"eos must be an id from 0 to 11; got \[2\]"),
        ({"loss": 3}, "loss must be a function; got int"),
        ({"pad": 2}, "pad and eos are both 2: then the end of a target cannot be told from its"),
        ({"test": [("a b", "c d")]}, "test must be a list of pairs of lists of ids; its first is"),
        ({"train": [([3.5], [4])]}, "its first is"),
        ({"train": ([[3], [4], [5]], [[6], [7], [8]])}, "its first is"),
        ({"train": [5, 6, 7]}, "its first is 5"),
        ({"train": {"pair": ([3], [4])}}, "pairs of lists of ids; got dict"),
        ({"train": (pair for pair in [([3], [4])])}, "pairs of lists of ids; got generator"),
    ],
)
def test_subject_that_makes_no_sense_is_refused(given: dict, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        subject(**{"network": Echo()} | given)


def test_what_is_no_subject_is_refused() -> None:
    with pytest.raises(ExaminationError, match="a Subject is wanted"):
        examine(lambda: Echo())
    with pytest.raises(ExaminationError, match="a Subject is wanted"):
        examine(Echo())


@pytest.mark.parametrize(("pad", "ids"), [(0, {1, 2}), (1, {0, 2})])
def test_of_a_small_vocabulary_all_but_padding_are_words(pad: int, ids: set[int]) -> None:
    sizes = {"source_vocab": 3, "target_vocab": 3}
    bench = Bench(Subject(Echo(3, 3), **sizes, pad=pad, bos=pad, eos=2), 1)
    assert {*bench.source_words} == {*bench.target_words} == ids


def test_a_collate_of_another_form_is_refused() -> None:
    made = subject(Echo(), collate=lambda pairs: (torch.zeros(1, 1), torch.zeros(1, 1)))
    with pytest.raises(ExaminationError, match="`collate` has to return three tensors"):
        examine(made, 10)


def test_what_is_not_given_is_not_examined_and_said() -> None:
    found = examine(subject(Echo()))
    assert found.observed.left_out["begin"] == "`collate` is not given"
    assert "begin, end, shift" in str(found)


# Models that are odd


class WantsMask(Echo):
    def forward(self, source, target, target_mask):
        return super().forward(source, target)


def test_network_that_needs_a_mask_is_shown_the_lambda() -> None:
    said = r"scores=lambda source, target: network\(source, target, target_mask=...\)"
    with pytest.raises(ExaminationError, match=said):
        examine(subject(WantsMask()))


def test_torchs_padding_mask_the_wrong_way_round_is_said() -> None:
    class Inverted(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.transformer = nn.Transformer(16, 2, 1, 1, 32, batch_first=True)
            self.table, self.output = nn.Embedding(12, 16), nn.Linear(16, 12)

        def forward(self, source: Tensor, target: Tensor) -> Tensor:
            words = source != IDS["pad"]
            x, y = self.table(source), self.table(target)
            return self.output(self.transformer(x, y, src_key_padding_mask=words))

    with pytest.raises(ExaminationError, match="`src_key_padding_mask` is True where padding is"):
        examine(subject(Inverted()))


def test_scores_of_another_shape_are_refused() -> None:
    with pytest.raises(ExaminationError, match=r"must have the shape .*\(3, 7, 12\); got \(7, 3"):
        examine(subject(Echo(), scores=lambda s, t: ECHO(s, t).transpose(0, 1)))


def test_nan_is_an_outcome() -> None:
    found = examine(subject(Echo(), scores=lambda s, t: ECHO(s, t) * float("nan")), 20)
    assert found.experiments["scores"].word == "NaN"
    assert not found.healthy
    assert "NaN" in found.to_json()


@pytest.mark.parametrize("size", [3, 250_000])
def test_small_and_large_vocabularies(size: int) -> None:
    network = Echo(size, size)
    found = examine(subject(network, source_vocab=size, target_vocab=size), 10)
    assert {"future", "source", "gradients"} <= found.experiments.keys()
    if size == 3:
        assert "too few words" in found.observed.left_out["learning"]


def test_model_that_takes_its_time_is_examined_in_part() -> None:
    class Slow(Echo):
        def forward(self, source, target):
            time.sleep(0.2)
            return super().forward(source, target)

    began = time.monotonic()
    found = examine(subject(Slow()), 2)
    assert time.monotonic() - began < 12
    assert "there was no time left" in found.observed.left_out.values()


def test_right_model_without_time_is_not_called_healthy() -> None:
    found = examine(course(**SMALL).subject(), 0.01)
    assert (found.verdict, found.healthy, found.faults) == ("Incomplete", False, ())
    assert str(found).startswith("Incomplete: ")
    assert f"for the reasons below: {len(found.observed.broken_off)}. " in str(found)
    assert {found.observed.left_out[name] for name in found.observed.broken_off} == {
        "there was no time left"
    }
    with pytest.raises(AssertionError, match="there was no time left"):
        assert_healthy(course(**SMALL).subject, 0.01)


def test_right_model_with_a_search_that_raises_is_not_called_healthy() -> None:
    made = course(**SMALL).subject()

    def raising(sources):
        raise RuntimeError("no beam here")

    found = examine(replace(made, beam=raising), 120)
    assert not found.healthy
    assert "no beam here" in str(found)


def test_frozen_weights_are_said_to_be_there() -> None:
    network = Echo()
    network.target.weight.requires_grad = False
    said = examine(subject(network), 1).observed.left_out["weights with `requires_grad=False`"]
    assert said.startswith("there are 1, such as `target.weight`")


def test_function_that_never_ends_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("transformer_course.examine.examination.GRACE", 0.2)

    def endless(*inputs):
        while True:
            pass

    found = examine(subject(Echo(), loss=endless), 2)
    assert found.observed.left_out["padding in the loss"] == "it did not end in time"


def test_function_that_ends_the_process_is_left_out() -> None:
    import os

    found = examine(subject(Echo(), loss=lambda *inputs: os._exit(3)), 10)
    assert "SystemExit" in found.observed.left_out["padding in the loss"]


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU here")
def test_model_on_a_gpu() -> None:
    assert examine(subject(Echo().cuda()), 20).experiments["source"].word == "all"


class LengthFirst(Echo):
    """Looks words up as columns, as the tutorial of ``nn.Transformer`` does."""

    def forward(self, source, target):
        read = self.target(target.T) + self.source(source.T).mean(0, keepdim=True)
        return self.output(read).transpose(0, 1)


def test_one_sentence_at_a_time_with_the_length_first_is_read_as_such(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("transformer_course.examine.lesson.MOST_STEPS", 8)
    network = LengthFirst()

    def say(source: list[int]) -> list[int]:
        said = [IDS["bos"]]
        for _ in range(9):
            scores = network(torch.tensor([[*source, IDS["eos"]]]), torch.tensor([said]))
            said.append(int(scores[0, -1].argmax()))
        return said[1:]

    made = subject(network, translate=lambda sources: [*map(say, sources)])
    assert EXPERIMENTS["source in translating"].run(Bench(made, 600)).word == "yes"


class Sparse(Echo):
    """Sends each token of the target through one of eight layers; most have no work."""

    def __init__(self) -> None:
        super().__init__()
        self.experts = nn.ModuleList(nn.Linear(8, 8) for _ in range(8))

    def forward(self, source, target):
        read = self.target(target)
        chosen = (read + 2 * torch.eye(8)[0]).argmax(-1)
        said = torch.zeros_like(read)
        for number in chosen.unique().tolist():
            here = (chosen == number)[..., None]
            said = said + here * self.experts[number](read)
        return self.output(said + self.source(source).mean(1, keepdim=True))


@pytest.mark.parametrize("seed", range(20))
def test_experts_without_work_are_none_that_are_not_used(seed: int) -> None:
    torch.manual_seed(seed)
    network = Sparse()
    assert EXPERIMENTS["gradients"].run(Bench(subject(network), 600)).word == "for all"
    network.left_over = nn.Linear(8, 8)
    found = EXPERIMENTS["gradients"].run(Bench(subject(network), 600))
    assert (found.word, found.numbers["such as"]) == (
        "some are not used",
        "left_over.weight, left_over.bias",
    )


def test_gradients_of_very_small_weights_can_be_asked_first() -> None:
    network = Echo()
    with torch.no_grad():
        for weight in network.parameters():
            weight.mul_(0.01)
    assert EXPERIMENTS["gradients"].run(Bench(subject(network), 600)).word == "for all"


def test_forbidden_words_are_no_nan() -> None:
    network = Echo()

    def scores(source, target):
        return network(source, target).index_fill(-1, torch.tensor([IDS["pad"]]), -torch.inf)

    bench = Bench(subject(network, scores=scores), 600)
    assert EXPERIMENTS["one word"].run(bench).word == "yes"
    assert EXPERIMENTS["empty source"].run(bench).word == "nowhere"


@pytest.mark.filterwarnings("ignore:`torch.jit")
def test_scripted_parts_are_watched_from_outside() -> None:
    network = Echo()
    network.output = torch.jit.script(network.output)
    with watching(Bench(subject(network), 600)) as watched:
        network(torch.tensor([[3]]), torch.tensor([[4]]))
    assert watched.trained


def test_of_a_long_error_the_beginning_is_shown() -> None:
    assert len(in_a_line(ValueError("backend " * 1000))) <= 500


def test_factors_of_almost_zero_hide_nothing() -> None:
    """As those of a branch's dimensions in Touvron et al. (2021)."""
    made = course(**SMALL)
    with torch.no_grad():
        for name, weight in made.network.named_parameters():
            if "output_projection.weight" in name:
                weight.fill_(1e-6)
    bench = Bench(made.subject(), 600)
    bench.wake()
    assert EXPERIMENTS["source"].run(bench).word == EXPERIMENTS["past"].run(bench).word == "all"


def test_branches_that_begin_with_zeros_hide_nothing() -> None:
    made = course(**SMALL)
    ends = [w for name, w in made.network.named_parameters() if "output_projection.weight" in name]
    unused = nn.Parameter(torch.zeros(2, 2))
    made.network.register_parameter("unused", unused)
    with torch.no_grad():
        for weight in ends:
            weight.zero_()
    bench = Bench(made.subject(), 600)
    assert EXPERIMENTS["source"].run(bench).word == EXPERIMENTS["past"].run(bench).word == "none"
    bench = Bench(made.subject(), 600)
    bench.wake()
    assert EXPERIMENTS["source"].run(bench).word == EXPERIMENTS["past"].run(bench).word == "all"
    assert not unused.any()


def test_a_lesson_without_time_leaves_the_examination_incomplete() -> None:
    made = course(**SMALL).subject()
    step = made.training_step

    def slow_step(*batch):
        time.sleep(0.2)
        return step(*batch)

    made.training_step = slow_step
    bench = Bench(made, 2)
    with pytest.raises(BrokenOff, match="it had no time to learn the dozen pairs"):
        EXPERIMENTS["fed the right words"].run(bench)


def test_a_vocabulary_too_small_to_teach_it_anything_leaves_it_incomplete() -> None:
    found = examine(course((6, 6), **SMALL).subject(), 600)
    assert found.verdict == "Incomplete"
    assert "too few words: give one of at least ten ids" in found.observed.left_out["learning"]


# What no experiment is needed for


def test_weights_that_are_no_numbers_are_said() -> None:
    made = course(**SMALL).subject()
    with torch.no_grad():
        made.network.output.weight[0, 0] = torch.nan
    with pytest.raises(
        ExaminationError, match=r"`target_embeddings.table.weight` holds NaN or infinity"
    ):
        examine(made)


@pytest.mark.parametrize(
    ("output", "said"),
    [
        (nn.LazyLinear(12), "`output.weight` has no shape yet"),
        (nn.Linear(8, 12, device="meta"), "`output.weight` is on `meta`, without numbers"),
    ],
)
def test_weights_that_hold_no_numbers_are_said(output: nn.Module, said: str) -> None:
    network = Echo()
    network.output = output
    with pytest.raises(ExaminationError, match=said):
        examine(subject(network))


def test_masks_and_numbers_that_are_kept_among_the_weights_stay_as_they_are() -> None:
    made = course(**SMALL).subject()
    kept = {
        "mask": torch.full((5, 5), -torch.inf).triu(1),
        "allowed": torch.ones(5, 5).tril(),
        "numbers": torch.arange(5),
        "hidden": torch.ones(5, 5, dtype=torch.bool).triu(1),
    }
    for name, value in kept.items():
        made.network.register_parameter(name, nn.Parameter(value.clone(), requires_grad=False))
    found = examine(made, 600)
    assert found.healthy, str(found)
    Bench(made, 60).shake()
    assert all(made.network.get_parameter(name).equal(value) for name, value in kept.items())


def test_an_embedding_with_sparse_gradients_is_trained() -> None:
    made = course(tying="none", **SMALL).subject()
    for each in (made.network.source_embeddings, made.network.target_embeddings):
        each.table.sparse = True
    found = examine(replace(made, training_step=None), 600)
    assert found.healthy, str(found)


def test_a_rate_that_is_high_for_small_tables_is_none_that_is_far_too_high() -> None:
    """With tables as small as GPT's at their start a matrix moves by more than half its size."""
    made = course(**SMALL, norm_first=True)
    made.rate = 6e-3
    with torch.no_grad():
        for weight in made.network.parameters():
            if weight.dim() > 1:
                weight.mul_(0.02 / weight.std())
    found = examine(made.subject(), 600)
    size = found.experiments["size of a step"]
    assert (size.word, *size.numbers.values()) == ("usual", pytest.approx(0.7, abs=0.25))
    assert found.healthy, str(found)


def test_a_network_without_weights_is_refused() -> None:
    with pytest.raises(ExaminationError, match="the network has no parameters"):
        examine(Subject(nn.Identity(), source_vocab=9, target_vocab=9, pad=0, bos=1, eos=2))


def test_the_line_that_raised_is_said() -> None:
    def scores(source: Tensor, target: Tensor) -> Tensor:
        raise NotImplementedError

    made = course(**SMALL).subject()
    made.scores = scores
    place = r"raises NotImplementedError \(test_examination.py, line \d+, in `scores`\) when"
    with pytest.raises(ExaminationError, match=place):
        examine(made)


# Searches that cannot be used


def test_what_is_no_list_of_ids_is_said() -> None:
    made = course(**SMALL).subject()
    made.translate = lambda sentences: torch.zeros(len(sentences), dtype=torch.long)
    found = examine(made, 600)
    assert not found.healthy
    assert found.experiments["their translation"].numbers["error"] == "it returns no lists of ids"


@pytest.mark.parametrize(
    ("returned", "words"),
    [
        (["a b"] * 12, "it returns texts: let it return lists of ids"),
        (None, "it returns NoneType: let it return lists of ids"),
        ([[None]] * 12, "it returns no lists of ids"),
    ],
)
def test_what_a_search_returns_is_said(
    returned: object, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("transformer_course.examine.lesson.MOST_STEPS", 1)
    made = course(**SMALL).subject()
    made.translate = lambda sources: returned
    assert lesson(Bench(made, 600)).theirs == words


def test_what_fails_is_not_tried_again() -> None:
    bench, tried = Bench(subject(Echo()), 1), []

    def fail(bench: Bench) -> None:
        tried.append(bench)
        raise RuntimeError("no")

    for _ in range(3):
        with pytest.raises(RuntimeError, match="no"):
            bench.once(fail)
    assert len(tried) == 1


def test_a_beam_that_fails_on_the_fork_alone_fails() -> None:
    made = course(**SMALL).subject()
    beam = made.beam

    def fails_on_one_word_repeated(sentences):
        if any(len({*sentence}) == 1 for sentence in sentences):
            raise RuntimeError("no")
        return beam(sentences)

    made.beam = fails_on_one_word_repeated
    assert EXPERIMENTS["beam"].run(Bench(made, 600)).word == "it cannot be used"


# What stays as it was


def test_everything_is_put_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("transformer_course.examine.lesson.MOST_STEPS", 8)
    made = course()
    network = made.network
    weight = next(network.parameters())
    weight.grad = torch.ones_like(weight)
    network.decoder.eval()
    before = {name: value.clone() for name, value in network.state_dict().items()}
    modes = [module.training for module in network.modules()]
    chance = torch.get_rng_state(), random.getstate()
    subject = made.subject()
    step = subject.training_step

    def clearing_step(*batch):
        network.zero_grad(set_to_none=False)  # into the tensors that are there
        return step(*batch)

    subject.training_step = clearing_step
    assert examine(subject, 600).experiments["learning"].word == "it is still learning"
    assert all(torch.equal(before[name], value) for name, value in network.state_dict().items())
    assert [module.training for module in network.modules()] == modes
    assert weight.grad.eq(1).all()
    assert chance[0].equal(torch.get_rng_state())
    assert chance[1] == random.getstate()


def test_model_that_changes_global_state_changes_nothing() -> None:
    class Meddles(Echo):
        def forward(self, source, target):
            torch.set_default_dtype(torch.float64)
            random.seed(0)
            return super().forward(source, target)

    state = random.getstate()
    examine(subject(Meddles()), 5)
    assert torch.get_default_dtype() == torch.float32
    assert random.getstate() == state


# Subjects ready made


@pytest.mark.filterwarnings("ignore:enable_nested_tensor")
def test_adapter_for_torch() -> None:
    torch.manual_seed(0)
    transformer = nn.Transformer(16, 2, 1, 1, 32, 0.1, batch_first=False)
    source, target, output = nn.Embedding(12, 16), nn.Embedding(12, 16), nn.Linear(16, 12)
    positions = torch.randn(200, 16)
    ready = adapters.torch_transformer(
        transformer,
        lambda ids: source(ids) + positions[: ids.shape[1]],
        lambda ids: target(ids) + positions[: ids.shape[1]],
        output,
        **{"source_vocab": 12, "target_vocab": 12} | IDS,
    )
    found = examine(ready, 60)
    assert found.observed.failing == {}
    assert "the adapter makes the masks" in str(found)
    names = [name for name, _ in ready.network.named_children()]
    assert names == ["source", "target", "transformer", "output"]


def test_adapter_for_torch_finds_weights_where_it_looks() -> None:
    class Around(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.transformer = nn.Transformer(16, 2, 1, 1, 32, batch_first=True)
            self.table, self.positions = nn.Embedding(12, 16), nn.Parameter(torch.randn(200, 16))

        def vectors(self, ids: Tensor) -> Tensor:
            return self.table(ids) + self.positions[: ids.shape[1]]

    around, output = Around(), nn.Linear(16, 12)
    positions = nn.Parameter(torch.randn(200, 16))
    given = {"source_vocab": 12, "target_vocab": 12} | IDS
    add = lambda ids: around.table(ids) + positions[: ids.shape[1]]  # noqa: E731
    network = adapters.torch_transformer(
        around.transformer, around.vectors, add, output, **given
    ).network
    assert {id(weight) for weight in network.parameters()} == {
        id(weight) for part in (around, output) for weight in part.parameters()
    } | {id(positions)}
    modules = [id(module) for _, module in network.named_modules(remove_duplicate=False)]
    assert len(modules) == len(set(modules))
    plain = adapters.torch_transformer(around.transformer, torch.detach, Call(), output, **given)
    assert [name for name, _ in plain.network.named_children()] == ["transformer", "output"]


def test_tables_that_are_too_small_are_said_to_be() -> None:
    small = course((12, 12)).network
    with pytest.raises(ExaminationError, match="source_vocab=40"):
        examine(Subject(small, **{"source_vocab": 40, "target_vocab": 40} | IDS), 60)


def test_adapter_for_hugging_face() -> None:
    transformers = pytest.importorskip("transformers")
    torch.manual_seed(0)
    sizes = {"vocab_size": 30, "d_model": 16, "encoder_layers": 1, "decoder_layers": 1}
    heads = {"encoder_attention_heads": 2, "decoder_attention_heads": 2}
    width = {"encoder_ffn_dim": 32, "decoder_ffn_dim": 32, "max_position_embeddings": 128}
    ids = {"pad_token_id": 0, "eos_token_id": 2, "decoder_start_token_id": 0}
    config = transformers.MarianConfig(**sizes, **heads, **width, **ids, forced_eos_token_id=None)
    model = transformers.MarianMTModel(config)
    found = examine(adapters.hugging_face(model), 60)
    assert found.healthy, str(found)


def test_adapter_for_hugging_face_says_what_a_configuration_lacks() -> None:
    model = Echo()
    ids = {"pad_token_id": 0, "eos_token_id": 2, "decoder_start_token_id": None}
    model.config = SimpleNamespace(is_encoder_decoder=True, vocab_size=12, **ids)
    with pytest.raises(ValueError, match="of Echo does not say bos: give `bos="):
        adapters.hugging_face(model)
    assert adapters.hugging_face(model, bos=1).bos == 1
    mine = lambda source, target: target  # noqa: E731
    assert adapters.hugging_face(model, bos=1, scores=mine).scores is mine
    model.config.is_encoder_decoder = False
    with pytest.raises(ValueError, match="Echo has no encoder"):
        adapters.hugging_face(model)


# What is said


@pytest.fixture(scope="module")
def faulty():
    return examine(patient("course, post-norm", ["no_causal_mask"], 0).subject(), 600)


@pytest.mark.parametrize("losses", [[5.0, 4.0, torch.nan, torch.inf], [torch.nan], [5.0]])
def test_a_loss_that_is_no_number_has_no_place_on_the_curve(losses: list[float]) -> None:
    curve = Curve([(10 * step, loss) for step, loss in enumerate(losses)])
    (points,) = re.findall('points="([^"]*)"', curve.html())
    assert len(points.split()) == sum(map(math.isfinite, losses))
    assert "nan" not in points


def test_card_says_what_is_wrong_what_shows_it_and_what_to_change(faulty) -> None:
    said = str(faulty)
    assert said.startswith("Faulty: Transformer\nWhat is wrong: a decoder that sees the future.")
    assert "Which later tokens of the target move the scores at a position?" in said
    assert "What to change: Hide from each position what comes after it" in said
    html = faulty._repr_html_()
    assert "<b>Faulty:</b>" in html and 'scope="col"' in html


def test_json_has_a_form_that_stays(faulty) -> None:
    facts = json.loads(faulty.to_json())
    assert list(facts) == [
        "form",
        "name",
        "verdict",
        "healthy",
        "faults",
        "candidates",
        "unexplained",
        "experiments",
        "not_examined",
        "seconds",
    ]
    assert facts["form"] == 1 and facts["healthy"] is False
    (fault,) = facts["faults"]
    assert list(fault) == ["key", "name", "observed", "change", "shown_by"]
    assert fault["key"] == "future_seen" and "future" in fault["shown_by"]
    (future,) = (each for each in facts["experiments"] if each["name"] == "future")
    assert (future["outcome"], future["fine"], future["healthy"]) == ("all", False, ["none"])
    assert {each["name"] for each in facts["experiments"]} <= EXPERIMENTS.keys()
    page = (ROOT / "book" / "examine.md").read_text(encoding="utf-8")
    assert all(f"`{key}`" in page for key in {*facts, *fault, *future})


def test_healthy_subjects_pass_in_somebodys_tests() -> None:
    torch.manual_seed(0)
    assert_healthy(lambda: course(**SMALL).subject(), 600)
    with pytest.raises(AssertionError, match="padding"):
        broken = course(**SMALL)
        WAYS["padding_counted"](broken)
        assert_healthy(broken.subject(), 5)


@pytest.mark.parametrize(
    "around",
    [
        pytest.param(([], []), id="bare"),
        pytest.param(([], [2]), id="end", marks=pytest.mark.exhaustive),
        pytest.param(([1], [2]), id="both", marks=pytest.mark.exhaustive),
        pytest.param(([1], []), id="begin", marks=pytest.mark.exhaustive),
    ],
)
def test_sources_are_framed_as_the_subject_frames_them(around) -> None:
    """Some put the begin token before a source, some nothing behind it."""
    made = course(**SMALL)

    def collate(pairs):
        framed = [(around[0] + source + around[1], target) for source, target in pairs]
        return reference.collate(framed, made.pad, made.bos, made.eos, made.pad, ([], []))

    made.collate = collate
    made.source_of = lambda sentences: reference.padded(
        [around[0] + sentence + around[1] for sentence in sentences], made.pad
    )
    found = examine(made.subject(), 120)
    assert found.healthy, str(found)


def test_two_faults_may_be_one_that_is_unknown() -> None:
    made = course(**SMALL)
    for way in ("no_causal_mask", "gradients_left"):
        WAYS[way](made)
    found = examine(made.subject(), 120)
    assert {fault.key for fault in found.faults} == {"future_seen", "gradients_left"}
    assert "that is not known here can look like two" in str(found)
