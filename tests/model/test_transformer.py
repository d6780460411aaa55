import copy
import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from transformer_course.costs import memory_summary, parameter_summary
from transformer_course.model import (
    Embeddings,
    Encoder,
    EncoderLayer,
    LearnedPositionalEncoding,
    MultiHeadAttention,
    SinusoidalPositionalEncoding,
    Transformer,
    TransformerConfig,
    capture_attention,
    evaluating,
)
from transformer_course.model.torch_weights import load_torch_weights, torch_transformer

from .small import (
    PAD,
    SMALL,
    VOCAB,
    both_norm_orders,
    new_model,
    noise,
    ragged_ids,
    random_ids,
    randomise,
    small_model,
)

every_tying = pytest.mark.parametrize("tying", ["three_way", "two_way", "none"])


def loss_of(model: Transformer, source: Tensor, target: Tensor) -> Tensor:
    logits = model(source, target).float()
    return F.cross_entropy(logits.flatten(0, 1), target.flatten())


# Equal to torch


@both_norm_orders
@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float64, 1e-10), (torch.float32, 1e-5)])
def test_weights_of_torch_give_the_output_of_torch(
    norm_first: bool, dtype: torch.dtype, tolerance: float
) -> None:
    ours = small_model(norm_first=norm_first).to(dtype)
    theirs = torch_transformer(ours.config).to(dtype).eval()
    randomise(theirs)
    load_torch_weights(ours, theirs)
    source, target = ragged_ids(3, 5, seed=1), ragged_ids(3, 7, seed=2)
    padded = {"src": source == PAD, "tgt": target == PAD, "memory": source == PAD}
    expected = theirs(
        ours.source_positions(ours.source_embeddings(source)),
        ours.target_positions(ours.target_embeddings(target)),
        tgt_mask=torch.ones(7, 7, dtype=torch.bool).triu(1),
        **{f"{name}_key_padding_mask": mask for name, mask in padded.items()},
    )
    torch.testing.assert_close(ours(source, target), ours.output(expected), rtol=0, atol=tolerance)


# Numbers


def test_defaults_are_the_base_model_of_the_paper() -> None:
    with torch.device("meta"):
        model = Transformer(TransformerConfig())
    summary = parameter_summary(model)
    assert summary == {
        "encoder": 6 * 3_152_384,
        "decoder": 6 * 4_204_032,
        "source_positions": 0,
        "target_positions": 0,
        "source_embeddings": 37_000 * 512,
        "target_embeddings": 0,
        "output": 0,
        "total": 63_082_496,
    }
    assert model.config.dropout == 0.1
    assert model.config.norm_first is False


def test_pre_norm_adds_a_final_norm_to_each_stack() -> None:
    post, pre = (parameter_summary(new_model(norm_first=order)) for order in (False, True))
    final_norm = 2 * SMALL.d_model
    assert pre["encoder"] - post["encoder"] == final_norm
    assert pre["decoder"] - post["decoder"] == final_norm


@every_tying
def test_parameter_summary_counts_a_shared_table_once(tying: str) -> None:
    summary, table = parameter_summary(new_model(tying=tying)), VOCAB * SMALL.d_model
    tables = [summary[part] for part in ("source_embeddings", "target_embeddings", "output")]
    expected = {"three_way": [table, 0, 0], "two_way": [table, table, 0], "none": [table] * 3}
    assert tables == expected[tying]
    model = new_model(tying=tying)
    assert summary["total"] == sum(p.numel() for p in model.parameters())


def test_vocabularies_may_differ_without_three_way_tying() -> None:
    model = small_model(source_vocab=9, target_vocab=17, tying="two_way")
    logits = model(torch.tensor([[8, 1]]), torch.tensor([[16, 1, 2]]))
    assert logits.shape == (1, 3, 17)


@every_tying
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_memory_summary_matches_real_tensors(tying: str, dtype: torch.dtype) -> None:
    model = new_model(tying=tying, decoder_layers=3).to(dtype)
    optimiser = torch.optim.Adam(model.parameters())
    source, target = random_ids(3, 5), random_ids(3, 7)
    with capture_attention(model) as maps:
        logits = model(source, target)
    logits.square().mean().backward()
    optimiser.step()

    tables = {p.untyped_storage().data_ptr(): p for p in model.parameters()}.values()
    means = [
        state[mean] for state in optimiser.state.values() for mean in ("exp_avg", "exp_avg_sq")
    ]
    assert memory_summary(model, batch=3, source=5, target=7) == {
        "weights": sum(p.nbytes for p in tables),
        "gradients": sum(p.grad.nbytes for p in tables),
        "Adam's running means": sum(mean.nbytes for mean in means),
        "attention weights (textbook path)": sum(weights.nbytes for weights in maps.values()),
        "logits": logits.nbytes,
    }


