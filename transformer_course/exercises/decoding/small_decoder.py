"""A decoder that is as small as a cache allows."""

from jaxtyping import Float, Int
from torch import Tensor, nn

from transformer_course import model


class SmallLayer(nn.Module):
    """The projections of a decoder layer with one head, and its feed-forward network."""

    def __init__(self, d_model: int) -> None:
        super().__init__()
        self.query = nn.Linear(d_model, d_model)
        self.key = nn.Linear(d_model, d_model)
        self.value = nn.Linear(d_model, d_model)
        self.cross_query = nn.Linear(d_model, d_model)
        self.cross_key = nn.Linear(d_model, d_model)
        self.cross_value = nn.Linear(d_model, d_model)
        self.feed_forward = model.FeedForward(d_model, 2 * d_model)


class SmallDecoder(nn.Module):
    """A decoder with all that a cache has to do with, and nothing else: one head, no norms."""

    def __init__(self, vocab: int = 11, d_model: int = 8, layers: int = 2) -> None:
        super().__init__()
        self.table = nn.Embedding(vocab, d_model)
        self.register_buffer("positions", model.sinusoidal_encoding(100, d_model))
        self.layers = nn.ModuleList(SmallLayer(d_model) for _ in range(layers))
        self.output = nn.Linear(d_model, vocab)

    def embed(
        self, tokens: Int[Tensor, "batch length"], first: int = 0
    ) -> Float[Tensor, "batch length d_model"]:
        """Return vectors with positions; ``first`` is the position of the first of the tokens."""
        return self.table(tokens) + self.positions[first : first + tokens.shape[1]]

    def forward(
        self, tokens: Int[Tensor, "batch length"], memory: Float[Tensor, "batch source d_model"]
    ) -> Float[Tensor, "batch length vocab"]:
        """Decode all tokens at once."""
        x = self.embed(tokens)
        mask = model.causal_mask(tokens.shape[1])
        for layer in self.layers:
            x = x + model.fused_attention(layer.query(x), layer.key(x), layer.value(x), mask)
            keys, values = layer.cross_key(memory), layer.cross_value(memory)
            x = x + model.fused_attention(layer.cross_query(x), keys, values)
            x = x + layer.feed_forward(x)
        return self.output(x)
