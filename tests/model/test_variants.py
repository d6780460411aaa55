"""The variants are what their papers define."""

import math
from types import SimpleNamespace

import pytest
import torch
from torch import nn

from transformer_course.model import (
    Encoder,
    FeedForward,
    LayerNorm,
    MultiHeadAttention,
    Transformer,
    capture_attention,
    causal_mask,
    fused_attention,
    scaled_dot_product_attention,
    split_heads,
)
from transformer_course.model import variants as v

from .small import PAD, VOCAB, new_model, noise, ragged_ids, random_ids, randomise, small_model

HEADS, D_K = 4, 6
LOOK_UPS = {
    "relative": lambda: v.RelativeAttention(D_K, limit=3),
    "buckets": lambda: v.BucketAttention(HEADS, buckets=8, farthest=10),
    "rotary": lambda: v.rotary_attention,
    "alibi": lambda: v.alibi_attention,
}
each_look_up = pytest.mark.parametrize("name", LOOK_UPS)


def look_up(name):
    made = LOOK_UPS[name]()
    if isinstance(made, nn.Module):
        made.double()
        randomise(made)
    return made


def weights_of(attend, query, key, mask=None):
    """A look-up is linear in the values, so values of one 1 each show its weights."""
    one_each = torch.eye(key.shape[2], dtype=key.dtype).expand(*key.shape[:2], -1, -1)
    return attend(query, key, one_each, mask)


def alike(length):
    """Return queries and keys that are the same at each position."""
    return (noise(2, HEADS, 1, D_K, seed=seed).expand(-1, -1, length, -1) for seed in (1, 2))


# Positions


@each_look_up
def test_scores_depend_on_the_offset_only(name):
    log_weights = weights_of(look_up(name), *alike(9)).log()
    scores = log_weights - log_weights.diagonal(dim1=2, dim2=3)[..., None]  # offset 0 gets 0
    torch.testing.assert_close(scores[..., 1:, 1:], scores[..., :-1, :-1])
    assert scores[..., 0, 1:].std() > 0.01


@each_look_up
def test_values_are_blended_as_they_are(name):
    query, key, value = (noise(2, HEADS, 7, D_K, seed=seed) for seed in range(3))
    attend, mask = look_up(name), causal_mask(7)
    weights = weights_of(attend, query, key, mask)
    torch.testing.assert_close(attend(query, key, value, mask), weights @ value)
    torch.testing.assert_close(weights.sum(dim=-1), torch.ones_like(weights[..., 0]))
    assert (weights.masked_select(~mask) == 0).all()


@each_look_up
def test_last_queries_alone_get_the_same(name):
    """As in decoding with a cache."""
    query, key, value = (noise(2, HEADS, 7, D_K, seed=seed) for seed in range(3))
    attend = look_up(name)
    together = attend(query, key, value, None)
    torch.testing.assert_close(attend(query[:, :, 5:], key, value, None), together[:, :, 5:])


@each_look_up
def test_a_query_without_any_key_gets_zeros(name):
    query, key, value = (noise(1, HEADS, 3, D_K, seed=seed) for seed in range(3))
    mask = torch.ones(3, 3, dtype=torch.bool)
    mask[1] = False
    assert (look_up(name)(query, key, value, mask)[:, :, 1] == 0).all()


def test_offsets_count_from_the_query():
    assert v.offsets(3, 3).tolist() == [[0, 1, 2], [-1, 0, 1], [-2, -1, 0]]
    assert v.offsets(1, 3).tolist() == [[-2, -1, 0]]
    with pytest.raises(ValueError, match="got 5 and 3"):
        v.offsets(5, 3)


