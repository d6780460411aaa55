"""The tasks ask what they say, and every variant can be tried on them."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from transformer_course.model.variants import small_tasks as tasks


class Oracle(nn.Module):
    """Knows the answers of both tasks."""

    def forward(self, ids, numbers=None):
        if numbers is None:
            return F.one_hot(ids[:, : -tasks.BACK], tasks.TOKENS).float()
        same = ids[:, :-1] == ids[:, -1:]
        return F.one_hot((numbers[:, :-1] * same).sum(dim=1, keepdim=True), tasks.NUMBERS).float()


@pytest.mark.parametrize(
    ("draw", "size"), [(tasks.draw_three_back, 20), (tasks.draw_recall, 9)], ids=["back", "recall"]
)
def test_who_knows_the_answers_has_all_right(draw, size):
    torch.manual_seed(0)
    assert tasks.share_right(Oracle(), draw, size) == 1


class AlwaysZero(nn.Module):
    def forward(self, names, numbers):
        return F.one_hot(torch.zeros(len(names), 1, dtype=torch.long), tasks.NUMBERS).float()


def test_every_text_counts():
    torch.manual_seed(0)
    guessed = tasks.share_right(AlwaysZero(), tasks.draw_recall, 5, count=4000)
    assert guessed == pytest.approx(1 / tasks.NUMBERS, abs=0.015)


def test_names_are_asked_once_and_numbers_are_hidden():
    torch.manual_seed(0)
    (names, numbers), _ = tasks.draw_recall(50, 12)
    assert names.shape == numbers.shape == (50, 13)
    assert all(len(set(row[:-1].tolist())) == 12 for row in names)
    assert (numbers[:, -1] == tasks.NUMBERS).all()


@pytest.mark.parametrize("kind", tasks.POSITIONS)
def test_each_kind_of_position_looks_back_only(kind):
    torch.manual_seed(0)
    network, ids = tasks.ThreeBack(kind), torch.randint(tasks.TOKENS, (2, 30))
    changed = ids.clone()
    changed[:, 20] = (ids[:, 20] + 1) % tasks.TOKENS
    before, after = network(ids), network(changed)
    assert before.shape == (2, 30 - tasks.BACK, tasks.TOKENS)
    assert torch.allclose(before[:, : 20 - tasks.BACK], after[:, : 20 - tasks.BACK], atol=1e-5)


def test_the_later_of_two_numbers_is_right():
    torch.manual_seed(0)
    (names, numbers), answers = tasks.draw_corrections(50, 12)
    assert names.shape == numbers.shape == (50, 13)
    for row in range(50):
        assert len(set(names[row, :-1].tolist())) == 6
        places = (names[row, :-1] == names[row, -1]).nonzero().flatten()
        assert len(places) == 2 and answers[row, 0] == numbers[row, places[1]]


ORDERLESS = {kind: made for kind, (made, _) in (tasks.RECALLS | tasks.CORRECTIONS).items()}
del ORDERLESS["delta rule"]


@pytest.mark.parametrize("kind", ORDERLESS)
def test_recall_does_not_depend_on_the_order_of_the_pairs(kind):
    torch.manual_seed(0)
    network = tasks.Recall(ORDERLESS[kind])
    (names, numbers), _ = tasks.draw_recall(3, 6)
    order = [4, 1, 5, 0, 2, 3, 6]
    said = network(names, numbers)
    assert said.shape == (3, 1, tasks.NUMBERS)
    assert torch.allclose(said, network(names[:, order], numbers[:, order]), atol=1e-5)


def test_training_lowers_the_loss():
    torch.manual_seed(0)
    network = tasks.ThreeBack("relative")
    first = tasks.train(network, tasks.draw_three_back, 8, 8, steps=1)
    assert tasks.train(network, tasks.draw_three_back, 8, 8, steps=60) < first - 0.3


@pytest.mark.parametrize("features", tasks.KEY_FEATURES)
def test_the_numbers_of_a_state_are_counted(features):
    made, _ = tasks.RECALLS[f"linear, {tasks.WIDTH * features:,} numbers"]
    key, value = made().keys_and_values(torch.zeros(1, 5, tasks.WIDTH))
    state = key.transpose(-2, -1) @ value
    assert state.numel() == tasks.WIDTH * features
