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


_SILENT = "Both tensors have the same shape, so nothing will complain when you load them."


def _other_name(name: str, ours: str, old: str, new: str, observed: str, change: str) -> None:
    """Add a mistake that gives a part of ours another name of theirs."""
    marian_name.mistake(
        name,
        edits=[(f'("{ours}", "{old}")', f'("{ours}", "{new}")')],
        observed=observed,
        change=change,
    )


def _swapped(
    name: str, one: tuple[str, str], other: tuple[str, str], observed: str, change: str
) -> None:
    """Add a mistake that gives each of two parts of ours the other's name."""
    edits = [
        (f'("{ours}", "{right}")', f'("{ours}", "{wrong}")')
        for (ours, right), (_, wrong) in ((one, other), (other, one))
    ]
    marian_name.mistake(name, edits=edits, observed=observed, change=change)


# Names that are mistaken for others

marian_name.mistake(
    "the norms of attention and feed-forward network change places in the encoder",
    edits=[
        ('("add_norm_attention.norm", "self_attn', '("add_norm_attention.norm", "final'),
        ('("add_norm_feed_forward.norm", "final', '("add_norm_feed_forward.norm", "self_attn'),
    ],
    observed=f"`final_layer_norm` is the last norm of a layer, after its feed-forward network. "
    f"{_SILENT}",
    change="`add_norm_attention.norm` is `self_attn_layer_norm`, `add_norm_feed_forward.norm` is "
    "`final_layer_norm`.",
)
marian_name.mistake(
    "the decoder's second and third norm change places",
    edits=[
        ('cross_attention.norm", "encoder_attn', 'cross_attention.norm", "final'),
        ('("add_norm_feed_forward.norm", "final', '("add_norm_feed_forward.norm", "encoder_attn'),
    ],
    observed=f"`encoder_attn_layer_norm` is the norm after cross-attention. {_SILENT}",
    change="`add_norm_cross_attention.norm` is `encoder_attn_layer_norm`, and "
    "`add_norm_feed_forward.norm` is `final_layer_norm`.",
)
_swapped(
    "self- and cross-attention change places",
    ("self_attention", "self_attn"),
    ("cross_attention", "encoder_attn"),
    observed="Cross-attention is `encoder_attn`: it looks at what the encoder made. In the "
    "decoder all shapes are the same, so nothing complains.",
    change="`self_attention` is `self_attn`, `cross_attention` is `encoder_attn`.",
)
_swapped(
    "the norms after self- and cross-attention change places in the decoder",
    ("add_norm_self_attention.norm", "self_attn_layer_norm"),
    ("add_norm_cross_attention.norm", "encoder_attn_layer_norm"),
    observed=f"`encoder_attn_layer_norm` is the norm after cross-attention. {_SILENT}",
    change="`add_norm_self_attention.norm` is `self_attn_layer_norm`, and "
    "`add_norm_cross_attention.norm` is `encoder_attn_layer_norm`.",
)
marian_name.mistake(
    "the decoder's second and third norm change places, the encoder's are right",
    edits=[
        ('cross_attention.norm", "encoder_attn', 'cross_attention.norm", "final'),
        (
            '("add_norm_feed_forward.norm", "final_layer_norm")',
            '("add_norm_feed_forward.norm", "final_layer_norm" if name[0] == "e" '
            'else "encoder_attn_layer_norm")',
        ),
    ],
    observed=f"`encoder_attn_layer_norm` is the norm after cross-attention. {_SILENT}",
    change="In the decoder, too, `add_norm_feed_forward.norm` is `final_layer_norm`; "
    "`add_norm_cross_attention.norm` is `encoder_attn_layer_norm`.",
)
_swapped(
    "queries and keys change places",
    ("query_projection", "q_proj"),
    ("key_projection", "k_proj"),
    observed=f"The query's projection is looked for in `k_proj`. {_SILENT}",
    change="`query_projection` is `q_proj`, `key_projection` is `k_proj`.",
)
_swapped(
    "keys and values change places",
    ("key_projection", "k_proj"),
    ("value_projection", "v_proj"),
    observed=f"The key's projection is looked for in `v_proj`. {_SILENT}",
    change="`key_projection` is `k_proj`, `value_projection` is `v_proj`.",
)
_swapped(
    "the two layers of the feed-forward network change places",
    ("feed_forward.expand", "fc1"),
    ("feed_forward.contract", "fc2"),
    observed="`fc1` is applied first: it expands.",
    change="`feed_forward.expand` is `fc1`, `feed_forward.contract` is `fc2`.",
)
marian_name.mistake(
    "all norms of the encoder's attention are the feed-forward network's",
    edits=[('("add_norm_attention.norm", "self_attn', '("add_norm_attention.norm", "final')],
    observed=f"Both norms of an encoder layer are looked for in `final_layer_norm`. {_SILENT}",
    change="`add_norm_attention.norm` is `self_attn_layer_norm`.",
)

