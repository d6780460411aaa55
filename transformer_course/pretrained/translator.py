"""From Marian's published files to a translator of ours."""

from pathlib import Path

import torch
from torch import Tensor

from transformer_course.model import Transformer
from transformer_course.pretrained.layout import (
    CONFIG_FILE,
    Layout,
    read_layout,
    read_weights,
)
from transformer_course.pretrained.names import OUTPUT_BIAS, TABLES, marian_name
from transformer_course.pretrained.parts import (
    SinesThenCosines,
    use_output_bias,
    use_sines_then_cosines,
    use_swish,
)
from transformer_course.pretrained.tokens import our_order, read_ids, read_tokenizer
from transformer_course.translation.checkpoints import CheckpointError
from transformer_course.translation.corpora.vocabulary import BOS
from transformer_course.translation.translator import Translator, parameters_by_name

# They repeat what the file holds elsewhere, or what two numbers tell: some files have them.
REPEATED = {
    "lm_head.weight",
    *TABLES.values(),
    "model.encoder.embed_positions.weight",
    "model.decoder.embed_positions.weight",
}


def load_marian(folder: str | Path, languages: tuple[str, str] = ("en", "fr")) -> Translator:
    """Load a translator as Hugging Face publishes Marian's into our model.

    Parameters
    ----------
    folder
        Holds ``config.json``, ``model.safetensors`` or ``pytorch_model.bin``, ``source.spm``,
        ``target.spm`` and ``vocab.json``.
    languages
        Codes of source and target.

    Raises
    ------
    CheckpointError
        If a file is missing or damaged, the files do not belong together, or describe another
        model than Marian's.
    """
    folder = Path(folder)
    layout = read_layout(folder)
    ids = read_ids(folder, layout)
    orders = [our_order(each, layout) for each in ids]
    source, target = (
        read_tokenizer(folder, *side)
        for side in zip(("source", "target"), languages, ids, orders, strict=True)
    )
    path, stored = read_weights(folder)
    _check(stored, layout, path)
    model = marian_model(layout, *map(len, orders))
    with torch.no_grad():
        for name, parameter in parameters_by_name(model).items():
            parameter.copy_(_in_our_order(name, stored[marian_name(name, layout.shared)], orders))
        model.output.bias[BOS] = -torch.inf  # it is never said: Marian has no such token
    return Translator(model.eval(), source, target)


def marian_model(layout: Layout, source_vocab: int, target_vocab: int) -> Transformer:
    """Build our Transformer with the parts in which Marian differs; its weights are random."""
    with torch.random.fork_rng(devices=[]):
        model = Transformer(layout.config(source_vocab, target_vocab))
        use_sines_then_cosines(model)
        use_output_bias(model)
        if layout.activation == "swish":
            use_swish(model)
    return model


def _in_our_order(name: str, stored: Tensor, orders: list[list[int]]) -> Tensor:
    """Put the rows of a table, or the numbers of the output's bias, in the order of our ids."""
    if name == "output.bias":
        return stored[0, orders[1]]
    if name in TABLES:
        return stored[orders[list(TABLES).index(name)]]
    return stored


def _check(stored: dict[str, Tensor], layout: Layout, path: Path) -> None:
    """Raise CheckpointError unless the weights are those that config.json asks for."""
    wanted = _wanted_shapes(stored, layout, path)
    if missing := sorted(wanted.keys() - stored.keys()):
        raise CheckpointError(
            f"{path} has no {missing[0]}, which config.json asks for ({len(missing)} tensors are "
            f"missing). Both files must be of one model."
        )
    if unknown := sorted(stored.keys() - wanted.keys() - REPEATED):
        raise CheckpointError(
            f"{path} has {unknown[0]}, for which config.json leaves no place ({len(unknown)} "
            f"tensors are left over). Both files must be of one model."
        )
    for name, shape in wanted.items():
        if stored[name].shape != shape:
            raise CheckpointError(
                f"in {path} {name} has shape {tuple(stored[name].shape)}; config.json asks for "
                f"{tuple(shape)}. Both files must be of one model."
            )
        if not stored[name].isfinite().all():
            raise CheckpointError(f"{path} holds numbers that are not finite, in {name}.")
    _check_repeated(stored, layout, path)


def _wanted_shapes(stored: dict[str, Tensor], layout: Layout, path: Path) -> dict[str, torch.Size]:
    # A damaged configuration may ask for more memory than there is: it is not even outlined.
    if layout.sizes["encoder_layers"] + layout.sizes["decoder_layers"] > len(stored):
        raise CheckpointError(f"{path} holds fewer tensors than config.json asks for layers.")
    try:
        with torch.device("meta"):
            model = marian_model(layout, *layout.vocabularies)
    except ValueError as error:  # sizes that do not fit each other
        raise CheckpointError(f"{path.with_name(CONFIG_FILE)} cannot be used: {error}") from None
    shapes = {
        marian_name(name, layout.shared): weight.shape
        for name, weight in parameters_by_name(model).items()
    }
    return shapes | {OUTPUT_BIAS: torch.Size([1, layout.vocabularies[1]])}


def _check_repeated(stored: dict[str, Tensor], layout: Layout, path: Path) -> None:
    positions = SinesThenCosines(layout.sizes["d_model"], layout.sizes["max_len"]).encoding
    target = stored[marian_name("target_embeddings.table.weight", layout.shared)]
    same = {"lm_head.weight": target} | {
        f"model.{stack}.embed_positions.weight": positions for stack in ("encoder", "decoder")
    }
    if layout.shared:
        same |= dict.fromkeys(TABLES.values(), target)
    for name in same.keys() & stored.keys():
        if stored[name].shape != same[name].shape or not torch.allclose(
            stored[name], same[name], atol=1e-3
        ):
            raise CheckpointError(
                f"in {path} {name} is not what config.json makes of it: this model has another "
                f"layout, with a table of its own there."
            )