def test_relative_vectors_are_compared_as_keys_are():
    """Equation 4 of Shaw et al., written out."""
    attend = look_up("relative")
    query, key = noise(2, HEADS, 6, D_K, seed=1), noise(2, HEADS, 6, D_K, seed=2)
    vectors = attend.vectors.weight
    scores = torch.empty(2, HEADS, 6, 6, dtype=torch.float64)
    for i in range(6):
        for j in range(6):
            with_distance = key[:, :, j] + vectors[max(-3, min(3, j - i)) + 3]
            scores[:, :, i, j] = (query[:, :, i] * with_distance).sum(-1) / math.sqrt(D_K)
    torch.testing.assert_close(weights_of(attend, query, key), scores.softmax(-1))


def test_distances_beyond_the_limit_share_a_vector():
    assert v.RelativeAttention(D_K, limit=3).vectors.weight.shape == (2 * 3 + 1, D_K)
    weights = weights_of(look_up("relative"), *alike(9))
    torch.testing.assert_close(weights[..., 0, 3:], weights[..., 0, 3:4].expand(-1, -1, 6))


@pytest.mark.parametrize("both_sides", [True, False])
def test_buckets_are_exact_near_and_wide_far(both_sides):
    buckets = v.t5_buckets(-torch.arange(300), both_sides=both_sides)
    exact, last = (8, 15) if both_sides else (16, 31)
    assert buckets[: exact + 1].tolist() == list(range(exact + 1))
    assert (buckets.diff() >= 0).all()
    assert (buckets[128:] == last).all()
    widths = buckets[exact:128].bincount()[exact:]
    assert widths[-1] > 4 * widths[0]


def test_keys_after_the_query_have_buckets_of_their_own_or_none():
    offsets = torch.arange(1, 200)
    torch.testing.assert_close(v.t5_buckets(offsets), v.t5_buckets(-offsets) + 16)
    assert (v.t5_buckets(offsets, both_sides=False) == 0).all()


@pytest.mark.parametrize("both_sides", [True, False])
@pytest.mark.parametrize(("buckets", "farthest"), [(32, 128), (8, 20)])
def test_buckets_are_those_of_transformers(both_sides, buckets, farthest):
    t5 = pytest.importorskip("transformers.models.t5.modeling_t5")
    offsets = torch.arange(-400, 400)
    theirs = t5.T5Attention._relative_position_bucket(offsets, both_sides, buckets, farthest)
    torch.testing.assert_close(v.t5_buckets(offsets, buckets, farthest, both_sides), theirs)


def test_bucket_biases_are_added_to_the_scores():
    attend = look_up("buckets")
    query, key = noise(2, HEADS, 6, D_K, seed=1), noise(2, HEADS, 6, D_K, seed=2)
    bias = attend.biases.weight[v.t5_buckets(v.offsets(6, 6), 8, 10)].permute(2, 0, 1)
    scores = query @ key.transpose(-2, -1) / math.sqrt(D_K) + bias
    torch.testing.assert_close(weights_of(attend, query, key), scores.softmax(-1))


def test_rotation_multiplies_each_pair_by_a_complex_number():
    x = noise(2, 3, 5, 8)
    pairs = torch.view_as_complex(x.unflatten(-1, (-1, 2)))
    angles = torch.arange(4, 9)[:, None] / 10000 ** (torch.arange(0, 8, 2) / 8).double()
    expected = torch.view_as_real(pairs * torch.polar(torch.ones(5, 4).double(), angles))
    torch.testing.assert_close(v.rotate(x, first=4), expected.flatten(-2))


def test_rotation_keeps_lengths_and_the_first_position():
    x = noise(2, 5, 8)
    torch.testing.assert_close(v.rotate(x).norm(dim=-1), x.norm(dim=-1))
    torch.testing.assert_close(v.rotate(x)[:, 0], x[:, 0])


def test_rotated_dot_products_are_the_same_at_every_place():
    query, key = noise(1, 8, seed=1), noise(1, 8, seed=2)
    near = v.rotate(query, 7) @ v.rotate(key, 3).T
    far = v.rotate(query, 1007) @ v.rotate(key, 1003).T
    torch.testing.assert_close(near, far, rtol=0, atol=1e-12)