# Words that are not theirs

_other_name(
    "cross-attention keeps its name",
    "cross_attention",
    "encoder_attn",
    "cross_attn",
    "The file has no `cross_attn`.",
    "In the file cross-attention is called `encoder_attn`.",
)
_other_name(
    "the output projection is called o_proj",
    "output_projection",
    "out_proj",
    "o_proj",
    "The file has no `o_proj`.",
    "In the file it is called `out_proj`.",
)
_other_name(
    "the norm after cross-attention is called cross_attn_layer_norm",
    "add_norm_cross_attention.norm",
    "encoder_attn_layer_norm",
    "cross_attn_layer_norm",
    "The file has no `cross_attn_layer_norm`.",
    "In the file it is called `encoder_attn_layer_norm`.",
)
_other_name(
    "the norm after cross-attention has the name of self-attention's",
    "add_norm_cross_attention.norm",
    "encoder_attn_layer_norm",
    "self_attn_layer_norm",
    f"Two norms of a decoder layer are looked for in `self_attn_layer_norm`. {_SILENT}",
    "In the file the norm after cross-attention is called `encoder_attn_layer_norm`.",
)
_other_name(
    "the output projection is called output_proj",
    "output_projection",
    "out_proj",
    "output_proj",
    "The file has no `output_proj`.",
    "In the file it is called `out_proj`.",
)
marian_name.mistake(
    "the projections keep their first words",
    edits=[
        ('"q_proj"', '"query_proj"'),
        ('"k_proj"', '"key_proj"'),
        ('"v_proj"', '"value_proj"'),
        ('"out_proj"', '"output_proj"'),
    ],
    observed="The file has no `query_proj`, `key_proj`, `value_proj` and `output_proj`.",
    change="In the file they are called `q_proj`, `k_proj`, `v_proj` and `out_proj`.",
)
marian_name.mistake(
    "`feed_forward` stays in front of fc1 and fc2",
    edits=[
        ('("feed_forward.expand"', '("expand"'),
        ('("feed_forward.contract"', '("contract"'),
    ],
    observed="In the file `fc1` and `fc2` belong to the layer itself; your names say "
    "`feed_forward.fc1`.",
    change='Replace `"feed_forward.expand"` and `"feed_forward.contract"` as a whole.',
)
marian_name.mistake(
    "cross-attention and its norm are called cross_attn",
    edits=[
        ('("cross_attention", "encoder_attn")', '("cross_attention", "cross_attn")'),
        ('"encoder_attn_layer_norm"', '"cross_attn_layer_norm"'),
    ],
    observed="The file has no `cross_attn`.",
    change="In the file cross-attention is called `encoder_attn`, and its norm "
    "`encoder_attn_layer_norm`.",
)
_other_name(
    "the gain keeps its name",
    ".gain",
    ".weight",
    ".gain",
    "The file has no name that ends in `gain`: torch calls a layer norm's gain its weight.",
    'Replace `".gain"` by `".weight"`.',
)
_other_name(
    "the gain loses its dot",
    ".gain",
    ".weight",
    "weight",
    "The name ends in `layer_normweight`.",
    'Replace `".gain"` by `".weight"`.',
)
_other_name(
    "the feed-forward network's norm has a word too many",
    "add_norm_feed_forward.norm",
    "final_layer_norm",
    "final_layer_norm.norm",
    "In the file a norm is one part, `final_layer_norm.weight`; your name goes on with `.norm`.",
    'Replace `"add_norm_feed_forward.norm"` as a whole, with its `.norm`.',
)
marian_name.mistake(
    "all norms have a word too many",
    edits=[
        ('("add_norm_attention.norm"', '("add_norm_attention"'),
        ('("add_norm_self_attention.norm"', '("add_norm_self_attention"'),
        ('("add_norm_cross_attention.norm"', '("add_norm_cross_attention"'),
        ('("add_norm_feed_forward.norm"', '("add_norm_feed_forward"'),
    ],
    observed="In the file a norm is one part, such as `final_layer_norm.weight`; your names go on "
    "with `.norm`.",
    change="Replace `add_norm_...` with its `.norm`.",
)
_other_name(
    "the feed-forward network's norm is called fc_layer_norm",
    "add_norm_feed_forward.norm",
    "final_layer_norm",
    "fc_layer_norm",
    "The file has no `fc_layer_norm`.",
    "In the file the last norm of a layer is called `final_layer_norm`.",
)
_other_name(
    "the feed-forward network's norm is called feed_forward_layer_norm",
    "add_norm_feed_forward.norm",
    "final_layer_norm",
    "feed_forward_layer_norm",
    "The file has no `feed_forward_layer_norm`.",
    "In the file the last norm of a layer is called `final_layer_norm`.",
)
marian_name.mistake(
    "every name ends in `.weight`",
    edits=[('"model." + name', '"model." + name.replace(".bias", ".weight")')],
    observed="A bias gets the name of the weight beside it.",
    change="Only `.gain` becomes `.weight`; `.bias` stays.",
)

