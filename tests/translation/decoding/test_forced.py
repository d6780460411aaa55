import pytest
import torch
import torch.nn.functional as F

from transformer_course.model import Transformer
from transformer_course.translation.decoding import forced
from transformer_course.translation.decoding.forced import sequence_log_probability

from ...model.small import PAD, small_model
from .searches import BOS, EOS, SOURCE


def test_sequence_log_probability_adds_up_the_tokens_without_padding(model: Transformer) -> None:
    pairs = [([5, 6], [7, 8, 9]), ([4], [3])]
    rows = [[BOS, *target, EOS] for _, target in pairs]
    source = torch.tensor([[5, 6, EOS], [4, EOS, PAD]])
    target = torch.tensor([rows[0], rows[1] + [PAD] * 2])
    together = sequence_log_probability(model, source, target[:, :-1], target[:, 1:])
    model.eval()
    for total, (words, _), row in zip(together, pairs, rows, strict=True):
        logits = model(torch.tensor([[*words, EOS]]), torch.tensor([row[:-1]]))[0]
        expected = -F.cross_entropy(logits, torch.tensor(row[1:]), reduction="sum")
        torch.testing.assert_close(total, expected.detach(), rtol=0, atol=1e-10)


def test_few_sentences_at_once_have_the_same_probabilities(
    model: Transformer, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = torch.tensor([[BOS, 5, 6, EOS]] * len(SOURCE))
    together = sequence_log_probability(model, SOURCE, target[:, :-1], target[:, 1:])
    monkeypatch.setattr(forced, "SCORES_AT_ONCE", 1)
    alone = sequence_log_probability(model, SOURCE, target[:, :-1], target[:, 1:])
    torch.testing.assert_close(alone, together, rtol=0, atol=1e-10)


def test_sums_are_taken_in_32_bits(model: Transformer) -> None:
    target = torch.tensor([[BOS, 5, 6, EOS]] * len(SOURCE))
    half = model.to(torch.bfloat16)
    sums = sequence_log_probability(half, SOURCE, target[:, :-1], target[:, 1:])
    logits = half.eval()(SOURCE, target[:, :-1]).float()
    wanted = -F.cross_entropy(logits.mT, target[:, 1:], reduction="none").sum(dim=1)
    torch.testing.assert_close(sums, wanted.detach())


def test_targets_of_different_shapes_are_refused(unchecked_signatures: None) -> None:
    target = torch.tensor([[BOS, 5, 6]] * 3)
    with pytest.raises(ValueError, match=r"same shape; got \(3, 3\) and \(3, 2\)"):
        sequence_log_probability(small_model(), SOURCE, target, target[:, 1:])
