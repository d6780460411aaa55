"""The peers compute what our model computes: else the benchmarks would compare other things."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils.flop_counter import FlopCounterMode

from benchmarks import decoding_speed, tables, training_speed
from benchmarks.peers import (
    TextbookTransformer,
    TorchTransformer,
    ctranslate2_model,
    marian,
    textbook_loss,
    token_names,
)
from benchmarks.training_speed import KINDS, MARIAN, TEXTBOOK, TORCH_PAPER, Contestant
from transformer_course.model import Transformer, TransformerConfig
from transformer_course.translation import BOS, EOS, PAD
from transformer_course.translation.corpora.batches import Batch

VOCAB = 23
# Sizes are all different, so that no axis can be taken for another.
SMALL = TransformerConfig(
    source_vocab=VOCAB,
    target_vocab=VOCAB,
    d_model=24,
    heads=4,
    encoder_layers=2,
    decoder_layers=3,
    d_ff=40,
    dropout=0.1,
    max_len=32,
    pad_id=PAD,
)
LAST = VOCAB - 1  # where Marian and CTranslate2 have the padding token
START, END = VOCAB - 2, 0


def new_model(**changes: object) -> Transformer:
    """Build our model in evaluation mode; no bias is zero and no gain one."""
    torch.manual_seed(0)
    model = Transformer(replace(SMALL, **changes)).eval()
    with torch.no_grad():
        for weight in model.parameters():
            weight += 0.2 * torch.randn_like(weight)
        model.output.weight[model.config.pad_id] = 0.0
    return model


def batch(lengths: tuple[tuple[int, int], ...] = ((5, 7), (3, 4), (4, 6))) -> Batch:
    """Draw sentences of these lengths."""
    generator = torch.Generator().manual_seed(1)
    pairs = [
        tuple(torch.randint(4, LAST, (n,), generator=generator).tolist() for n in pair)
        for pair in lengths
    ]
    return Batch.from_pairs(pairs, BOS, EOS, PAD)


def logits(name: str, model: nn.Module, sentences: Batch) -> Tensor:
    """Return the logits of all target positions that are not padding."""
    return KINDS[name].logits(model, sentences)[sentences.target_in != PAD]


def need(name: str) -> None:
    """Skip where the peer's package is missing."""
    if name == MARIAN:
        pytest.importorskip("transformers")


# Training


@pytest.mark.parametrize("name", list(KINDS))
def test_logits_and_parameters_are_ours(name: str) -> None:
    need(name)
    model, sentences = new_model(), batch()
    other = KINDS[name].build(model).eval()
    expected = model(sentences.source, sentences.target_in)[sentences.target_in != PAD]
    torch.testing.assert_close(logits(name, other, sentences), expected, rtol=0, atol=1e-4)
    trained = sum(weight.numel() for weight in other.parameters() if weight.requires_grad)
    assert trained == sum(weight.numel() for weight in model.parameters())


@pytest.mark.parametrize("name", list(KINDS))
def test_peers_share_no_memory_with_ours(name: str) -> None:
    need(name)
    model, sentences = new_model(), batch()
    before = {key: weight.clone() for key, weight in model.state_dict().items()}
    contestant = Contestant(KINDS[name], model)
    contestant.step(sentences)
    for key, weight in model.state_dict().items():
        assert weight.equal(before[key])
    moved = contestant.model.eval()
    model.eval()
    expected = model(sentences.source, sentences.target_in)[sentences.target_in != PAD]
    assert not torch.allclose(logits(name, moved, sentences), expected, rtol=0, atol=1e-5)


