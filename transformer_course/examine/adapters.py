"""Subjects ready made: for torch.nn.Transformer, Hugging Face's models, and the course's own."""

import inspect
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from transformer_course.examine.subject import Subject


def torch_transformer(
    transformer: nn.Transformer,
    source_vectors: Callable[[Tensor], Tensor],
    target_vectors: Callable[[Tensor], Tensor],
    output: nn.Module,
    **given: Any,
) -> Subject:
    """Return a subject of a ``torch.nn.Transformer``, with the masks that it has to be given.

    The masks are right, whatever those are with which you train: a model of your own around a
    ``torch.nn.Transformer`` makes a :class:`Subject` itself.

    Parameters
    ----------
    transformer
        The stacks; ``batch_first`` or not.
    source_vectors, target_vectors
        What turns ids (batch, length) into vectors with positions (batch, length, d_model): a
        module, or a function that calls modules.
    output
        What turns a vector into scores.
    given
        All that a :class:`Subject` has besides ``network`` and ``scores``.
    """
    network = _outermost(
        _modules_in("source_vectors", source_vectors)
        | _modules_in("target_vectors", target_vectors)
        | {"transformer": transformer, "output": output}
    )
    subject = Subject(network, **given)

    def in_order(x: Tensor) -> Tensor:
        return x if transformer.batch_first else x.transpose(0, 1)

    def scores(source: Tensor, target: Tensor) -> Tensor:
        hidden = source == subject.source_pad
        length = target.shape[1]
        future = torch.ones(length, length, dtype=torch.bool, device=target.device).triu(1)
        said = transformer(
            in_order(source_vectors(source)),
            in_order(target_vectors(target)),
            tgt_mask=future,
            src_key_padding_mask=hidden,
            memory_key_padding_mask=hidden,
        )
        return output(in_order(said))

    subject.scores = scores
    subject.unseen = "the adapter makes the masks, so whether yours are right was not seen"
    return subject


def _modules_in(name: str, part: Callable) -> dict[str, nn.Module]:
    """Return the module that a part is, or those that a function makes use of, by their names.

    Weights that are hidden deeper, such as in a list, are not found.
    """
    if isinstance(part, nn.Module):
        return {name: part}
    if not (inspect.isfunction(part) or inspect.ismethod(part)):
        return {}
    names = inspect.getclosurevars(part)
    used = {name: getattr(part, "__self__", None), **names.globals, **names.nonlocals}
    weights = {key: nn.ParameterList([p]) for key, p in used.items() if isinstance(p, nn.Parameter)}
    return {key: each for key, each in used.items() if isinstance(each, nn.Module)} | weights


def _outermost(modules: dict[str, nn.Module]) -> nn.ModuleDict:
    """Put modules together, each once: without those that are inside of another."""
    names = {module: name for name, module in modules.items()}
    inner = {part for module in names for part in module.modules() if part is not module}
    return nn.ModuleDict({name: each for each, name in names.items() if each not in inner})


def hugging_face(model: nn.Module, **given: Any) -> Subject:
    """Return a subject of an encoder-decoder of the library ``transformers``, such as Marian.

    Its own ids are taken from ``model.config``; ``given`` may say others, and what else a
    :class:`Subject` has.

    Raises
    ------
    ValueError
        If the model has no encoder, or its configuration lacks an id that is not given.
    """
    config = model.config
    if not getattr(config, "is_encoder_decoder", False):
        raise ValueError(f"{type(model).__name__} has no encoder: nothing else is examined.")
    places = {  # of an ``EncoderDecoderModel`` each side has a configuration of its own
        "source_vocab": (getattr(config, "encoder", config), "vocab_size"),
        "target_vocab": (getattr(config, "decoder", config), "vocab_size"),
        "pad": (config, "pad_token_id"),
        "bos": (config, "decoder_start_token_id"),
        "eos": (config, "eos_token_id"),
    }
    ids = {name: getattr(place, key, None) for name, (place, key) in places.items()} | given
    if missing := [name for name in places if ids[name] is None]:
        raise ValueError(
            f"the configuration of {type(model).__name__} does not say {', '.join(missing)}: give "
            f"`{missing[0]}=...`, with which it is trained."
        )
    subject = Subject(model, **ids)

    def scores(source: Tensor, target: Tensor) -> Tensor:
        return model(
            input_ids=source,
            attention_mask=(source != subject.source_pad).long(),
            decoder_input_ids=target,
            use_cache=False,
        ).logits

    if "scores" not in given:
        subject.scores = scores
    return subject


def course(network: nn.Module, **given: Any) -> Subject:
    """Return a subject of a :class:`transformer_course.model.Transformer`."""
    config = network.config
    sizes = {"source_vocab": config.source_vocab, "target_vocab": config.target_vocab}
    return Subject(network, **sizes | {"pad": config.pad_id, "bos": 1, "eos": 2} | given)
