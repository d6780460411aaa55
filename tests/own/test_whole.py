"""Whether parts that each pass alone compute the right thing together."""

from dataclasses import replace
from types import ModuleType

import pytest
import torch

from transformer_course import model, translation
from transformer_course.model import Transformer, TransformerConfig
from transformer_course.own import whole
from transformer_course.own.modules import module_of
from transformer_course.own.sections import template
from transformer_course.own.training import share_weights


def file_with(old: str, new: str) -> ModuleType:
    assert template().count(old) == 1
    return module_of(template().replace(old, new), "my_transformer_tried", "my_transformer.py")


def test_the_courses_parts_fit_together() -> None:
    assert whole.fault(file_with("dropout: float = 0.0", "dropout: float = 0.0")) is None


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (
            "causal_mask = given.causal_mask",
            "def causal_mask(length):\n    return torch.ones(length, length).bool()",
            "the logits",
        ),
        (
            "FeedForward = given.FeedForward",
            "FeedForward = given.FeedForward\nFeedForward.forward = lambda self, x: "
            "self.contract(self.expand(x).relu()).detach()",
            "the gradient of",
        ),
        ("self.steps += 1", "self.steps += 2", "the losses of ten training steps"),
        (
            "greedy = given.greedy",
            "greedy = given.greedy\nfirst = greedy\n\n\n"
            "def greedy(*inputs):\n    return first(*inputs)[:, :2]",
            "a translation",
        ),
        ("layer_norm(x, self.gain,", "layer_norm(x, self.gain.detach(),", "the gradient of"),
        (
            "lambda y: self.dropout(sublayer(y)), self.norm, self.norm_first",
            "lambda y: self.dropout(sublayer(y)), self.norm, True",
            "where the norm comes after the sum",
        ),
        (
            "softmax = given.softmax",
            "def softmax(scores):\n    torch.rand(1)\n"
            "    return (scores - scores.logsumexp(dim=-1, keepdim=True)).exp()",
            "settings or random numbers",
        ),
    ],
)
def test_what_goes_wrong_together_is_named(old, new, said) -> None:
    assert said in whole.fault(file_with(old, new))


CONFIG = TransformerConfig(
    13, 13, d_model=8, heads=2, encoder_layers=2, decoder_layers=2, d_ff=16, dropout=0.0, max_len=32
)


@pytest.mark.parametrize("norm_first", [False, True])
@pytest.mark.parametrize("tying", ["three_way", "two_way", "none"])
def test_ten_steps_equal_the_courses(tying: str, norm_first: bool) -> None:
    """Outputs, gradients and losses, in double precision, with torch's Adam on the other side."""
    # From one set of weights in hundreds, ten steps of Adam enlarge 1e-9 to more than 1e-5.
    torch.manual_seed(0)
    config = replace(CONFIG, tying=tying, norm_first=norm_first)
    theirs = Transformer(config).double()
    file = whole.course()
    choices = {name: getattr(config, name) for name in file.TransformerConfig.__dataclass_fields__}
    mine = file.Transformer(file.TransformerConfig(**choices)).double()
    mine.load_state_dict(theirs.state_dict(), strict=False)  # positions are no weights
    pairs = [([4, 5, 6], [7, 8]), ([9], [4, 5, 6, 7]), ([10, 11, 12, 4], [9, 10, 4])]
    batch = translation.collate(pairs, file.BOS, file.EOS, file.PAD)
    by_torch = torch.optim.Adam(theirs.parameters(), 0.0, betas=(0.9, 0.98), eps=1e-9)
    by_hand = file.Adam(mine.parameters(), 0.0)
    for step in range(1, 11):
        rate = 0.1 * translation.noam(step, 8, 4)
        by_torch.param_groups[0]["lr"] = by_hand.rate = rate
        logits = theirs(*batch[:2])
        loss = translation.smoothed_cross_entropy(
            logits.flatten(0, 1), batch[2].flatten(), 0.1, file.PAD
        )
        seen, wanted = mine(*batch[:2])[batch[2] != 0], logits[batch[2] != 0]
        torch.testing.assert_close(seen, wanted, atol=1e-5, rtol=1e-5)
        by_torch.zero_grad()
        loss.backward()
        assert file.training_step(mine, by_hand, *batch, file.PAD, 0.1) == pytest.approx(
            loss.item(), abs=1e-5
        )
        gradients = {name: weight.grad for name, weight in theirs.named_parameters()}
        for name, weight in mine.named_parameters():
            torch.testing.assert_close(weight.grad, gradients[name], atol=1e-5, rtol=1e-5)
        by_torch.step()


def test_shared_weights_are_one() -> None:
    theirs = model.Transformer(CONFIG)
    file = whole.course()
    choices = {n: getattr(CONFIG, n) for n in file.TransformerConfig.__dataclass_fields__}
    mine = file.Transformer(file.TransformerConfig(**choices))
    share_weights(mine, theirs)
    assert {id(each) for each in mine.parameters()} == {id(each) for each in theirs.parameters()}