def test_a_larger_base_slows_all_pairs_but_the_first():
    slow = 500_000 ** (-torch.arange(0, 8, 2).double() / 8)
    torch.testing.assert_close(v.rotary_frequencies(8, base=500_000), slow)
    x = noise(1, 8)
    turned, usual = v.rotate(x, 3, base=500_000), v.rotate(x, 3)
    torch.testing.assert_close(turned[:, :2], usual[:, :2])
    assert (turned[:, 2:] - usual[:, 2:]).abs().min() > 1e-3
    pairs = torch.view_as_complex(x.unflatten(-1, (-1, 2)))
    expected = torch.view_as_real(pairs * torch.polar(torch.ones(4).double(), 3 * slow))
    torch.testing.assert_close(turned, expected.flatten(-2))


def test_odd_heads_cannot_be_rotated():
    with pytest.raises(ValueError, match="even number"):
        v.rotate(noise(2, 5))


@pytest.mark.parametrize("heads", [1, 2, 8, 16])
def test_slopes_of_a_power_of_two_are_powers_of_one_number(heads):
    expected = [2 ** (-8 * head / heads) for head in range(1, heads + 1)]
    assert v.alibi_slopes(heads).tolist() == pytest.approx(expected)


def test_other_numbers_of_heads_take_slopes_from_both_powers_beside_them():
    slopes = v.alibi_slopes(12)
    assert slopes[:8].tolist() == v.alibi_slopes(8).tolist()
    assert slopes[8:].tolist() == pytest.approx(v.alibi_slopes(16)[:8:2].tolist())
    with pytest.raises(ValueError, match="at least one head; got 0"):
        v.alibi_slopes(0)


def test_alibi_lowers_scores_by_slope_times_distance():
    bias = v.alibi_bias(8, 1, 5)
    assert bias[0].tolist() == [[-2, -1.5, -1, -0.5, 0]]
    assert bias[7, 0, 0] == -4 / 256
    query, key = noise(1, 2, 3, D_K, seed=1), noise(1, 2, 3, D_K, seed=2)
    scores = query @ key.transpose(-2, -1) / math.sqrt(D_K) + v.alibi_bias(2, 3, 3)
    torch.testing.assert_close(weights_of(v.alibi_attention, query, key), scores.softmax(-1))


# Norms and units


def test_rms_norm_divides_by_the_root_mean_square():
    x, gain = noise(2, 3, 8), noise(8, seed=1)
    rms = (sum(x[..., i] ** 2 for i in range(8)) / 8 + 1e-6).sqrt()
    torch.testing.assert_close(v.rms_norm(x, gain), gain * x / rms[..., None])
    norm = v.RMSNorm(8).double()
    randomise(norm)
    torch.testing.assert_close(norm(x), v.rms_norm(x, norm.gain))


def test_rms_norm_ignores_scale_but_not_shift():
    x, gain = noise(2, 8), torch.ones(8, dtype=torch.float64)
    torch.testing.assert_close(v.rms_norm(7 * x, gain), v.rms_norm(x, gain), atol=1e-5, rtol=0)
    assert not torch.allclose(v.rms_norm(x + 3, gain), v.rms_norm(x, gain), atol=0.1)


def test_squares_do_not_overflow_in_half_precision():
    x = torch.full((1, 8), 300.0, dtype=torch.float16)
    assert torch.isinf(x.square()).all()
    assert v.rms_norm(x, torch.ones(8).half()).tolist() == [[1.0] * 8]


def test_gated_network_needs_as_many_weights():
    def weights(module):
        return sum(p.numel() for p in module.parameters() if p.dim() > 1)

    assert weights(v.SwiGLU(96, 384)) == weights(FeedForward(96, 384))
    ratio = weights(v.SwiGLU(512, 2048)) / weights(FeedForward(512, 2048))
    assert ratio == pytest.approx(1, abs=1e-3)


def test_gate_multiplies():
    module = v.SwiGLU(4, 12).double()
    x = noise(2, 3, 4)
    gate, hidden = module.gate(x), module.expand(x)
    expected = module.contract(gate * torch.sigmoid(gate) * hidden)
    torch.testing.assert_close(module(x), expected)