# Embeddings and tying


def test_embeddings_are_rows_of_the_table_times_the_root_of_d_model() -> None:
    embeddings = Embeddings(vocab=11, d_model=16, pad_id=3)
    ids = torch.tensor([[1, 3, 10]])
    torch.testing.assert_close(embeddings(ids)[0], 4 * embeddings.table.weight[[1, 3, 10]])


def test_embeddings_start_with_variance_1_and_padding_at_0() -> None:
    torch.manual_seed(0)
    padding, *words = Embeddings(vocab=1000, d_model=64, pad_id=0)(torch.arange(1000)[None])[0]
    assert (padding == 0).all()
    assert torch.stack(words).std().item() == pytest.approx(1, rel=0.02)


def test_padding_is_never_trained_by_a_look_up() -> None:
    embeddings = Embeddings(vocab=11, d_model=16, pad_id=3)
    embeddings(torch.tensor([[1, 3, 10]])).sum().backward()
    trained = embeddings.table.weight.grad.any(dim=1)
    assert trained.nonzero().flatten().tolist() == [1, 10]


def tables_of(model: Transformer) -> tuple[Tensor, Tensor, Tensor]:
    return (
        model.source_embeddings.table.weight,
        model.target_embeddings.table.weight,
        model.output.weight,
    )


def assert_tied(model: Transformer, tying: str) -> None:
    source, target, output = tables_of(model)
    assert (source is target) == (tying == "three_way")
    assert (target is output) == (tying != "none")
    assert (source is output) == (tying == "three_way")


@every_tying
def test_tying_shares_exactly_the_right_tables(tying: str) -> None:
    assert_tied(new_model(tying=tying), tying)


@every_tying
def test_tying_survives_loading_copying_and_a_step(tying: str) -> None:
    trained, model = new_model(seed=1, tying=tying), new_model(seed=2, tying=tying)
    model.load_state_dict(trained.state_dict())
    assert_tied(model, tying)
    assert all(map(torch.equal, tables_of(model), tables_of(trained)))
    assert_tied(copy.deepcopy(model).double(), tying)

    optimiser = torch.optim.SGD(model.parameters(), lr=1.0)
    loss_of(model, random_ids(3, 5), random_ids(3, 7)).backward()
    optimiser.step()
    assert_tied(model, tying)
    assert not any(map(torch.equal, tables_of(model), tables_of(trained)))


def test_linear_layers_start_at_the_scale_of_xavier_without_bias() -> None:
    model = new_model(d_model=64, d_ff=256)
    linear_layers = [
        m for m in model.modules() if isinstance(m, nn.Linear) and m is not model.output
    ]
    assert len(linear_layers) == 2 * (4 + 2) + 2 * (4 + 4 + 2)
    for linear in linear_layers:
        xavier = math.sqrt(2 / (linear.in_features + linear.out_features))
        assert linear.weight.std().item() == pytest.approx(xavier, rel=0.05)
        assert (linear.bias == 0).all()


@every_tying
@both_norm_orders
def test_training_starts_near_the_loss_of_guessing(tying: str, norm_first: bool) -> None:
    # Logits of variance 1 cost about half a nat more than guessing; N(0, 1) tables cost 60.
    torch.manual_seed(0)
    vocab = 1000
    sizes = {"source_vocab": vocab, "target_vocab": vocab, "d_model": 64}
    model = Transformer(replace(SMALL, **sizes, tying=tying, norm_first=norm_first))
    source, target = torch.randint(1, vocab, (8, 10)), torch.randint(1, vocab, (8, 10))
    following = torch.randint(1, vocab, (8, 10))
    loss = F.cross_entropy(model(source, target).flatten(0, 1), following.flatten())
    assert abs(loss.item() - math.log(vocab)) < 1


@pytest.mark.parametrize(
    ("positions", "encoding_class"),
    [("sinusoidal", SinusoidalPositionalEncoding), ("learned", LearnedPositionalEncoding)],
)
def test_positions_choose_the_encoding(positions: str, encoding_class: type) -> None:
    model = new_model(positions=positions)
    assert type(model.source_positions) is encoding_class
    assert type(model.target_positions) is encoding_class