def test_textbook_loss_has_the_gradient_of_cross_entropy() -> None:
    torch.manual_seed(0)
    scores = torch.randn(6, VOCAB, requires_grad=True)
    targets = torch.tensor([5, 9, PAD, 7, 22, PAD])
    expected = F.cross_entropy(scores, targets, ignore_index=PAD, label_smoothing=0.1)
    (wanted,) = torch.autograd.grad(expected, scores)
    loss = textbook_loss(scores, targets, 0.1, PAD)
    torch.testing.assert_close(torch.autograd.grad(loss, scores)[0], wanted)
    smoothed = torch.full((VOCAB,), 0.1 / VOCAB)
    smoothed[0] += 0.9
    entropy = -(smoothed * smoothed.log()).sum()
    torch.testing.assert_close(loss + entropy, expected)


@pytest.mark.parametrize(("name", "drops"), [(TEXTBOOK, True), (TORCH_PAPER, False)])
def test_dropout_inside_the_sublayers(name: str, drops: bool) -> None:
    """Without the residual dropouts the textbook version still drops; the paper does not."""
    model = KINDS[name].build(new_model()).train()
    for path, module in model.named_modules():
        last = path.rpartition(".")[2]
        outside = "add_norm" in path or "positions" in path or last in ("dropout1", "dropout2")
        if isinstance(module, nn.Dropout) and (outside or last == "dropout3"):
            module.p = 0.0
    sentences = batch()
    first, second = (logits(name, model, sentences) for _ in range(2))
    assert first.equal(second) is not drops


@pytest.mark.parametrize(
    "change", [{"norm_first": True}, {"positions": "learned"}, {"tying": "two_way"}]
)
@pytest.mark.parametrize("peer", [TextbookTransformer, TorchTransformer])
def test_other_models_are_refused(peer: type[nn.Module], change: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="as the paper's model; got"):
        peer(new_model(**change))


def test_other_models_are_refused_by_marian() -> None:
    pytest.importorskip("transformers")
    with pytest.raises(ValueError, match="as the paper's model; got True"):
        marian(new_model(norm_first=True), BOS, EOS)


def test_operations_are_those_that_torch_counts() -> None:
    """Without padding nothing is saved; the textbook version multiplies matrices only."""
    sentences = batch(((5, 7), (5, 7)))
    model = TextbookTransformer(new_model()).train()
    with FlopCounterMode(display=False) as counter:
        KINDS[TEXTBOOK].loss(model, sentences).backward()
    assert training_speed.training_flops(SMALL, sentences) == counter.get_total_flops()


def test_operations_and_tokens_leave_padding_out() -> None:
    alone = [batch((pair,)) for pair in ((5, 7), (3, 4))]
    together = batch(((5, 7), (3, 4)))
    count = training_speed.training_flops
    assert count(SMALL, together) == sum(count(SMALL, one) for one in alone)
    assert training_speed.tokens(together) == 6 + 8 + 4 + 5  # each with its begin or end token


def test_batches_are_as_long_as_sentences_and_hardly_padded() -> None:
    batches = training_speed.random_batches(1000)[:8]
    lengths = torch.cat([(one.source != PAD).sum(dim=1) for one in batches])
    assert lengths.min() >= 11
    assert lengths.max() <= 26
    assert len(lengths.unique()) > 8
    for one in batches:
        assert one.target_in.numel() > 0.9 * training_speed.BATCH_TOKENS
        assert one.target_in.numel() <= training_speed.BATCH_TOKENS
    assert training_speed.padding_waste(batches, PAD) < 0.1
    assert batches[0].source.equal(training_speed.random_batches(1000)[0].source)


def test_rounds_take_the_next_batches() -> None:
    first, second = training_speed.rounds_of_batches("small", 2)
    batches = training_speed.random_batches(8000)
    assert len(first) == training_speed.BATCHES["small"]
    for got, wanted in zip(first + second, batches, strict=False):
        assert got.source.equal(wanted.source)


def test_missing_packages_are_left_out_and_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (tables, training_speed, decoding_speed):
        monkeypatch.setattr(module, "installed", lambda _: None)
    assert MARIAN not in training_speed.kinds()
    assert training_speed.check_same_function(SMALL) < 1e-4
    programs = decoding_speed.contestants(new_model(pad_id=LAST), tmp_path, threads=1)
    assert list(programs) == [decoding_speed.UNCACHED, decoding_speed.CACHED]
    (words,) = tables.skipped()
    assert "left out: transformers, ctranslate2" in words