def test_gelu_is_x_times_the_normal_distribution_function():
    module = v.GELUFeedForward(4, 10).double()
    x = noise(2, 3, 4)
    hidden = module.expand(x)
    expected = module.contract(hidden * (1 + torch.erf(hidden / math.sqrt(2))) / 2)
    torch.testing.assert_close(module(x), expected)


def test_a_network_that_is_such_a_part_itself_is_replaced():
    old = FeedForward(8, 16)
    new = v.replace_parts(old, FeedForward, lambda part: v.SwiGLU(8, 16))
    assert type(new) is v.SwiGLU and [*old.children()] == [old.expand, old.contract]


def test_parts_are_replaced_where_they_stand():
    network = new_model(norm_first=True)
    norms = sum(isinstance(part, LayerNorm) for part in network.modules())
    v.replace_parts(network, LayerNorm, lambda norm: v.RMSNorm(len(norm.gain)))
    v.replace_parts(network, FeedForward, lambda part: v.SwiGLU(24, 32))
    kinds = [type(part) for part in network.modules()]
    assert kinds.count(v.RMSNorm) == norms == 12
    assert kinds.count(v.SwiGLU) == 4
    assert not {LayerNorm, FeedForward} & set(kinds)
    ids = random_ids(2, 5)
    network(ids, ids).sum().backward()
    assert all(weight.grad is not None for weight in network.parameters())


def test_only_self_attention_looks_up_in_another_way():
    network = v.look_up_by(new_model(), lambda attention: v.rotary_attention)
    ways = {
        name.rpartition(".")[2]: module.attend
        for name, module in network.named_modules()
        if isinstance(module, MultiHeadAttention)
    }
    assert ways == {"self_attention": v.rotary_attention, "cross_attention": fused_attention}


@pytest.mark.parametrize(
    "make",
    [
        lambda attention: v.rotary_attention,
        lambda attention: v.RelativeAttention(6),
        lambda attention: v.BucketAttention(attention.heads),
    ],
)
def test_weights_of_other_look_ups_are_not_captured_and_change_nothing(make):
    network, ids = v.look_up_by(new_model(), make), random_ids(2, 5)
    usual = network(ids, ids)
    with capture_attention(network) as maps:
        captured = network(ids, ids)
    torch.testing.assert_close(captured, usual)
    assert {name.rpartition(".")[2] for name in maps} == {"cross_attention"}


def test_trained_look_ups_are_parameters_of_the_network():
    encoder = Encoder(2, 24, HEADS, 32)
    v.look_up_by(encoder, lambda attention: v.BucketAttention(attention.heads))
    assert sum("biases" in name for name, _ in encoder.named_parameters()) == 2


def test_no_bias_is_left():
    network = v.without_biases(new_model())
    linear = [module for module in network.modules() if isinstance(module, nn.Linear)]
    assert linear and all(module.bias is None for module in linear)
    ids = random_ids(2, 5)
    assert network(ids, ids).isfinite().all()


# Attention that costs less


def test_a_window_says_who_may_look_where():
    window = v.sliding_window_mask(6, 2)
    assert window.int().tolist()[4] == [0, 0, 0, 1, 1, 0]
    assert window.sum() == 2 * 6 - 1


@pytest.mark.parametrize(("layers", "window"), [(1, 3), (2, 3), (4, 5)])
def test_stacked_windows_see_further_back(layers, window):
    reached = torch.linalg.matrix_power(v.sliding_window_mask(30, window).double(), layers) > 0
    assert reached[29].sum() == 1 + layers * (window - 1)


def linear_inputs():
    return (noise(2, HEADS, 7, D_K, seed=seed) for seed in range(3))


def test_both_orders_of_the_product_give_the_same():
    query, key, value = linear_inputs()
    everything = torch.ones(7, 7, dtype=torch.bool)
    torch.testing.assert_close(
        v.linear_attention(query, key, value), v.linear_attention(query, key, value, everything)
    )