# Behaviour


def test_model_gives_the_same_in_eval_and_follows_the_seed_in_training() -> None:
    model, source, target = new_model(dropout=0.3), random_ids(3, 5), random_ids(3, 7)

    def run(seed: int) -> Tensor:
        torch.manual_seed(seed)
        return model(source, target)

    assert run(1).equal(run(1))
    assert not run(1).equal(run(2))
    model.eval()
    assert run(1).equal(run(2))


def test_source_and_target_have_dropout_on_the_embeddings_and_every_sublayer() -> None:
    model = new_model(dropout=0.3)
    dropouts = [m for m in model.modules() if isinstance(m, nn.Dropout)]
    assert len(dropouts) == 2 + 2 * SMALL.encoder_layers + 3 * SMALL.decoder_layers
    assert {dropout.p for dropout in dropouts} == {0.3}


def test_forward_is_encode_then_decode() -> None:
    model, source, target = small_model(), ragged_ids(3, 5), ragged_ids(3, 7)
    memory = model.encode(source)
    assert memory.shape == (3, 5, SMALL.d_model)
    assert model.decode(target, memory, source).equal(model(source, target))


def test_source_and_target_have_embeddings_of_their_own_without_tying() -> None:
    model, source, target = small_model(tying="none"), random_ids(3, 5), random_ids(3, 7)
    memory, logits = model.encode(source), model(source, target)
    with torch.no_grad():
        model.target_embeddings.table.weight += 1
    assert model.encode(source).equal(memory)
    assert not model(source, target).equal(logits)


def test_any_id_may_be_the_padding() -> None:
    model = small_model(pad_id=7)
    with capture_attention(model) as maps:
        model(torch.tensor([[1, 0, 7]]), torch.tensor([[7, 0, 1]]))
    seen_by_last_token = {path: (weights[0, 0, -1] > 0).tolist() for path, weights in maps.items()}
    assert seen_by_last_token["encoder.layers.0.self_attention"] == [True, True, False]
    assert seen_by_last_token["decoder.layers.0.cross_attention"] == [True, True, False]
    assert seen_by_last_token["decoder.layers.0.self_attention"] == [False, True, True]


def test_ids_may_be_32_bit() -> None:
    model, source, target = small_model(), random_ids(3, 5), random_ids(3, 7)
    assert model(source.int(), target.int()).equal(model(source, target))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
@both_norm_orders
def test_sentences_of_only_padding_give_no_nan(norm_first: bool, dtype: torch.dtype) -> None:
    model = new_model(norm_first=norm_first).to(dtype)
    source, target = ragged_ids(3, 5), ragged_ids(3, 7)
    source[0], target[1], source[2], target[2] = PAD, PAD, PAD, PAD
    logits = model(source, target)
    loss_of(model, source, target).backward()
    assert logits.dtype == dtype
    assert logits.isfinite().all()
    assert all(p.grad.isfinite().all() for p in model.parameters())


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@both_norm_orders
def test_half_precision_stays_near_single(norm_first: bool, dtype: torch.dtype) -> None:
    model, source, target = new_model(norm_first=norm_first), ragged_ids(3, 5), ragged_ids(3, 7)
    exact = model(source, target)
    half = copy.deepcopy(model).to(dtype)(source, target)
    torch.testing.assert_close(half.float(), exact, rtol=0, atol=0.1)


# Bad input

BAD_CONFIGS: list[tuple[dict[str, Any], str]] = [
    *(
        ({name: size}, f"{name} must be a whole number of at least 1; got {size!r}")
        for name in (
            "source_vocab",
            "target_vocab",
            "d_model",
            "heads",
            "encoder_layers",
            "decoder_layers",
            "d_ff",
            "max_len",
        )
        for size in (0, -2, 2.5, "8")
    ),
    ({"dropout": 1.0}, r"dropout must be in \[0, 1\); got 1.0"),
    ({"dropout": -0.1}, r"dropout must be in \[0, 1\); got -0.1"),
    ({"dropout": math.nan}, r"dropout must be in \[0, 1\); got nan"),
    ({"pad_id": -1}, "pad_id must be in both vocabularies, of 13 and 13 tokens; got -1"),
    ({"pad_id": 13}, "got 13"),
    (
        {"source_vocab": 20, "tying": "two_way", "pad_id": 13},
        "both vocabularies, of 20 and 13 tokens; got 13",
    ),
    (
        {"positions": "rotary"},
        r"positions must be one of \['sinusoidal', 'learned'\]; got 'rotary'",
    ),
    ({"positions": []}, "positions must be one of"),
    ({"tying": "all"}, r"tying must be one of \['three_way', 'two_way', 'none'\]; got 'all'"),
    (
        {"source_vocab": 20},
        "one vocabulary for both languages; got source_vocab=20, target_vocab=13. Use tying='two_",
    ),
]