# What is forgotten

marian_name.mistake(
    "the encoder's first norm is forgotten",
    edits=[('        ("add_norm_attention.norm", "self_attn_layer_norm"),\n', "")],
    observed="In an encoder layer that norm is called `add_norm_attention`, not "
    "`add_norm_self_attention`, and keeps its name.",
    change='Add the pair `("add_norm_attention.norm", "self_attn_layer_norm")`.',
)
marian_name.mistake(
    "the encoder's first norm stays as it is",
    edits=[("in pairs:", 'in pairs if "add_norm_attention" not in name else []:')],
    observed="In an encoder layer that norm is called `add_norm_attention`, not "
    "`add_norm_self_attention`, and your list has no entry for it.",
    change='Add the pair `("add_norm_attention.norm", "self_attn_layer_norm")`.',
)
marian_name.mistake(
    "the feed-forward network's norm is forgotten",
    edits=[('        ("add_norm_feed_forward.norm", "final_layer_norm"),\n', "")],
    observed="The last norm of a layer keeps its name.",
    change='Add the pair `("add_norm_feed_forward.norm", "final_layer_norm")`.',
)
marian_name.mistake(
    "`model.` is missing",
    edits=[('"model." + name', "name")],
    observed="In the file all these names begin with `model.`.",
    change='Return `"model." + name`.',
)
marian_name.mistake(
    "the shared table gets `model.` alone",
    edits=[('"model.shared.weight"', '"model." + name')],
    observed="The file has no `model.source_embeddings.table.weight`.",
    change="All three tables are one: return `model.shared.weight` for a name that ends in "
    "`table.weight`.",
)
marian_name.mistake(
    "the table is looked for in the encoder",
    edits=[('"model.shared.weight"', '"model.encoder.embed_tokens.weight"')],
    observed="This file has no `embed_tokens`: its table is stored once, for both languages.",
    change="Return `model.shared.weight`.",
)
marian_name.mistake(
    "the shared table has no `.weight`",
    edits=[('"model.shared.weight"', '"model.shared"')],
    observed="`model.shared` is the part; the tensor in it is `model.shared.weight`.",
    change="Return `model.shared.weight`.",
)

marian_name.mistake(
    "the shared table has a word too many",
    edits=[('"model.shared.weight"', '"model.shared.table.weight"')],
    observed="`table` is a word of ours: the file has no `model.shared.table.weight`.",
    change="Return `model.shared.weight`.",
)
marian_name.mistake(
    "the shared table has no `model.`",
    edits=[('"model.shared.weight"', '"shared.weight"')],
    observed="In the file all names that are wanted begin with `model.`, that of the table too.",
    change="Return `model.shared.weight`.",
)
marian_name.mistake(
    "the table is looked for in the decoder",
    edits=[('"model.shared.weight"', '"model.decoder.embed_tokens.weight"')],
    observed="This file has no `embed_tokens`: its table is stored once, for both languages.",
    change="Return `model.shared.weight`.",
)