def test_linear_attention_weighs_by_dot_products_of_features():
    query, key, value = linear_inputs()
    features = [torch.where(x > 0, x + 1, x.exp()) for x in (query, key)]
    scores = features[0] @ features[1].transpose(-2, -1) * causal_mask(7)
    expected = scores / scores.sum(dim=-1, keepdim=True) @ value
    torch.testing.assert_close(v.linear_attention(query, key, value, causal_mask(7)), expected)


def test_recurrence_gives_what_a_causal_mask_gives():
    query, key, value = linear_inputs()
    state = (torch.zeros(2, HEADS, D_K, D_K).double(), torch.zeros(2, HEADS, D_K).double())
    outputs = []
    for token in range(7):
        newest = (x[:, :, token] for x in (query, key, value))
        output, state = v.linear_attention_step(*newest, state)
        outputs.append(output)
    expected = v.linear_attention(query, key, value, causal_mask(7))
    torch.testing.assert_close(torch.stack(outputs, dim=2), expected)


def test_linear_attention_with_features_that_round_to_0_gives_zeros():
    query, value = torch.full((1, 3, 4), -200.0), torch.ones(1, 3, 2)
    assert (v.linear_attention(query, query, value) == 0).all()
    state = torch.zeros(1, 4, 2), torch.zeros(1, 4)
    output, _ = v.linear_attention_step(query[:, 0], query[:, 0], value[:, 0], state)
    assert (output == 0).all()


def test_linear_attention_without_any_key_gives_zeros():
    query, key, value = linear_inputs()
    mask = causal_mask(7)
    mask[0] = False
    assert (v.linear_attention(query, key, value, mask)[:, :, 0] == 0).all()


def test_neighbouring_heads_share_a_key_and_a_value():
    query = noise(2, 6, 5, 4)
    key, value = noise(2, 2, 7, 4, seed=1), noise(2, 2, 7, 4, seed=2)
    output = v.grouped_query_attention(query, key, value)
    for head in range(6):
        group = head // 3
        alone, _ = scaled_dot_product_attention(query[:, head], key[:, group], value[:, group])
        torch.testing.assert_close(output[:, head], alone)


def test_as_many_groups_as_heads_is_multi_head_attention():
    usual = MultiHeadAttention(24, HEADS).double()
    grouped = v.GroupedQueryAttention(24, HEADS, groups=HEADS).double()
    grouped.load_state_dict(usual.state_dict())
    x = noise(2, 5, 24)
    torch.testing.assert_close(grouped(x, x, causal_mask(5)), usual(x, x, causal_mask(5)))


def test_fewer_groups_keep_less():
    attention = v.GroupedQueryAttention(24, HEADS, groups=2).double()
    key, value = attention.keys_and_values(noise(2, 5, 24))
    assert key.shape == value.shape == (2, 2, 5, D_K)
    kept = (key.numel() + value.numel()) * key.element_size()
    assert kept == 2 * 5 * v.cache_bytes_per_token(1, 2, D_K, bytes_of_one=8)
    with pytest.raises(ValueError, match="heads=4, groups=3"):
        v.GroupedQueryAttention(24, HEADS, groups=3)


def test_cache_of_published_models():
    """Llama 2 7B and Llama 3 8B, in 16 bits."""
    assert v.cache_bytes_per_token(layers=32, groups=32, d_k=128) == 524_288
    assert v.cache_bytes_per_token(layers=32, groups=8, d_k=128) == 131_072


def test_latents_hold_all_that_keys_and_values_need():
    attention = v.LatentAttention(24, HEADS, rank=5).double()
    x = noise(2, 6, 24)
    latent = attention.compress(x)
    key, value = attention.keys_and_values(x)
    assert key.shape == value.shape == (2, HEADS, 6, D_K)
    torch.testing.assert_close(key, split_heads(attention.key_projection(latent), HEADS))
    usual = attention(x, x, causal_mask(6))
    torch.testing.assert_close(attention.look_up_latents(x, latent, causal_mask(6)), usual)
    kept = latent.numel() * latent.element_size()
    assert kept == 2 * 6 * v.latent_bytes_per_token(1, rank=5, rotary=0, bytes_of_one=8)


