import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from transformer_course.model import Transformer, fused_attention, variants
from transformer_course.translation.training import cpu_loss as fast_training
from transformer_course.translation.training.cpu_loss import (
    SHORT_ROW,
    OutputCrossEntropy,
    byte_dropout,
    cpu_loss,
    fast_layers,
    short_row_attention,
)

from ...model.small import PAD, VOCAB, new_model


def double_model(**settings: object) -> Transformer:
    return new_model(max_len=40, decoder_layers=1, **settings).double()


def sentences(length: int) -> tuple[Tensor, Tensor, Tensor]:
    """Return source, target in and target out, with padding in each."""
    generator = torch.Generator().manual_seed(length)
    ids = torch.randint(1, VOCAB, (3, 4, length), generator=generator)
    ids[0, 1, -1] = ids[1, 2, -2:] = ids[2, 2, -2:] = PAD
    return tuple(ids)


def plain_loss(
    model: Transformer, batch: tuple[Tensor, Tensor, Tensor], smoothing: float
) -> Tensor:
    source, target_in, target_out = batch
    return F.cross_entropy(
        model(source, target_in).flatten(0, 1),
        target_out.flatten(),
        ignore_index=PAD,
        label_smoothing=smoothing,
    )


@pytest.mark.parametrize("norm_first", [False, True], ids=["post", "pre"])
@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize("length", [5, SHORT_ROW + 3], ids=["short", "long"])
def test_loss_and_gradients_are_those_of_the_plain_path(
    norm_first: bool, smoothing: float, length: int
) -> None:
    model, batch = double_model(norm_first=norm_first), sentences(length)
    weights = list(model.parameters())
    plain, fast = plain_loss(model, batch, smoothing), cpu_loss(model, *batch, smoothing)
    torch.testing.assert_close(fast, plain, rtol=1e-12, atol=1e-12)
    for ours, wanted in zip(
        torch.autograd.grad(fast, weights), torch.autograd.grad(plain, weights), strict=True
    ):
        torch.testing.assert_close(ours, wanted, rtol=1e-9, atol=1e-12)


def test_loss_does_not_depend_on_how_many_rows_are_taken_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    model, batch = double_model(), sentences(6)
    weights = list(model.parameters())

    def gradients() -> tuple[Tensor, ...]:
        return torch.autograd.grad(cpu_loss(model, *batch, 0.1), weights)

    at_once = gradients()
    monkeypatch.setattr(fast_training, "ROWS_AT_ONCE", 5)
    for ours, wanted in zip(gradients(), at_once, strict=True):
        torch.testing.assert_close(ours, wanted)


def test_hopeless_prediction_has_a_finite_loss() -> None:
    """A probability below the smallest number must not become log(0)."""
    hidden = torch.tensor([[300.0]], requires_grad=True)
    table = torch.tensor([[1.0], [-1.0], [0.0]], requires_grad=True)
    loss = OutputCrossEntropy.apply(hidden, table, torch.tensor([1]), 0.0, 2)
    assert loss.item() == pytest.approx(600.0)
    loss.backward()
    assert hidden.grad.item() == pytest.approx(2.0)


def test_batch_of_padding_has_loss_zero() -> None:
    hidden = torch.ones(2, 3, requires_grad=True)
    table = torch.ones(VOCAB, 3, requires_grad=True)
    loss = OutputCrossEntropy.apply(hidden, table, torch.full((2,), PAD), 0.1, PAD)
    loss.backward()
    assert loss.item() == 0
    assert not hidden.grad.any()


def test_gradient_is_scaled_by_what_follows() -> None:
    model, batch = double_model(), sentences(5)
    weight = model.output.weight
    (once,) = torch.autograd.grad(cpu_loss(model, *batch, 0.1), weight)
    (thrice,) = torch.autograd.grad(3 * cpu_loss(model, *batch, 0.1), weight)
    torch.testing.assert_close(thrice, 3 * once)


def test_layers_are_as_before_after_the_block() -> None:
    model, batch = double_model(dropout=0.5), sentences(5)

    def attributes() -> dict[str, set[str]]:
        return {name: set(vars(module)) for name, module in model.named_modules()}

    before = attributes()
    with pytest.raises(RuntimeError, match="inside"), fast_layers(model):
        raise RuntimeError("inside")
    assert attributes() == before
    assert model.encoder.layers[0].self_attention.attend is fused_attention
    cpu_loss(model.eval(), *batch, 0.1)


def test_an_attention_with_a_look_up_of_its_own_keeps_it() -> None:
    model, batch = double_model().eval(), sentences(5)
    usual = plain_loss(model, batch, 0.1)
    variants.look_up_by(model, lambda attention: variants.rotary_attention)
    assert not torch.allclose(plain_loss(model, batch, 0.1), usual)
    torch.testing.assert_close(cpu_loss(model, *batch, 0.1), plain_loss(model, batch, 0.1))


def test_dropout_is_off_when_the_model_is_in_use() -> None:
    model, batch = double_model(dropout=0.5).eval(), sentences(5)
    torch.testing.assert_close(cpu_loss(model, *batch, 0.1), plain_loss(model, batch, 0.1))


def test_dropout_is_on_in_training() -> None:
    model, batch = double_model(dropout=0.5).train(), sentences(5)
    losses = {round(cpu_loss(model, *batch, 0.1).item(), 6) for _ in range(4)}
    assert len(losses) == 4


@pytest.mark.parametrize("probability", [0.1, 0.15, 0.5])
def test_every_place_is_dropped_with_the_probability_asked_for(probability: float) -> None:
    """Eight neighbours come from one random number: none of them may differ from the others."""
    torch.manual_seed(0)
    kept = byte_dropout(torch.ones(4000, 11, 8), probability) != 0
    shares = 1 - kept.double().mean(dim=(0, 1))
    # 44,000 draws: four standard errors are 4 * sqrt(p (1 - p) / 44000), below .01; 1/512 is the
    # rounding of the probability.
    torch.testing.assert_close(
        shares, torch.full((8,), probability, dtype=torch.double), rtol=0, atol=0.012
    )


def test_dropout_keeps_the_mean_and_its_gradient_the_mask() -> None:
    torch.manual_seed(0)
    x = torch.ones(3, 333, requires_grad=True)  # 999 elements do not fill their last number
    y = byte_dropout(x, 0.25)
    assert y.detach().unique().tolist() == pytest.approx([0, 4 / 3])
    assert y.mean().item() == pytest.approx(1, abs=0.08)
    y.sum().backward()
    assert torch.equal(x.grad, y.detach())


def test_dropout_without_probability_changes_nothing() -> None:
    x = torch.randn(5, 7)
    assert torch.equal(byte_dropout(x, 0.0), x)


def test_probability_close_to_one_still_leaves_something() -> None:
    assert byte_dropout(torch.ones(100_000), 0.999).isfinite().all()


@pytest.mark.parametrize("keys", [SHORT_ROW, SHORT_ROW + 1])
def test_attention_is_the_same_on_both_sides_of_the_limit(keys: int) -> None:
    query, key, value = (torch.randn(2, 3, keys, 4) for _ in range(3))
    mask = torch.rand(2, 1, keys, keys) > 0.5
    torch.testing.assert_close(
        short_row_attention(query, key, value, mask), fused_attention(query, key, value, mask)
    )


def test_a_bias_of_the_output_is_refused() -> None:
    model, batch = double_model(), sentences(5)
    model.output.bias = torch.nn.Parameter(torch.zeros(VOCAB).double())
    with pytest.raises(ValueError, match="knows no bias"):
        cpu_loss(model, *batch, 0.1)