@pytest.mark.parametrize(("settings", "message"), BAD_CONFIGS, ids=[str(s) for s, _ in BAD_CONFIGS])
@pytest.mark.usefixtures("unchecked_signatures")
def test_config_that_makes_no_sense_is_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        replace(SMALL, **settings)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"d_model": 15, "heads": 3}, "positive even number.*got 15. Use 16"),
        ({"heads": 5}, "divisible by heads.*d_model=24, heads=5. Change one of them"),
    ],
)
def test_sizes_that_do_not_fit_together_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        new_model(**settings)


def encode(model: Transformer, ids: Tensor) -> Tensor:
    return model.encode(ids)


def decode(model: Transformer, ids: Tensor) -> Tensor:
    source = torch.ones(max(1, len(ids)), 4, dtype=torch.long)
    return model.decode(ids, model.encode(source), source)


either_side = pytest.mark.parametrize(
    ("run", "name"), [(encode, "source_ids"), (decode, "target_ids")], ids=["source", "target"]
)
Run = Callable[[Transformer, Tensor], Tensor]

BAD_IDS = {
    "empty batch": (torch.zeros(0, 4, dtype=torch.long), r"is empty, shape \(0, 4\).*one sentence"),
    "empty sentence": (torch.zeros(2, 0, dtype=torch.long), r"\(2, 0\).*still has its end token"),
    "empty list": (torch.tensor([[]]), r"is empty, shape \(1, 0\)"),
    "no batch axis": (torch.tensor([1, 2]), r"of shape \(2,\). A single .* `ids\[None, :\]`"),
    "too many axes": (torch.ones(1, 2, 3, dtype=torch.long), r"\(batch, length\).*\(1, 2, 3\)"),
    "fractions": (torch.ones(1, 2), r"integers \(torch.long\) of shape.*got torch.float32"),
    "truth values": (torch.ones(1, 2, dtype=torch.bool), "integers .*got torch.bool"),
    "bytes": (torch.ones(1, 2, dtype=torch.uint8), "integers .*got torch.uint8"),
}


@either_side
@pytest.mark.parametrize(("ids", "message"), BAD_IDS.values(), ids=BAD_IDS)
@pytest.mark.usefixtures("unchecked_signatures")
def test_ids_of_the_wrong_kind_are_refused(run: Run, name: str, ids: Tensor, message: str) -> None:
    with pytest.raises(ValueError, match=f"{name} .*{message}"):
        run(small_model(), ids)


@either_side
@pytest.mark.parametrize(
    ("stray", "span"), [(VOCAB, "1 to 13"), (-1, "-1 to 2"), (10**9, "1 to 1000000000")]
)
def test_ids_outside_the_vocabulary_are_refused(run: Run, name: str, stray: int, span: str) -> None:
    message = f"between 0 and 12, .* got ids from {span}.*Encode the text with the vocabulary"
    with pytest.raises(IndexError, match=message):
        run(small_model(), torch.tensor([[1, stray, 2]]))


@pytest.mark.parametrize("positions", ["sinusoidal", "learned"])
@either_side
def test_a_sentence_longer_than_max_len_is_refused(run: Run, name: str, positions: str) -> None:
    model = small_model(positions=positions)
    assert run(model, random_ids(2, SMALL.max_len)).shape[1] == SMALL.max_len
    with pytest.raises(ValueError, match=r"13 positions, .* max_len=12\. Shorten the sequence"):
        run(model, random_ids(2, SMALL.max_len + 1))


@pytest.mark.parametrize(
    ("memory_shape", "source_shape", "target_shape"),
    [
        ((2, 4), (1, 4), (2, 7)),
        ((2, 4), (2, 1), (2, 7)),
        ((2, 4), (2, 5), (2, 7)),
        ((1, 4), (1, 4), (2, 7)),
    ],
    ids=["one source's ids", "one token's ids", "longer ids", "one source, two targets"],
)
@pytest.mark.usefixtures("unchecked_signatures")
def test_memory_and_ids_of_different_sentences_are_refused(
    memory_shape: tuple[int, int], source_shape: tuple[int, int], target_shape: tuple[int, int]
) -> None:
    model, memory = small_model(), noise(*memory_shape, SMALL.d_model)
    with pytest.raises(ValueError, match=r"the same sentences: .*Pass the source_ids"):
        model.decode(random_ids(*target_shape), memory, random_ids(*source_shape))


