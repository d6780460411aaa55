"""A mixture of experts: each token goes through a few of many feed-forward networks.

Sources: Shazeer et al. (2017), "Outrageously Large Neural Networks", section 2; Fedus et al.
(2021), "Switch Transformers", section 2.2; DeepSeek-AI (2024), "DeepSeek-V3", section 2.1.2.
"""

from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor, nn


def route(
    logits: Float[Tensor, "tokens experts"], active: int
) -> tuple[Float[Tensor, "tokens experts"], Float[Tensor, "experts"]]:
    """Choose each token's experts.

    Parameters
    ----------
    logits
        The router's score of each expert for each token.
    active
        How many experts a token goes through: those with the highest scores.

    Returns
    -------
    weights, load
        How much each expert counts for each token: the softmax over the chosen ones, 0 for all
        others. And the share of all choices that fell on each expert.

    Raises
    ------
    ValueError
        If a token goes through no expert, or through more than there are.
    """
    if not 1 <= active <= logits.shape[-1]:
        raise ValueError(f"active must be from 1 to {logits.shape[-1]} experts; got {active}.")
    best, chosen = logits.topk(active, dim=-1)
    weights = torch.zeros_like(logits).scatter(-1, chosen, best.softmax(dim=-1))
    load = torch.zeros_like(logits).scatter(-1, chosen, 1.0).mean(dim=0) / active
    return weights, load


class Experts(nn.Module):
    """Takes the place of a feed-forward network: a router, and many networks to choose from.

    Parameters
    ----------
    d_model
        Width of the vectors that go in and come out.
    experts, active
        How many networks there are, and how many a token goes through.
    make
        Makes one expert.

    Attributes
    ----------
    imbalance
        Of the latest call: experts times the sum of load times mean probability, the auxiliary
        loss of Switch Transformers. It is 1 where all are used alike.
    load
        Of the latest call: each expert's share of the choices.
    """

    def __init__(
        self, d_model: int, experts: int, active: int, make: Callable[[], nn.Module]
    ) -> None:
        super().__init__()
        self.router = nn.Linear(d_model, experts, bias=False)
        self.experts = nn.ModuleList(make() for _ in range(experts))
        self.active = active

    def forward(
        self, x: Float[Tensor, "batch length d_model"]
    ) -> Float[Tensor, "batch length d_model"]:
        """Send each token through its experts and add up what they say, weighted."""
        tokens = x.flatten(0, 1)
        logits = self.router(tokens)
        weights, self.load = route(logits, self.active)
        self.imbalance = len(self.load) * (self.load * logits.softmax(dim=-1).mean(dim=0)).sum()
        out = torch.zeros_like(tokens)
        for number, expert in enumerate(self.experts):
            (sent,) = weights[:, number].nonzero(as_tuple=True)
            said = expert(tokens[sent][None])[0] * weights[sent, number, None]
            out = out.index_add(0, sent, said.to(out.dtype))  # autocast has made it 16 bits
        return out.view_as(x)

    def weights_held_and_used(self) -> tuple[int, int]:
        """Return how many weights there are, and how many act on one token."""
        router, *experts = (
            sum(weight.numel() for weight in part.parameters())
            for part in (self.router, *self.experts)
        )
        return router + sum(experts), router + sum(experts) * self.active // len(experts)
