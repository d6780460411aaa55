from collections.abc import Callable
from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from transformer_course.model import (
    AddNorm,
    Decoder,
    DecoderLayer,
    Encoder,
    EncoderLayer,
    LayerNorm,
    layer_norm,
    padding_mask,
    target_mask,
)
from transformer_course.model.torch_weights import load_torch_weights, torch_layer

from .small import PAD, SMALL, both_norm_orders, noise, ragged_ids, randomise

SIZES = (SMALL.d_model, SMALL.heads, SMALL.d_ff, SMALL.dropout)


def value_and_gradients(normalise: Callable[..., Tensor], *inputs: Tensor) -> list[Tensor]:
    inputs = tuple(x.clone().requires_grad_() for x in inputs)
    output = normalise(*inputs)
    direction = noise(*output.shape, seed=9)
    return [output, *torch.autograd.grad(output, inputs, direction)]


@pytest.mark.parametrize("size", [1.0, 1e-4, 0.0], ids=["usual", "tiny", "constant"])
def test_layer_norm_equals_that_of_torch_in_value_and_gradient(size: float) -> None:
    # Tiny inputs show where eps stands, constant ones that the gradient stays finite.
    inputs = (3 + size * noise(2, 5, 16), noise(16, seed=1), noise(16, seed=2))
    ours = value_and_gradients(layer_norm, *inputs)
    theirs = value_and_gradients(
        lambda x, gain, bias: F.layer_norm(x, (16,), gain, bias, 1e-5), *inputs
    )
    torch.testing.assert_close(ours, theirs, rtol=1e-9, atol=1e-9)


def test_layer_norm_gives_mean_0_and_population_variance_1() -> None:
    normalised = layer_norm(3 + 5 * noise(4, 16), torch.ones(16), torch.zeros(16), eps=0.0)
    torch.testing.assert_close(normalised.mean(dim=-1), torch.zeros(4).double())
    torch.testing.assert_close(normalised.var(dim=-1, correction=0), torch.ones(4).double())


def test_module_is_layer_norm_with_its_own_gain_and_bias() -> None:
    module = LayerNorm(16, eps=1e-3).double()
    assert module.gain.eq(1).all()
    assert module.bias.eq(0).all()
    randomise(module)
    x = noise(2, 5, 16)
    torch.testing.assert_close(module(x), layer_norm(x, module.gain, module.bias, eps=1e-3))


def double_everything(x: Tensor) -> Tensor:
    return 2 * x


def test_post_norm_normalises_the_sum() -> None:
    add_norm, x = AddNorm(16, dropout=0.0, norm_first=False).double(), noise(2, 5, 16)
    torch.testing.assert_close(add_norm(x, double_everything), add_norm.norm(x + 2 * x))


def test_pre_norm_normalises_what_the_sublayer_reads() -> None:
    add_norm, x = AddNorm(16, dropout=0.0, norm_first=True).double(), noise(2, 5, 16)
    torch.testing.assert_close(add_norm(x, double_everything), x + 2 * add_norm.norm(x))


@both_norm_orders
def test_dropout_falls_on_the_sublayer_and_spares_the_residual(norm_first: bool) -> None:
    torch.manual_seed(0)
    add_norm = AddNorm(16, dropout=0.5, norm_first=norm_first)
    add_norm.norm = nn.Identity()
    residual = torch.full((20, 5, 16), 10.0)
    assert add_norm(residual, torch.ones_like).unique().tolist() == [10, 12]
    assert add_norm.eval()(residual, torch.ones_like).unique().tolist() == [11]


@both_norm_orders
def test_encoder_layer_with_weights_of_torch(norm_first: bool) -> None:
    theirs = torch_layer(nn.TransformerEncoderLayer, replace(SMALL, norm_first=norm_first))
    randomise(theirs.double())
    ours = EncoderLayer(*SIZES, norm_first).double()
    load_torch_weights(ours, theirs)
    source = ragged_ids(3, 5)
    x = noise(3, 5, SMALL.d_model)
    expected = theirs(x, src_key_padding_mask=source == PAD)
    torch.testing.assert_close(ours(x, padding_mask(source, PAD)), expected, rtol=0, atol=1e-10)
    torch.testing.assert_close(ours(x), theirs(x), rtol=0, atol=1e-10)


@both_norm_orders
def test_decoder_layer_with_weights_of_torch(norm_first: bool) -> None:
    theirs = torch_layer(nn.TransformerDecoderLayer, replace(SMALL, norm_first=norm_first))
    randomise(theirs.double())
    ours = DecoderLayer(*SIZES, norm_first).double()
    load_torch_weights(ours, theirs)
    source, target = ragged_ids(3, 5), ragged_ids(3, 7)
    x, memory = noise(3, 7, SMALL.d_model), noise(3, 5, SMALL.d_model, seed=1)
    masks = (padding_mask(source, PAD), target_mask(target, PAD))
    expected = theirs(
        x,
        memory,
        tgt_mask=torch.ones(7, 7, dtype=torch.bool).triu(1),
        tgt_key_padding_mask=target == PAD,
        memory_key_padding_mask=source == PAD,
    )
    torch.testing.assert_close(ours(x, memory, *masks), expected, rtol=0, atol=1e-10)
    torch.testing.assert_close(ours(x, memory), theirs(x, memory), rtol=0, atol=1e-10)


@pytest.mark.parametrize(
    ("layer", "parameters"), [(EncoderLayer, 3_152_384), (DecoderLayer, 4_204_032)]
)
@both_norm_orders
def test_layers_of_the_base_model_have_the_parameters_of_the_paper(
    layer: type[nn.Module], parameters: int, norm_first: bool
) -> None:
    with torch.device("meta"):
        module = layer(512, 8, 2048, norm_first=norm_first)
    assert sum(p.numel() for p in module.parameters()) == parameters


@pytest.mark.parametrize("stack", [Encoder, Decoder])
def test_no_two_layers_of_a_stack_share_a_parameter(stack: type[nn.Module]) -> None:
    first, second, third = (set(layer.parameters()) for layer in stack(3, *SIZES).layers)
    assert first.isdisjoint(second | third)
    assert second.isdisjoint(third)
    assert len(first) == len(second) == len(third) > 0


@pytest.mark.parametrize("stack", [Encoder, Decoder])
def test_only_pre_norm_ends_with_a_norm(stack: type[nn.Module]) -> None:
    assert isinstance(stack(2, *SIZES, norm_first=True).norm, LayerNorm)
    assert list(stack(2, *SIZES, norm_first=False).norm.parameters()) == []


@both_norm_orders
def test_output_of_a_stack_has_variance_1_however_deep(norm_first: bool) -> None:
    torch.manual_seed(0)
    encoder = Encoder(8, *SIZES, norm_first).double()
    variance = encoder(5 * noise(2, 5, SMALL.d_model)).var(dim=-1, correction=0)
    torch.testing.assert_close(variance, torch.ones(2, 5).double(), rtol=0, atol=1e-3)