def test_another_function_is_not_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(model: nn.Module, sentences: Batch) -> Tensor:
        return training_speed.logits_of(model, sentences) + 0.001

    kind = replace(KINDS[TEXTBOOK], logits=wrong)
    monkeypatch.setitem(KINDS, TEXTBOOK, kind)
    with pytest.raises(RuntimeError, match=r"logits of textbook differ from ours by 0\.001"):
        training_speed.check_same_function(SMALL)


# Decoding


def test_ctranslate2_scores_as_ours_does(tmp_path: Path) -> None:
    pytest.importorskip("transformers")
    pytest.importorskip("ctranslate2")
    model = new_model(pad_id=LAST)
    with torch.no_grad():
        model.output.weight[START] = 0.0
    names = token_names(VOCAB)
    theirs = ctranslate2_model(marian(model, START, END), tmp_path / "converted", threads=1)
    source, target = [[5, 9, 3, END], [7, 8, END]], [[4, 9, 9, 12], [6, 3]]
    spoken = [[[names[token] for token in row] for row in rows] for rows in (source, target)]
    found = [score.log_probs for score in theirs.score_batch(*spoken)]
    pairs = [(s[:-1], t) for s, t in zip(source, target, strict=True)]
    sentences = Batch.from_pairs(pairs, START, END, LAST)
    # CTranslate2 does without padding, in the softmax too.
    scores = model(sentences.source, sentences.target_in)[:, :, :LAST].log_softmax(dim=-1)
    for row, (_, words) in enumerate(pairs):
        wanted = [*words, END]
        expected = scores[row, range(len(wanted)), wanted].tolist()
        assert found[row] == pytest.approx(expected, abs=1e-4)


def test_conversion_minds_the_two_special_rows(tmp_path: Path) -> None:
    pytest.importorskip("transformers")
    pytest.importorskip("ctranslate2")
    with pytest.raises(ValueError, match="padding token must be the last; got 0"):
        ctranslate2_model(marian(new_model(), BOS, EOS), tmp_path, threads=1)
    with pytest.raises(ValueError, match="start token's embedding must be zero"):
        ctranslate2_model(marian(new_model(pad_id=LAST), START, END), tmp_path, threads=1)


def test_all_programs_translate_alike(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model, sentences = decoding_speed.talkative_model(), decoding_speed.random_sentences(6)
    monkeypatch.setattr(decoding_speed, "NEW_TOKENS", 5)
    programs = decoding_speed.contestants(model, tmp_path, threads=1)
    for beam in (1, 4):
        shares = decoding_speed.check_same_output(programs, sentences, beam)
        assert set(shares.values()) == {1.0}
    together = programs[decoding_speed.CACHED](sentences, 1)
    assert len({tuple(row) for row in together}) == len(sentences)  # they do say something
    one_by_one = decoding_speed.in_batches(programs[decoding_speed.CACHED], sentences, 1, 1)
    assert one_by_one == together


def test_a_program_that_says_something_else_is_refused() -> None:
    model, sentences = decoding_speed.talkative_model(), decoding_speed.random_sentences(2)
    honest = decoding_speed.ours(model, decoding_speed.CachedDecoder)
    expected = honest(sentences, 1)

    def other(sentences: list[list[int]], beam: int) -> list[list[int]]:
        return [[row[0] + 1, *row[1:]] for row in expected]

    def short(sentences: list[list[int]], beam: int) -> list[list[int]]:
        return [row[:-1] for row in expected]

    for program, words in ((other, "other translates only 0%"), (short, "does not produce 20")):
        programs = {decoding_speed.UNCACHED: honest, "other": program}
        with pytest.raises(RuntimeError, match=words):
            decoding_speed.check_same_output(programs, sentences, 1)
