"""The learner's code inside the course's training: their model and loss, the course's loop.

Names and shapes of the parameters are the course's. So both models share the same weights, and
what the course does with its own (optimisers, checkpoints, search, pictures) is done with theirs.
"""

from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from types import ModuleType

from torch import Tensor, nn

from transformer_course.model import Transformer
from transformer_course.own import check, whole
from transformer_course.own.file import FileError
from transformer_course.own.subject import reason
from transformer_course.translation.corpora.batches import Batch

Loss = Callable[[Batch, float], Tensor]


def loss_by(path: Path) -> Callable[[Transformer], Loss]:
    """Return what makes, for a model of the course's, the loss by the model in a learner's file.

    Raises
    ------
    FileError
        If the file cannot be used, or its parts compute something else than the course's.
    OSError
        If it cannot be read.
    """
    module = check.load(path)
    if fault := whole.fault(module):
        why = "" if fault == whole.endless() else reason(module)
        raise FileError(
            f"{path} cannot be trained, because its parts together go wrong: {fault}."
            f"{why} `transformer-course check {path}` says more."
        )
    return lambda model: _loss(module, model)


def _loss(module: ModuleType, model: Transformer) -> Loss:
    choices = {  # what the learner has added to choose from keeps its default
        each.name: getattr(model.config, each.name)
        for each in fields(module.TransformerConfig)
        if hasattr(model.config, each.name)
    }
    network = module.Transformer(module.TransformerConfig(**choices))
    share_weights(network, model)

    def loss(batch: Batch, smoothing: float) -> Tensor:
        network.to(batch.source.device).train(model.training)
        logits = network(batch.source, batch.target_in).flatten(0, 1)
        return module.smoothed_cross_entropy(
            logits, batch.target_out.flatten(), smoothing, model.config.pad_id
        )

    return loss


def share_weights(network: nn.Module, model: nn.Module) -> None:
    """Let a network use the parameters of a model that has the same names and shapes.

    Raises
    ------
    FileError
        If the network has no place for one, as for learned positions.
    """
    for name, parameter in model.named_parameters(remove_duplicate=False):
        path, _, last = name.rpartition(".")
        try:
            setattr(network.get_submodule(path), last, parameter)
        except AttributeError:
            raise FileError(
                f"with these settings the course's model has a parameter {name}, and yours has no "
                f"place for it: train without --model, or with other settings."
            ) from None
