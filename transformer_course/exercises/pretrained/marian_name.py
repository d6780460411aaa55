"""Where each of our weights is in a published file."""

from transformer_course.checker.cases import Case
from transformer_course.checker.exercise import exercise
from transformer_course.pretrained import names


def _under(start: str, *ends: str) -> list[Case]:
    return [Case((f"{start}.{end}",)) for end in ends]


@exercise(
    reference=names.marian_name,
    cases=[
        Case(("source_embeddings.table.weight",)),
        *_under(
            "encoder.layers.0",
            "self_attention.query_projection.weight",
            "self_attention.output_projection.bias",
            "feed_forward.expand.weight",
            "add_norm_attention.norm.gain",
            "add_norm_feed_forward.norm.bias",
        ),
        *_under(
            "decoder.layers.12",
            "self_attention.key_projection.weight",
            "cross_attention.value_projection.bias",
            "feed_forward.contract.bias",
            "add_norm_self_attention.norm.gain",
            "add_norm_cross_attention.norm.bias",
            "add_norm_feed_forward.norm.gain",
        ),
    ],
    hints=[
        "Keep a list of pairs, yours and theirs, and go through it with `name.replace(...)`. Which "
        "weight does not fit into that list?",
        "What you replace must not occur inside something that you replace later. "
        "`self_attention` is also a part of `add_norm_self_attention`: which of the two must go "
        "first?",
        'Begin with `("add_norm_attention.norm", "self_attn_layer_norm")` and its three sisters, '
        'then `("self_attention", "self_attn")` and `("cross_attention", "encoder_attn")`, then '
        'the projections, the feed-forward network, and `(".gain", ".weight")`.',
    ],
)
def marian_name(name: str) -> str:
    """Return the name that Marian's file has for a weight of ours."""
    if name.endswith("table.weight"):
        return "model.shared.weight"
    pairs = [
        ("add_norm_attention.norm", "self_attn_layer_norm"),
        ("add_norm_self_attention.norm", "self_attn_layer_norm"),
        ("add_norm_cross_attention.norm", "encoder_attn_layer_norm"),
        ("add_norm_feed_forward.norm", "final_layer_norm"),
        ("self_attention", "self_attn"),
        ("cross_attention", "encoder_attn"),
        ("query_projection", "q_proj"),
        ("key_projection", "k_proj"),
        ("value_projection", "v_proj"),
        ("output_projection", "out_proj"),
        ("feed_forward.expand", "fc1"),
        ("feed_forward.contract", "fc2"),
        (".gain", ".weight"),
    ]
    for ours, theirs in pairs:
        name = name.replace(ours, theirs)
    return "model." + name


# What mistakes in marian_name.toml are made with.


def _six_parts(name: str) -> str:
    _stack, _layers, _number, _part, _inner, _kind = name.split(".")
    return names.marian_name(name)


def _beyond_the_parts(name: str) -> str:
    _part = name.split(".")[3]
    return names.marian_name(name)