# The order in which names are replaced

marian_name.mistake(
    "self_attention is replaced before add_norm_self_attention",
    edits=[
        ('        ("self_attention", "self_attn"),\n', ""),
        ("    pairs = [\n", '    pairs = [\n        ("self_attention", "self_attn"),\n'),
    ],
    observed="`add_norm_self_attention.norm` becomes `add_norm_self_attn.norm` first, and what "
    "should replace it finds it no longer.",
    change="Put the pairs with `add_norm` in front.",
)
marian_name.mistake(
    "cross_attention is replaced before add_norm_cross_attention",
    edits=[
        ('        ("cross_attention", "encoder_attn"),\n', ""),
        ("    pairs = [\n", '    pairs = [\n        ("cross_attention", "encoder_attn"),\n'),
    ],
    observed="`add_norm_cross_attention.norm` becomes `add_norm_encoder_attn.norm` first, and what "
    "should replace it finds it no longer.",
    change="Put the pairs with `add_norm` in front.",
)
marian_name.mistake(
    "both attentions are replaced before the norms",
    edits=[
        ('        ("self_attention", "self_attn"),\n', ""),
        ('        ("cross_attention", "encoder_attn"),\n', ""),
        (
            "    pairs = [\n",
            '    pairs = [\n        ("self_attention", "self_attn"),\n'
            '        ("cross_attention", "encoder_attn"),\n',
        ),
    ],
    observed="`add_norm_cross_attention.norm` becomes `add_norm_encoder_attn.norm` first, and what "
    "should replace it finds it no longer.",
    change="Put the pairs with `add_norm` in front.",
)
marian_name.mistake(
    "only the first pair that fits is replaced",
    edits=[
        (
            "name = name.replace(ours, theirs)",
            'if ours in name:\n            return "model." + name.replace(ours, theirs)',
        )
    ],
    observed="`self_attention.query_projection` becomes `self_attn.query_projection`: the loop "
    "returns too early.",
    change="Go through all pairs before you return.",
)

# Which layers there are

marian_name.mistake(
    "names of later layers are None",
    edits=[('"model." + name', '"model." + name if ".12." not in name else None')],
    observed="Layer 0 is right; layer 12 is not in your list, so you return None.",
    change="Take the layer's number from the name: a model may have any number of layers.",
)
marian_name.mistake(
    "names of later layers are not in the list",
    edits=[
        (
            "    for ours, theirs in pairs:\n",
            '    if ".12." in name:\n        raise KeyError(name)\n'
            "    for ours, theirs in pairs:\n",
        )
    ],
    observed="Layer 0 is right; layer 12 stops with a KeyError.",
    change="Take the layer's number from the name: a model may have any number of layers.",
)
marian_name.mistake(
    "only the first digit of a layer's number is kept",
    edits=[('"model." + name', '"model." + name.replace(".12.", ".1.")')],
    observed="Layer 12 becomes layer 1: a number may have more than one digit.",
    change="Split the name at its dots, or write `\\d+` for the number.",
)
marian_name.mistake(
    "what `replace` returns is lost",
    edits=[("name = name.replace(ours, theirs)", "name.replace(ours, theirs)")],
    observed="Our names come back, with `model.` in front: a text never changes, and `replace` "
    "returns a new one.",
    change="Write `name = name.replace(...)`.",
)


def _six_parts(name: str) -> str:
    _stack, _layers, _number, _part, _inner, _kind = name.split(".")
    return names.marian_name(name)


def _beyond_the_parts(name: str) -> str:
    _part = name.split(".")[3]
    return names.marian_name(name)


marian_name.mistake(
    "the shared table's name is taken for a layer's",
    body=_six_parts,
    observed="`source_embeddings.table.weight` has three parts, the name of a layer's weight has "
    "six: they cannot be taken apart in the same way.",
    change='First ask for the table, `if name.endswith("table.weight")`, and return '
    "`model.shared.weight`.",
)
marian_name.mistake(
    "parts are looked for that the shared table's name does not have",
    body=_beyond_the_parts,
    observed="`source_embeddings.table.weight` has three parts, the name of a layer's weight has "
    "six.",
    change='First ask for the table, `if name.endswith("table.weight")`, and return '
    "`model.shared.weight`.",
)