def test_latents_of_deepseek_v3_need_a_fifty_seventh():
    ours = v.latent_bytes_per_token(layers=61, rank=512, rotary=64)
    assert ours == 70_272
    assert v.cache_bytes_per_token(layers=61, groups=128, d_k=128) / ours == pytest.approx(
        56.9, 0.01
    )


def test_windows_between_whole_layers_keep_fewer_tokens():
    assert v.cached_tokens(100, layers=12, window=10, every=6) == 2 * 100 + 10 * 10
    assert v.cached_tokens(7, layers=12, window=10, every=6) == 12 * 7
    assert v.cached_tokens(100, layers=12, window=10, every=1) == 12 * 100


# The delta rule


def delta_inputs(tokens=7):
    query, key = (nn.functional.normalize(noise(2, tokens, 4, seed=s), dim=-1) for s in (1, 2))
    value = noise(2, tokens, 3, seed=3)
    keep, rate = (noise(2, tokens, seed=seed).sigmoid() for seed in (4, 5))
    return query, key, value, keep, rate


def read(*given):
    state, outputs = torch.zeros(2, 4, 3, dtype=torch.float64), []
    for token in range(given[0].shape[1]):
        output, state = v.delta_rule_step(*(x[:, token] for x in given), state)
        outputs.append(output)
    return torch.stack(outputs, dim=1), state


def test_the_state_is_multiplied_by_a_matrix_and_takes_a_product_in():
    """Equation 10 of Yang et al. (2024), transposed, written out."""
    query, key, value, keep, rate = delta_inputs()
    state = torch.zeros(2, 4, 3, dtype=torch.float64)
    for t in range(7):
        for row in range(2):
            k, b = key[row, t], rate[row, t]
            forget = keep[row, t] * (torch.eye(4) - b * torch.outer(k, k))
            state[row] = forget @ state[row] + b * torch.outer(k, value[row, t])
    torch.testing.assert_close(read(query, key, value, keep, rate)[1], state)


def test_with_a_rate_of_one_the_key_finds_its_newest_value():
    _, key, value, keep, rate = delta_inputs()
    key = key[:, :1].expand_as(key)
    outputs, _ = read(key, key, value, keep, torch.ones_like(rate))
    torch.testing.assert_close(outputs, value)


