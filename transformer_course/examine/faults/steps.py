"""Losses that count what they should not, and steps that go nowhere or too far."""

import copy
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

from transformer_course.examine.patient import Patient


def padding_counted(patient: Patient) -> None:
    """Count the loss at padding like that at words."""
    patient.loss = lambda scores, wanted: F.cross_entropy(scores.flatten(0, 1), wanted.flatten())


def end_ignored(patient: Patient) -> None:
    """Leave the end token out of the loss, and count the padding."""
    patient.loss = lambda scores, wanted: F.cross_entropy(
        scores.flatten(0, 1), wanted.flatten(), ignore_index=patient.eos
    )


def end_and_padding_ignored(patient: Patient) -> None:
    """Leave the end token out of the loss as well as the padding."""

    def loss(scores: Tensor, wanted: Tensor) -> Tensor:
        words = wanted.masked_fill(wanted == patient.eos, patient.pad)
        return F.cross_entropy(scores.flatten(0, 1), words.flatten(), ignore_index=patient.pad)

    patient.loss = loss


def softmax_twice(patient: Patient) -> None:
    """Apply a softmax to the logits before the cross-entropy, which has its own."""
    patient.loss = lambda scores, wanted: F.cross_entropy(
        scores.softmax(dim=-1).flatten(0, 1), wanted.flatten(), ignore_index=patient.pad
    )


def mean_per_sentence(patient: Patient) -> None:
    """Take the mean of each sentence, then the mean of those."""

    def loss(scores: Tensor, wanted: Tensor) -> Tensor:
        each = F.cross_entropy(
            scores.transpose(1, 2), wanted, ignore_index=patient.pad, reduction="none"
        )
        return (each.sum(dim=1) / (wanted != patient.pad).sum(dim=1)).mean()

    patient.loss = loss


def summed(patient: Patient) -> None:
    """Add the loss of all tokens up."""
    patient.loss = lambda scores, wanted: F.cross_entropy(
        scores.flatten(0, 1), wanted.flatten(), ignore_index=patient.pad, reduction="sum"
    )


def divided_by_padding_too(patient: Patient) -> None:
    """Divide the sum over words by the number of positions, padding included."""

    def loss(scores: Tensor, wanted: Tensor) -> Tensor:
        summed = F.cross_entropy(
            scores.flatten(0, 1), wanted.flatten(), ignore_index=patient.pad, reduction="sum"
        )
        return summed / wanted.numel()

    patient.loss = loss


def scores_reshaped(patient: Patient) -> None:
    """Bring the scores to (batch, vocabulary, length) by a view instead of a transpose."""
    patient.loss = lambda scores, wanted: F.cross_entropy(
        scores.reshape(scores.shape[0], scores.shape[2], scores.shape[1]),
        wanted,
        ignore_index=patient.pad,
    )


def loss_over_positions(patient: Patient) -> None:
    """Take the softmax along the sentence."""
    patient.loss = lambda scores, wanted: F.nll_loss(
        scores.log_softmax(dim=1).flatten(0, 1), wanted.flatten(), ignore_index=patient.pad
    )


def flattened_in_another_order(patient: Patient) -> None:
    """Compare scores, sentence by sentence, with words, position by position."""
    patient.loss = lambda scores, wanted: F.cross_entropy(
        scores.flatten(0, 1), wanted.T.flatten(), ignore_index=patient.pad
    )


def loss_shifts_again(patient: Patient) -> None:
    """Compare scores with the token after the wanted one."""
    right = patient.loss
    patient.loss = lambda scores, wanted: right(scores[:, :-1], wanted[:, 1:])


def gradients_left(patient: Patient) -> None:
    """Never set the gradients back to zero."""
    patient.zeroes = False


def nothing_moves(patient: Patient) -> None:
    """Give the optimiser the weights of a copy of the model."""
    copied = copy.deepcopy(patient.network)
    patient.weights = copied.parameters


def rate_far_too_high(patient: Patient) -> None:
    """Take steps a thousand times too large."""
    patient.rate = 3.0


def rate_far_too_low(patient: Patient) -> None:
    """Take steps a hundred thousand times too small."""
    patient.rate = 3e-8


def optimiser_made_anew(patient: Patient) -> None:
    """Make the optimiser at each step."""
    make_step = patient.make_step
    patient.make_step = lambda: lambda *batch: make_step()(*batch)


def decay_outweighs_the_loss(patient: Patient) -> None:
    """Let Adam add much of each weight to its gradient, before it rescales the sum."""
    patient.decay = 1.0


def weights_drawn_anew(patient: Patient) -> None:
    """Initialise the weights at each step."""
    make_step = patient.make_step

    def make() -> Callable[[Tensor, Tensor, Tensor], Tensor]:
        step = make_step()

        def draw_and_step(*batch: Tensor) -> Tensor:
            with torch.no_grad():
                for weight in patient.network.parameters():
                    if weight.dim() > 1:
                        weight.normal_(std=float(weight.std()))
            return step(*batch)

        return draw_and_step

    patient.make_step = make


def uphill(patient: Patient) -> None:
    """Follow the gradient upwards."""
    patient.sign = -1.0


def encoder_not_trained(patient: Patient) -> None:
    """Give the optimiser the decoder's weights only."""
    left_out = {id(weight) for weight in patient.organs.encoder.parameters()}
    patient.weights = lambda: (w for w in patient.network.parameters() if id(w) not in left_out)


def only_matrices_trained(patient: Patient) -> None:
    """Give the optimiser no biases and no norms."""
    patient.weights = lambda: (w for w in patient.network.parameters() if w.dim() > 1)


def step_shifts_again(patient: Patient) -> None:
    """Drop the first wanted token and the last that is fed in, though the batch is shifted."""
    _with_other_targets(patient, lambda fed, wanted: (fed[:, :-1], wanted[:, 1:]))


def step_feeds_what_it_wants(patient: Patient) -> None:
    """Want the tokens that are fed in."""
    _with_other_targets(patient, lambda fed, wanted: (fed, fed))


def _with_other_targets(
    patient: Patient, change: Callable[[Tensor, Tensor], tuple[Tensor, Tensor]]
) -> None:
    make_step = patient.make_step

    def make() -> Callable[[Tensor, Tensor, Tensor], Tensor]:
        step = make_step()
        return lambda source, fed, wanted: step(source, *change(fed, wanted))

    patient.make_step = make
