"""A decoder without an encoder: the model family of GPT, from the course's parts.

Source: Radford et al. (2018), "Improving Language Understanding by Generative Pre-Training".
"""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from transformer_course.model.attention import target_mask
from transformer_course.model.layers import Encoder
from transformer_course.model.positional_encoding import LearnedPositionalEncoding
from transformer_course.model.transformer import (
    Embeddings,
    evaluating,
    initialise_linear_layers,
)


def most_probable(logits: Float[Tensor, "batch vocab"]) -> Int[Tensor, "batch"]:
    """Choose the token with the highest score."""
    return logits.argmax(dim=-1)


class DecoderOnly(nn.Module):
    """A language model: the encoder's stack under a causal mask, which scores the next token.

    Without a memory to read there is no cross-attention, so a layer is the encoder's. As in GPT-2,
    positions are learned, norms come first, and the output layer shares the embedding's table.

    Parameters
    ----------
    vocab
        Number of token types.
    d_model, heads, layers, d_ff, dropout
        As in :class:`~transformer_course.model.TransformerConfig`.
    max_len
        Longest text, in tokens.
    pad_id
        Id of the padding token.
    """

    def __init__(
        self,
        vocab: int,
        d_model: int = 64,
        heads: int = 4,
        layers: int = 2,
        d_ff: int = 256,
        dropout: float = 0.0,
        max_len: int = 64,
        pad_id: int = 0,
    ) -> None:
        super().__init__()
        self.pad_id = pad_id
        self.stack = Encoder(layers, d_model, heads, d_ff, dropout, norm_first=True)
        initialise_linear_layers(self.stack)
        self.positions = LearnedPositionalEncoding(d_model, max_len, dropout)
        self.embeddings = Embeddings(vocab, d_model, pad_id)
        self.output = nn.Linear(d_model, vocab, bias=False)
        self.output.weight = self.embeddings.table.weight

    def forward(self, ids: Int[Tensor, "batch length"]) -> Float[Tensor, "batch length vocab"]:
        """Score every next token after each prefix."""
        x = self.positions(self.embeddings(ids))
        return self.output(self.stack(x, target_mask(ids, self.pad_id)))

    def complete(
        self,
        prompts: Int[Tensor, "batch prompt"],
        eos: int,
        max_length: int,
        choose: Callable[[Float[Tensor, "batch vocab"]], Int[Tensor, "batch"]] = most_probable,
    ) -> Int[Tensor, "batch length"]:
        """Go on with each prompt until all have said ``eos``, or to ``max_length`` tokens.

        Parameters
        ----------
        prompts
            Beginnings of unlike lengths, padded at their ends.
        eos
            Id of the end token; what follows it is padding.
        max_length
            Longest text, the prompt included.
        choose
            Chooses each row's next token by its logits; by default the most probable.

        Returns
        -------
        texts
            Prompts and what was said, padded.
        """
        room = max(0, max_length - prompts.shape[1])
        given = F.pad(prompts, (0, room), value=self.pad_id)
        ids = prompts[:, :1]
        over = torch.zeros(len(prompts), dtype=torch.bool, device=prompts.device)
        with evaluating(self):
            while ids.shape[1] < max_length and not over.all():
                chosen = choose(self(ids)[:, -1]).masked_fill(over, self.pad_id)
                prompt = given[:, ids.shape[1]]
                lasts = prompt != self.pad_id  # while a prompt lasts, it is what is said
                over |= ~lasts & (chosen == eos)
                ids = torch.cat([ids, torch.where(lasts, prompt, chosen)[:, None]], dim=1)
        return ids