def test_the_delta_rule_is_that_of_qwen():
    qwen = pytest.importorskip("transformers.models.qwen3_next.modeling_qwen3_next")
    query, key, value, keep, rate = delta_inputs()
    one_head = [x[:, :, None] for x in (query * 4**0.5, key, value, keep.log(), rate)]
    theirs, state = qwen.torch_recurrent_gated_delta_rule(*one_head, output_final_state=True)
    ours, our_state = read(query, key, value, keep, rate)
    torch.testing.assert_close(ours.float(), theirs[:, :, 0].float(), rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(our_state.float(), state[:, 0].float(), rtol=1e-4, atol=1e-5)


def test_delta_attention_looks_back_only_and_keeps_as_much_as_its_keys_say():
    torch.manual_seed(0)
    attention = v.DeltaAttention(24, HEADS, key_features=3).double()
    x = noise(2, 6, 24)
    changed = x.clone()
    changed[:, 4] += 1
    before, after = attention(x, x), attention(changed, changed)
    assert before.shape == x.shape
    torch.testing.assert_close(before[:, :4], after[:, :4])
    assert (before[:, 4:] - after[:, 4:]).abs().amax(dim=(0, 2)).min() > 1e-4
    assert attention.queries(x).shape == (2, HEADS, 6, 3)


# Scores


def test_normed_queries_and_keys_may_be_as_long_as_they_like():
    attend = v.NormedAttention(D_K).double()
    query, key, value = (noise(2, HEADS, 7, D_K, seed=seed) for seed in range(3))
    usual = attend(query, key, value, None)
    longer = attend(100 * query, 10 * key, value, None)
    torch.testing.assert_close(longer, usual, atol=1e-4, rtol=0)
    expected = fused_attention(*(v.rms_norm(x, torch.ones(D_K)) for x in (query, key)), value)
    torch.testing.assert_close(usual, expected)


def test_a_sink_is_one_more_score_in_the_denominator():
    attend = v.SinkAttention(HEADS).double()
    randomise(attend)
    query, key = noise(2, HEADS, 6, D_K, seed=1), noise(2, HEADS, 6, D_K, seed=2)
    shares = (query @ key.transpose(-2, -1) / math.sqrt(D_K)).masked_fill(
        ~causal_mask(6), -math.inf
    )
    shares = shares.exp()
    sink = attend.sink.exp()[:, None, None]
    weights = weights_of(attend, query, key, causal_mask(6))
    torch.testing.assert_close(weights, shares / (shares.sum(-1, keepdim=True) + sink))


def test_the_sink_is_that_of_gpt_oss():
    gpt_oss = pytest.importorskip("transformers.models.gpt_oss.modeling_gpt_oss")
    attend = v.SinkAttention(HEADS).double()
    randomise(attend)
    query, key, value = (noise(2, HEADS, 7, D_K, seed=seed) for seed in range(3))
    theirs = SimpleNamespace(num_key_value_groups=1, sinks=attend.sink, training=False)
    output, _ = gpt_oss.eager_attention_forward(theirs, query, key, value, None, D_K**-0.5)
    torch.testing.assert_close(attend(query, key, value), output.transpose(1, 2))


# Experts


def test_a_token_goes_to_the_experts_with_the_highest_scores():
    weights, load = v.route(torch.tensor([[1.0, 3, 2, 0], [0, 1, 3, 2]]), active=2)
    first = torch.tensor([3.0, 2]).softmax(0)
    torch.testing.assert_close(weights[0], torch.tensor([0, first[0], first[1], 0]))
    torch.testing.assert_close(load, torch.tensor([0, 0.25, 0.5, 0.25]))


@pytest.mark.parametrize("active", [0, 5])
def test_a_token_goes_through_one_expert_or_more_of_those_there_are(active):
    with pytest.raises(ValueError, match=f"from 1 to 4 experts; got {active}"):
        v.route(torch.zeros(2, 4), active)


def test_the_router_is_that_of_gpt_oss():
    gpt_oss = pytest.importorskip("transformers.models.gpt_oss.modeling_gpt_oss")
    config = SimpleNamespace(num_experts_per_tok=3, num_local_experts=8, hidden_size=5)
    router = gpt_oss.GptOssTopKRouter(config)
    randomise(router)
    logits, scores, chosen = router(noise(20, 5).float())
    weights, load = v.route(logits, active=3)
    torch.testing.assert_close(weights.gather(1, chosen), scores)
    torch.testing.assert_close(load, chosen.flatten().bincount(minlength=8) / 60)


def experts(active=2):
    torch.manual_seed(0)
    return v.Experts(6, 4, active, lambda: v.SwiGLU(6, 12)).double()


def test_experts_compute_in_16_bits_where_autocast_asks_for_it():
    torch.manual_seed(0)
    experts, x = v.Experts(8, 4, 2, lambda: FeedForward(8, 16)), torch.randn(2, 3, 8)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        said = experts(x)
    torch.testing.assert_close(said.float(), experts(x), rtol=0, atol=0.05)


def test_experts_add_up_what_the_chosen_networks_say():
    mixed, x = experts(), noise(2, 5, 6)
    weights, _ = v.route(mixed.router(x).flatten(0, 1), 2)
    said = torch.stack([expert(x) for expert in mixed.experts], dim=-1)
    expected = (said * weights.view(2, 5, 1, 4)).sum(-1)
    torch.testing.assert_close(mixed(x), expected)


def test_few_of_the_weights_that_are_held_are_used():
    one = sum(weight.numel() for weight in v.SwiGLU(6, 12).parameters())
    assert experts().weights_held_and_used() == (4 * one + 24, 2 * one + 24)
    assert sum(weight.numel() for weight in experts().parameters()) == 4 * one + 24


def test_imbalance_is_one_where_all_are_used_alike_and_grows_with_preference():
    mixed, x = experts(active=4), noise(2, 5, 6)
    mixed(x)
    assert mixed.imbalance.item() == pytest.approx(1)
    mixed = experts(active=1)
    nn.init.zeros_(mixed.router.weight)
    mixed.router.weight.data[0] = 30 * x[0, 0]
    mixed(x[:1, :1])
    assert mixed.imbalance.item() == pytest.approx(4, abs=0.01)
    assert mixed.load.tolist() == [1, 0, 0, 0]


# A decoder alone


def language_model(**sizes):
    torch.manual_seed(0)
    network = v.DecoderOnly(VOCAB, d_model=24, heads=4, layers=2, d_ff=32, max_len=12, **sizes)
    randomise(network)
    return network.double().eval()


def test_no_token_depends_on_a_later_one():
    network, ids = language_model(), random_ids(2, 8)
    changed = ids.clone()
    changed[:, 5] = ids[:, 5] % 12 + 1
    before, after = network(ids), network(changed)
    torch.testing.assert_close(before[:, :5], after[:, :5])
    assert not torch.allclose(before[:, 5], after[:, 5])


def test_padding_after_a_text_changes_nothing():
    network, ids = language_model(), ragged_ids(3, 8)
    together = network(ids)
    for row in range(3):
        alone = network(ids[row : row + 1, : 8 - row])
        torch.testing.assert_close(together[row : row + 1, : 8 - row], alone)


def test_it_has_no_cross_attention_and_one_table():
    network = language_model()
    attentions = [m for m in network.modules() if isinstance(m, MultiHeadAttention)]
    assert len(attentions) == 2
    assert network.output.weight is network.embeddings.table.weight
    larger = sum(p.numel() for p in Transformer(small_model().config).parameters())
    assert sum(p.numel() for p in network.parameters()) < larger


def test_unlike_prompts_are_completed_as_if_alone():
    network, eos = language_model(), 1
    prompts = ragged_ids(3, 5, seed=3) + (ragged_ids(3, 5, seed=3) > PAD)  # no end token inside
    prompts = torch.where(prompts == VOCAB, 2, prompts)
    together = network.complete(prompts, eos, max_length=10)
    for row, prompt in enumerate(prompts):
        alone = network.complete(prompt[prompt != PAD][None], eos, max_length=10)[0]
        ours = together[row]
        assert ours[ours != PAD].tolist() == alone[alone != PAD].tolist()
        assert ours[: (prompt != PAD).sum()].tolist() == prompt[prompt != PAD].tolist()


def test_texts_end_with_the_end_token_and_padding():
    network, said = language_model(), iter([[3, 4], [1, 5], [6, 1], [7, 8]])

    def choose(logits):
        assert logits.shape == (2, VOCAB)
        return torch.tensor(next(said))

    texts = network.complete(torch.tensor([[2], [2]]), 1, 12, choose)
    assert texts.tolist() == [[2, 3, 1, PAD], [2, 4, 5, 1]]


def test_a_prompt_may_hold_the_end_token():
    network = language_model()
    prompt = torch.tensor([[5, 1, 6, 7]])
    texts = network.complete(prompt, 1, 6, lambda logits: torch.tensor([4]))
    assert texts.tolist() == [[5, 1, 6, 7, 4, 4]]


@pytest.mark.parametrize(("buckets", "farthest"), [(2, 128), (32, 8), (32, 4)])
def test_buckets_that_cannot_be_are_refused(buckets: int, farthest: int) -> None:
    with pytest.raises(ValueError, match="half of each side's buckets"):
        v.t5_buckets(torch.arange(9), buckets, farthest)
