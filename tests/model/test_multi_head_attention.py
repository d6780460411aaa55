import pytest
import torch
from torch import nn

from transformer_course.model import (
    MultiHeadAttention,
    Transformer,
    capture_attention,
    causal_mask,
    fused_attention,
    merge_heads,
    scaled_dot_product_attention,
    silenced_heads,
    split_heads,
    target_mask,
)
from transformer_course.model.torch_weights import load_torch_weights

from .small import PAD, both_norm_orders, noise, ragged_ids, randomise, small_model

BATCH, QUERIES, KEYS, D_MODEL, HEADS = 2, 3, 5, 12, 4
PATHS = [
    *(f"encoder.layers.{i}.self_attention" for i in range(2)),
    *(f"decoder.layers.{i}.{kind}_attention" for i in range(2) for kind in ("self", "cross")),
]


def new_attention(dtype: torch.dtype = torch.float64) -> MultiHeadAttention:
    attention = MultiHeadAttention(D_MODEL, HEADS).to(dtype)
    randomise(attention)
    return attention


def test_split_gives_each_head_its_own_features() -> None:
    x = noise(BATCH, KEYS, D_MODEL)
    heads = split_heads(x, HEADS)
    assert heads.shape == (BATCH, HEADS, KEYS, D_MODEL // HEADS)
    for head, features in enumerate(x.split(D_MODEL // HEADS, dim=-1)):
        assert heads[:, head].equal(features)


def test_merge_undoes_split() -> None:
    x = noise(BATCH, KEYS, D_MODEL)
    assert merge_heads(split_heads(x, HEADS)).equal(x)


def test_each_head_attends_alone_with_a_slice_of_the_projections() -> None:
    attention = new_attention()
    query, memory = noise(BATCH, QUERIES, D_MODEL), noise(BATCH, KEYS, D_MODEL, seed=1)
    projected = (
        attention.query_projection(query),
        attention.key_projection(memory),
        attention.value_projection(memory),
    )
    heads = [
        scaled_dot_product_attention(*(x.chunk(HEADS, dim=-1)[head] for x in projected))[0]
        for head in range(HEADS)
    ]
    expected = attention.output_projection(torch.cat(heads, dim=-1))
    torch.testing.assert_close(attention(query, memory), expected)


def test_every_head_reads_the_whole_vector() -> None:
    attention = new_attention()
    query = noise(1, QUERIES, D_MODEL)
    memory = noise(1, KEYS, D_MODEL, seed=1).requires_grad_()
    merged: list[torch.Tensor] = []
    attention.output_projection.register_forward_pre_hook(lambda _, x: merged.append(x[0]))
    attention(query, memory)
    for head in split_heads(merged[0], HEADS)[0]:
        (gradient,) = torch.autograd.grad(head.sum(), memory, retain_graph=True)
        assert (gradient != 0).all()


@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float64, 1e-10), (torch.float32, 1e-5)])
@pytest.mark.parametrize("masked", [False, True], ids=["all keys", "padded and causal"])
def test_weights_of_torch_give_the_output_of_torch(
    dtype: torch.dtype, tolerance: float, masked: bool
) -> None:
    theirs = nn.MultiheadAttention(D_MODEL, HEADS, batch_first=True).to(dtype)
    randomise(theirs)
    ours = new_attention(dtype)
    load_torch_weights(ours, theirs)
    x = noise(BATCH, KEYS, D_MODEL, dtype=dtype)
    ids = ragged_ids(BATCH, KEYS)
    # In torch's module True hides; here True shows.
    their_masks = (
        {"key_padding_mask": ids == PAD, "attn_mask": ~causal_mask(KEYS)} if masked else {}
    )
    our_mask = target_mask(ids, PAD) if masked else None
    expected, expected_weights = theirs(x, x, x, average_attn_weights=False, **their_masks)
    with capture_attention(ours) as maps:
        captured = ours(x, x, our_mask)
    for output in (captured, ours(x, x, our_mask)):
        torch.testing.assert_close(output, expected, rtol=0, atol=tolerance)
    torch.testing.assert_close(maps[""], expected_weights.detach(), rtol=0, atol=tolerance)


def test_cross_attention_with_weights_of_torch() -> None:
    theirs = nn.MultiheadAttention(D_MODEL, HEADS, batch_first=True).double()
    randomise(theirs)
    ours = new_attention()
    load_torch_weights(ours, theirs)
    query, memory = noise(BATCH, QUERIES, D_MODEL), noise(BATCH, KEYS, D_MODEL, seed=1)
    expected, _ = theirs(query, memory, memory)
    torch.testing.assert_close(ours(query, memory), expected, rtol=0, atol=1e-10)


@pytest.mark.parametrize(("d_model", "heads"), [(10, 4), (4, 8), (8, 0), (8, -2), (0, 2), (-8, 2)])
def test_heads_that_do_not_divide_d_model_are_refused(d_model: int, heads: int) -> None:
    message = f"divisible by heads.*got d_model={d_model}, heads={heads}. Change one of them"
    with pytest.raises(ValueError, match=message):
        MultiHeadAttention(d_model, heads)


def run(model: Transformer, length: int = 5, seed: int = 0) -> torch.Tensor:
    return model(ragged_ids(3, length, seed), ragged_ids(3, 7, seed + 1))


@both_norm_orders
def test_captured_output_equals_the_usual_one(norm_first: bool) -> None:
    model = small_model(norm_first=norm_first)
    with capture_attention(model):
        captured = run(model)
    torch.testing.assert_close(captured, run(model), rtol=0, atol=1e-12)


