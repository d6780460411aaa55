"""Positions, and what passes from the encoder to the decoder."""

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from transformer_course.examine.patient import Mask, NoSuchOrgan, Patient


def no_positions_in_decoder(patient: Patient) -> None:
    """Add no positions to the target."""
    patient.on_positions("decoder", lambda add, x: x)


def no_positions_in_encoder(patient: Patient) -> None:
    """Add no positions to the source."""
    patient.on_positions("encoder", lambda add, x: x)


def no_positions(patient: Patient) -> None:
    """Add no positions at all."""
    no_positions_in_decoder(patient)
    no_positions_in_encoder(patient)


def positions_along_the_batch(patient: Patient) -> None:
    """Give each sentence a position instead of each token."""
    source_positions_along_the_batch(patient)
    patient.on_positions("decoder", lambda add, x: add(x.transpose(0, 1)).transpose(0, 1))


def source_positions_along_the_batch(patient: Patient) -> None:
    """Give each source a position instead of each of its tokens."""
    patient.on_positions("encoder", lambda add, x: add(x.transpose(0, 1)).transpose(0, 1))


def memory_kept_by_shape(patient: Patient) -> None:
    """Keep the memory in eval mode, and take it for all sources of the same shape."""
    kept: dict[torch.Size, Tensor] = {}

    def change(memory: Tensor) -> Tensor:
        if patient.network.training or torch.is_grad_enabled():
            return memory
        if memory.shape not in kept:
            kept.clear()
            kept[memory.shape] = memory
        return kept[memory.shape]

    patient.on_memory(change)


def memory_kept_in_eval_mode(patient: Patient) -> None:
    """Keep all memories in eval mode for ever, also where gradients are wanted."""
    kept: dict[torch.Size, Tensor] = {}

    def change(memory: Tensor) -> Tensor:
        if patient.network.training:
            return memory
        return kept.setdefault(memory.shape, memory.detach())

    patient.on_memory(change)


def mask_kept_by_shape(patient: Patient) -> None:
    """Keep the masks of the source, and take them for all sources of the same shape."""
    kept: dict[tuple[str, torch.Size], Tensor] = {}

    def keeping(kind: str) -> Mask:
        right = patient.masks[kind]

        def mask(source: Tensor, target: Tensor) -> Tensor:
            if (kind, source.shape) not in kept:
                kept[kind, source.shape] = right(source, target)
            return kept[kind, source.shape]

        return mask

    for kind in ("encoder", "cross"):
        patient.masks[kind] = keeping(kind)


def source_not_read(patient: Patient) -> None:
    """Give the decoder a memory of zeros."""
    patient.on_memory(lambda memory: memory * 0)


def only_first_token_of_source(patient: Patient) -> None:
    """Give the decoder the first vector of the memory in the place of all."""
    patient.masks["encoder"] = _only_itself
    patient.on_memory(lambda memory: memory[:, :1].expand_as(memory))


def _only_itself(source: Tensor, target: Tensor) -> Tensor:
    length = source.shape[1]
    return torch.eye(length, dtype=torch.bool, device=source.device)[None, None]


def encoder_detached(patient: Patient) -> None:
    """Let no gradient pass from the decoder to the encoder."""
    patient.on_memory(lambda memory: memory.detach())


def memory_of_other_sentences(patient: Patient) -> None:
    """Read each sentence's memory with that of the next sentence of the batch."""
    patient.on_memory(lambda memory: memory + memory.roll(1, dims=0) * (len(memory) > 1))


def memory_reshaped(patient: Patient) -> None:
    """Swap batch and length by a reshape, and back by a transpose."""
    patient.on_memory(
        lambda memory: memory.reshape(memory.shape[1], memory.shape[0], -1).transpose(0, 1)
    )


def encoder_along_the_batch(patient: Patient) -> None:
    """Add to each vector of the memory the mean of those at its place in the batch."""
    patient.on_memory(lambda memory: memory + memory.mean(dim=0, keepdim=True))


def layers_in_a_list(patient: Patient) -> None:
    """Keep the decoder's layers in a Python list, which no module knows of."""
    module, name = patient.organs.layers["decoder"]
    layers = [*getattr(module, name)]
    del module._modules[name]
    object.__setattr__(module, name, layers)


def one_layer_repeated(patient: Patient) -> None:
    """Let all layers of each stack be one object."""
    stacks = patient.organs.layers.values()
    if all(len(getattr(module, name)) == 1 for module, name in stacks):
        raise NoSuchOrgan
    for module, name in stacks:
        first, *others = getattr(module, name)
        setattr(module, name, nn.ModuleList([first, *[first] * len(others)]))


def returns_probabilities(patient: Patient) -> None:
    """End the model with a softmax, which the loss has too."""
    patient.after_scores.append(lambda scores: scores.softmax(dim=-1))


def target_shifted_inside(patient: Patient) -> None:
    """Shift the target in the model, though it comes shifted: as Hugging Face does with labels."""
    right = patient.call

    def call(source: Tensor, target: Tensor, masks: dict[str, Tensor]) -> Tensor:
        return right(source, F.pad(target[:, :-1], (1, 0), value=patient.bos), masks)

    patient.call = call


def scores_detached(patient: Patient) -> None:
    """Return scores that know nothing of how they were computed."""
    patient.after_scores.append(Tensor.detach)


def activation_on_scores(patient: Patient) -> None:
    """End the model with a ReLU."""
    patient.after_scores.append(lambda scores: scores.relu())


def softmax_over_positions(patient: Patient) -> None:
    """End the model with a softmax along the sentence."""
    patient.after_scores.append(lambda scores: scores.log_softmax(dim=1))


def layer_skipped(patient: Patient) -> None:
    """Go on with what the first layer of the encoder was given, not with what it returned."""
    module, name = patient.organs.layers["encoder"]
    layer = getattr(module, name)[0]

    def hook(layer: nn.Module, inputs: tuple, output: Any) -> Any:
        return (inputs[0], *output[1:]) if isinstance(output, tuple) else inputs[0]

    layer.register_forward_hook(hook)
