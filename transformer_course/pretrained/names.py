"""What Marian's files call the weights that a Transformer has."""

LAYERS = (
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
)
"""The parts of a layer, ours and theirs, in the order in which they are replaced."""

SHARED_TABLE = "model.shared.weight"
TABLES = {
    "source_embeddings.table.weight": "model.encoder.embed_tokens.weight",
    "target_embeddings.table.weight": "model.decoder.embed_tokens.weight",
}
OUTPUT_BIAS = "final_logits_bias"


def marian_name(name: str, shared: bool = True) -> str:
    """Return the name in Marian's file of a weight of ours.

    Parameters
    ----------
    name
        As in ``named_parameters()`` of a Transformer.
    shared
        Whether source, target and output share one table.
    """
    if name in TABLES:
        return SHARED_TABLE if shared else TABLES[name]
    if name == "output.bias":
        return OUTPUT_BIAS
    for ours, theirs in LAYERS:
        name = name.replace(ours, theirs)
    return f"model.{name}"