def test_capture_hands_out_the_weights_of_every_layer_and_head() -> None:
    model = small_model()
    with capture_attention(model) as maps:
        run(model, length=5)
    assert list(maps) == PATHS
    for path, weights in maps.items():
        queries = 5 if path.startswith("encoder") else 7
        keys = 7 if path.startswith("decoder") and "self" in path else 5
        assert weights.shape == (3, 4, queries, keys)
        assert not weights.requires_grad
        torch.testing.assert_close(weights.sum(dim=-1), torch.ones(3, 4, queries).double())


def test_captured_rows_sum_to_zero_where_nothing_may_be_seen() -> None:
    model = small_model()
    only_padding = torch.full((1, 4), PAD)
    with capture_attention(model) as maps:
        model.encode(only_padding)
    assert (maps["encoder.layers.0.self_attention"] == 0).all()


def test_captured_weights_obey_the_masks() -> None:
    model, source, target = small_model(), ragged_ids(3, 5), ragged_ids(3, 7)
    with capture_attention(model) as maps:
        model(source, target)
    padded_keys = (source == PAD)[:, None, None, :].expand(-1, 4, 7, -1)
    assert (maps["decoder.layers.1.cross_attention"][padded_keys] == 0).all()
    assert (maps["decoder.layers.1.self_attention"].triu(1) == 0).all()


def test_capture_keeps_the_latest_call() -> None:
    model = small_model()
    with capture_attention(model) as maps:
        run(model, seed=1)
        run(model, length=6, seed=2)
    with capture_attention(model) as only:
        run(model, length=6, seed=2)
    assert all(maps[path].equal(only[path]) for path in PATHS)


def test_capture_of_a_part_names_paths_from_that_part() -> None:
    model = small_model()
    with capture_attention(model.decoder.layers[1]) as maps:
        run(model)
    assert list(maps) == ["self_attention", "cross_attention"]


def attend_functions(model: Transformer) -> set:
    return {m.attend for m in model.modules() if isinstance(m, MultiHeadAttention)}


def test_capture_ends_with_its_block_even_after_an_exception() -> None:
    model = small_model()
    with pytest.raises(RuntimeError, match="in the block"), capture_attention(model) as maps:
        run(model)
        raise RuntimeError("in the block")
    before = dict(maps)
    run(model, seed=5)
    assert attend_functions(model) == {fused_attention}
    assert all(maps[path] is before[path] for path in PATHS)


def test_nested_capture_hands_back_to_the_outer_one() -> None:
    model = small_model()
    with capture_attention(model) as outer:
        with capture_attention(model) as inner:
            run(model, seed=1)
        assert set(inner) == set(PATHS)
        assert outer == {}
        run(model, seed=2)
        assert set(outer) == set(PATHS)
    assert attend_functions(model) == {fused_attention}


def test_gradients_are_the_same_within_a_capture() -> None:
    model = small_model()
    parameters = list(model.parameters())
    usual = torch.autograd.grad(run(model).square().mean(), parameters)
    with capture_attention(model):
        captured = torch.autograd.grad(run(model).square().mean(), parameters)
    torch.testing.assert_close(captured, usual, rtol=0, atol=1e-12)


def test_a_silenced_head_takes_its_term_out_of_the_sum() -> None:
    attention, x = new_attention(), noise(BATCH, QUERIES, D_MODEL)
    with capture_attention(attention) as maps:
        usual = attention(x, x)
    values = split_heads(attention.value_projection(x), HEADS)
    columns = attention.output_projection.weight.chunk(HEADS, dim=1)
    for head in range(HEADS):
        said = maps[""][:, head] @ values[:, head] @ columns[head].T
        with silenced_heads(attention, [("", head)]):
            torch.testing.assert_close(attention(x, x), usual - said)


def test_with_all_heads_silenced_only_the_bias_is_left() -> None:
    attention, x = new_attention(), noise(BATCH, QUERIES, D_MODEL)
    with silenced_heads(attention, [("", head) for head in range(HEADS)]):
        output = attention(x, x)
    assert (output == attention.output_projection.bias).all()


def test_silencing_ends_with_its_block_even_after_an_exception() -> None:
    model = small_model()
    usual = run(model)
    with pytest.raises(RuntimeError, match="in the block"), silenced_heads(model, [(PATHS[0], 1)]):
        assert not run(model).equal(usual)
        raise RuntimeError("in the block")
    assert run(model).equal(usual)


def test_silenced_heads_are_captured_all_the_same() -> None:
    model = small_model()
    usual = run(model)
    with silenced_heads(model, [(PATHS[0], 1)]), capture_attention(model) as maps:
        assert not torch.allclose(run(model), usual)
    assert set(maps) == set(PATHS)


@pytest.mark.parametrize(
    ("path", "head", "message"),
    [
        ("encoder", 0, r"no attention at 'encoder'; there is: encoder\.layers\.0\.self_attention"),
        (PATHS[0], 4, "has 4 heads, counted from 0; got head 4"),
        (PATHS[0], -1, "got head -1"),
    ],
)
def test_heads_that_are_not_there_cannot_be_silenced(path: str, head: int, message: str) -> None:
    model = small_model()
    usual = run(model)
    with (
        pytest.raises(ValueError, match=message),
        silenced_heads(model, [(PATHS[1], 0), (path, head)]),
    ):
        pass
    assert run(model).equal(usual)