def test_a_part_in_eval_mode_stays_in_it() -> None:
    model = small_model()
    model.train()
    model.encoder.eval()
    with evaluating(model):
        assert not any(module.training for module in model.modules())
        assert not torch.is_grad_enabled()
    assert model.training and model.decoder.training
    assert not any(module.training for module in model.encoder.modules())


@pytest.mark.parametrize(
    ("norm_first", "layers", "hidden", "said"),
    [
        (False, 1, 32, "torch has 2 tensors in LayerNorm, ours 0; build"),
        (False, 2, 32, "torch has 2 layers, ours 1; build theirs with"),
        (True, 1, 24, r"shape \(24, 16\) do not fit into ours of \(32, 16\)"),
    ],
)
def test_weights_of_another_build_are_refused_before_any_is_copied(
    norm_first: bool, layers: int, hidden: int, said: str
) -> None:
    sizes = {"d_model": 16, "heads": 2, "d_ff": 32, "encoder_layers": 1, "decoder_layers": 1}
    ours = Transformer(TransformerConfig(9, 9, norm_first=norm_first, **sizes))
    theirs = nn.Transformer(16, 2, layers, 1, hidden, batch_first=True)
    for layer in (*theirs.encoder.layers, *theirs.decoder.layers):
        layer.norm_first = norm_first
    before = {name: tensor.clone() for name, tensor in ours.state_dict().items()}
    with pytest.raises(ValueError, match=said):
        load_torch_weights(ours, theirs)
    assert all(before[name].equal(tensor) for name, tensor in ours.state_dict().items())


@pytest.mark.parametrize(
    ("ours", "theirs", "said"),
    [
        (MultiHeadAttention(8, 4), nn.MultiheadAttention(8, 2), "heads is 2 in torch, 4 in ours"),
        (
            EncoderLayer(8, 2, 16),
            nn.TransformerEncoderLayer(8, 2, 16, norm_first=True),
            "norm_first is True in torch, False in ours",
        ),
        (
            EncoderLayer(8, 2, 16),
            nn.TransformerDecoderLayer(8, 2, 16),
            "the two have other parts",
        ),
        (MultiHeadAttention(8, 2), nn.MultiheadAttention(8, 2, bias=False), "other parts"),
        (
            MultiHeadAttention(8, 2),
            nn.MultiheadAttention(8, 2, add_zero_attn=True),
            "add_zero_attn is True in torch",
        ),
        (
            MultiHeadAttention(8, 2),
            nn.MultiheadAttention(8, 2, add_bias_kv=True),
            "add_bias_kv is True in torch",
        ),
        (
            EncoderLayer(8, 2, 16),
            nn.TransformerEncoderLayer(8, 2, 16, activation="gelu"),
            "ReLU as the activation is False in torch",
        ),
        (
            EncoderLayer(8, 2, 16),
            nn.TransformerEncoderLayer(8, 2, 16, layer_norm_eps=1e-2),
            "eps is 0.01 in torch, 1e-05 in ours",
        ),
    ],
)
def test_parts_of_another_build_are_refused(ours: nn.Module, theirs: nn.Module, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        load_torch_weights(ours, theirs)


def test_a_stack_that_ends_without_a_norm_takes_torchs_without_one() -> None:
    theirs = nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16, 0.0, batch_first=True), 1)
    ours, x = Encoder(1, 8, 2, 16, dropout=0.0), torch.randn(2, 3, 8)
    load_torch_weights(ours, theirs)
    torch.testing.assert_close(ours(x), theirs(x))
    with pytest.raises(ValueError, match="tensors in Identity"):
        load_torch_weights(Encoder(1, 8, 2, 16, norm_first=True).norm, nn.Identity())


@pytest.mark.parametrize("pad_id", [-1, 9, 0.5, "0"])
def test_padding_is_an_id_of_both_vocabularies(pad_id: object) -> None:
    with pytest.raises(ValueError, match="pad_id must be in both vocabularies"):
        TransformerConfig(9, 9, pad_id=pad_id)
