"""Right subjects of different makers, on which faults are tried."""

import math
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from transformer_course.examine.patient import Organs, Patient
from transformer_course.model import Transformer, TransformerConfig

WIDTH, HEADS, LAYERS, HIDDEN = 32, 4, 2, 64
VOCABULARIES = 24, 28
PAD, BOS, EOS = 0, 1, 2
IDS = (PAD, BOS, EOS)
SMALL = {"encoder_layers": 1, "decoder_layers": 1, "dropout": 0.0}
"""Choices of :func:`course` that make a patient learn soon, for tests."""


def course(vocabularies: tuple[int, int] = VOCABULARIES, **choices: Any) -> Patient:
    """Return a patient around the course's own model."""
    sizes = {"d_model": WIDTH, "heads": HEADS, "d_ff": HIDDEN, "max_len": 128}
    layers = {"encoder_layers": LAYERS, "decoder_layers": LAYERS}
    network = Transformer(
        TransformerConfig(*vocabularies, **{"tying": "two_way"} | sizes | layers | choices)
    )
    kinds = {
        "encoder": [layer.self_attention for layer in network.encoder.layers],
        "decoder": [layer.self_attention for layer in network.decoder.layers],
        "cross": [layer.cross_attention for layer in network.decoder.layers],
    }
    organs = Organs(
        network.encoder,
        {"encoder": (network.encoder, "layers"), "decoder": (network.decoder, "layers")},
        {"encoder": network.source_positions, "decoder": network.target_positions},
        kinds,
    )

    def call(source: Tensor, target: Tensor, masks: dict[str, Tensor]) -> Tensor:
        x = network.source_positions(network.source_embeddings(source))
        memory = network.encoder(x, masks["encoder"])
        y = network.target_positions(network.target_embeddings(target))
        return network.output(network.decoder(y, memory, masks["cross"], masks["decoder"]))

    return Patient(network, organs, call, vocabularies, *IDS)


# torch.nn.Transformer


class Sinusoids(nn.Module):
    """Adds sines and cosines."""

    def __init__(self, width: int, longest: int = 128) -> None:
        super().__init__()
        angles = torch.arange(longest)[:, None] / 10_000 ** (torch.arange(0, width, 2) / width)
        self.register_buffer("table", torch.stack([angles.sin(), angles.cos()], -1).flatten(1))

    def forward(self, x: Tensor) -> Tensor:
        """Add them."""
        return x + self.table[: x.shape[1]]


class Learned(nn.Module):
    """Adds a learned vector for each position."""

    def __init__(self, width: int, longest: int = 128) -> None:
        super().__init__()
        self.table = nn.Embedding(longest, width)
        nn.init.normal_(self.table.weight, std=0.3)

    def forward(self, x: Tensor) -> Tensor:
        """Add them."""
        return x + self.table(torch.arange(x.shape[1], device=x.device))


class OfTorch(nn.Module):
    """An encoder-decoder around torch.nn.Transformer."""

    def __init__(
        self, positions: type[nn.Module], norm_first: bool, tied: bool, dropout: float
    ) -> None:
        super().__init__()
        self.source = nn.Embedding(VOCABULARIES[0], WIDTH)
        self.target = nn.Embedding(VOCABULARIES[1], WIDTH)
        self.source_positions, self.target_positions = positions(WIDTH), positions(WIDTH)
        self.transformer = nn.Transformer(
            WIDTH, HEADS, LAYERS, LAYERS, HIDDEN, dropout, batch_first=True, norm_first=norm_first
        )
        self.output = nn.Linear(WIDTH, VOCABULARIES[1], bias=False)
        if tied:
            nn.init.normal_(self.target.weight, std=WIDTH**-0.5)
            self.output.weight = self.target.weight

    def forward(self, source: Tensor, target: Tensor, masks: dict[str, Tensor]) -> Tensor:
        """Return logits."""
        lengths = {
            "encoder": (source, source),
            "decoder": (target, target),
            "cross": (target, source),
        }
        hidden = {kind: _for_torch(masks[kind], *lengths[kind]) for kind in masks}
        scale = math.sqrt(WIDTH) if self.output.weight is self.target.weight else 1.0
        memory = self.transformer.encoder(
            self.source_positions(self.source(source)), hidden["encoder"]
        )
        said = self.transformer.decoder(
            self.target_positions(self.target(target) * scale),
            memory,
            hidden["decoder"],
            hidden["cross"],
        )
        return self.output(said)


def _for_torch(mask: Tensor, queries: Tensor, keys: Tensor) -> Tensor:
    full = mask.expand(len(queries), HEADS, queries.shape[1], keys.shape[1])
    return ~full.flatten(0, 1)


def of_torch(
    positions: type[nn.Module] = Sinusoids,
    norm_first: bool = False,
    tied: bool = False,
    dropout: float = 0.1,
) -> Patient:
    """Return a patient around torch.nn.Transformer."""
    network = OfTorch(positions, norm_first, tied, dropout)
    encoder, decoder = network.transformer.encoder, network.transformer.decoder
    organs = Organs(
        encoder,
        {"encoder": (encoder, "layers"), "decoder": (decoder, "layers")},
        {"encoder": network.source_positions, "decoder": network.target_positions},
    )
    return Patient(network, organs, network.__call__, VOCABULARIES, *IDS)


def hiding_more(patient: Patient) -> Patient:
    """Hide the padding of targets too, which a causal mask makes superfluous."""
    patient.hides_target_padding = True
    return patient


# A model of today's parts


class Attention(nn.Module):
    """Attention with rotary positions, in which everything can be replaced."""

    def __init__(self, rotary: bool) -> None:
        super().__init__()
        self.q, self.k, self.v, self.o = (nn.Linear(WIDTH, WIDTH, bias=False) for _ in range(4))
        self.rotary = rotary
        self.attend = lambda q, k, v, mask: F.scaled_dot_product_attention(q, k, v, mask)

    def forward(self, x: Tensor, memory: Tensor, mask: Tensor) -> Tensor:
        """Look up in the memory what the mask allows."""

        def heads(y: Tensor) -> Tensor:
            return y.view(*y.shape[:2], HEADS, -1).transpose(1, 2)

        q, k, v = heads(self.q(x)), heads(self.k(memory)), heads(self.v(memory))
        if self.rotary:
            q, k = _turned(q), _turned(k)
        mask = mask.expand(len(x), 1, x.shape[1], memory.shape[1])
        return self.o(self.attend(q, k, v, mask).transpose(1, 2).flatten(2))


def _turned(x: Tensor) -> Tensor:
    half = x.shape[-1] // 2
    angles = torch.arange(x.shape[-2])[:, None] / 100 ** (torch.arange(half) / half)
    a, b = x.split(half, dim=-1)
    return torch.cat([a * angles.cos() - b * angles.sin(), a * angles.sin() + b * angles.cos()], -1)


class Gated(nn.Module):
    """A feed-forward network with a gate (SwiGLU)."""

    def __init__(self) -> None:
        super().__init__()
        self.gate, self.up = nn.Linear(WIDTH, HIDDEN), nn.Linear(WIDTH, HIDDEN)
        self.down = nn.Linear(HIDDEN, WIDTH)

    def forward(self, x: Tensor) -> Tensor:
        """Return vectors of the same width."""
        return self.down(F.silu(self.gate(x)) * self.up(x))


class ModernLayer(nn.Module):
    """A pre-norm layer of encoder or decoder."""

    def __init__(self, rotary: bool, decodes: bool, dropout: float) -> None:
        super().__init__()
        self.self_attention = Attention(rotary)
        self.cross_attention = Attention(False) if decodes else None
        self.feed_forward = Gated()
        self.norms = nn.ModuleList(nn.RMSNorm(WIDTH) for _ in range(3 if decodes else 2))
        self.dropout = nn.Dropout(dropout)

    def forward(
        self, x: Tensor, mask: Tensor, memory: Tensor | None = None, cross: Tensor | None = None
    ) -> Tensor:
        """Return the vectors with what attention and feed-forward add."""
        y = self.norms[0](x)
        x = x + self.dropout(self.self_attention(y, y, mask))
        if self.cross_attention is not None:
            x = x + self.dropout(self.cross_attention(self.norms[1](x), memory, cross))
        return x + self.dropout(self.feed_forward(self.norms[-1](x)))


class ModernStack(nn.Module):
    """Layers and a norm."""

    def __init__(self, rotary: bool, decodes: bool, dropout: float) -> None:
        super().__init__()
        self.layers = nn.ModuleList(ModernLayer(rotary, decodes, dropout) for _ in range(LAYERS))
        self.norm = nn.RMSNorm(WIDTH)

    def forward(self, x: Tensor, *inputs: Tensor) -> Tensor:
        """Return what the last layer returns, normalised."""
        for layer in self.layers:
            x = layer(x, *inputs)
        return self.norm(x)


class Modern(nn.Module):
    """An encoder-decoder of pre-norm, RMSNorm, SwiGLU, and rotary or learned positions."""

    def __init__(self, rotary: bool, dropout: float) -> None:
        super().__init__()
        self.source = nn.Embedding(VOCABULARIES[0], WIDTH)
        self.target = nn.Embedding(VOCABULARIES[1], WIDTH)
        self.source_positions = nn.Identity() if rotary else Learned(WIDTH)
        self.target_positions = nn.Identity() if rotary else Learned(WIDTH)
        self.encoder = ModernStack(rotary, False, dropout)
        self.decoder = ModernStack(rotary, True, dropout)
        self.output = nn.Linear(WIDTH, VOCABULARIES[1])

    def forward(self, source: Tensor, target: Tensor, masks: dict[str, Tensor]) -> Tensor:
        """Return logits."""
        memory = self.encoder(self.source_positions(self.source(source)), masks["encoder"])
        y = self.target_positions(self.target(target))
        return self.output(self.decoder(y, masks["decoder"], memory, masks["cross"]))


def modern(rotary: bool = True, dropout: float = 0.1) -> Patient:
    """Return a patient of today's parts."""
    network = Modern(rotary, dropout)
    stacks = {"encoder": network.encoder, "decoder": network.decoder}
    attentions = {side: [layer.self_attention for layer in s.layers] for side, s in stacks.items()}
    attentions["cross"] = [layer.cross_attention for layer in network.decoder.layers]
    positions = (
        {} if rotary else {"encoder": network.source_positions, "decoder": network.target_positions}
    )
    organs = Organs(
        network.encoder,
        {side: (stack, "layers") for side, stack in stacks.items()},
        positions,
        attentions,
    )
    return Patient(network, organs, network.__call__, VOCABULARIES, *IDS)


# Hugging Face


def of_hugging_face(kind: str) -> Patient:
    """Return a patient around a model of the library transformers, with random weights."""
    import transformers

    sizes = {"d_model": WIDTH, "vocab_size": VOCABULARIES[1]}
    if kind == "T5":
        config = transformers.T5Config(
            **sizes,
            d_kv=8,
            num_heads=HEADS,
            num_layers=LAYERS,
            num_decoder_layers=LAYERS,
            d_ff=HIDDEN,
            pad_token_id=0,
            decoder_start_token_id=0,
            eos_token_id=1,
        )
        network = transformers.T5ForConditionalGeneration(config)
        ids, name = (0, 0, 1), "block"
    else:
        config = getattr(transformers, f"{kind}Config")(
            **sizes,
            encoder_layers=LAYERS,
            decoder_layers=LAYERS,
            encoder_attention_heads=HEADS,
            decoder_attention_heads=HEADS,
            encoder_ffn_dim=HIDDEN,
            decoder_ffn_dim=HIDDEN,
            max_position_embeddings=128,
            pad_token_id=0,
            eos_token_id=2,
            bos_token_id=1,
            decoder_start_token_id=0 if kind == "Marian" else 2,
            forced_eos_token_id=None,
            scale_embedding=kind == "Marian",
        )
        network = getattr(
            transformers, {"Bart": "BartForConditionalGeneration", "Marian": "MarianMTModel"}[kind]
        )(config)
        ids, name = ((0, 0, 2) if kind == "Marian" else (0, 2, 2)), "layers"
    network.train()
    encoder, decoder = network.get_encoder(), network.get_decoder()
    organs = Organs(encoder, {"encoder": (encoder, name), "decoder": (decoder, name)})

    def call(source: Tensor, target: Tensor, masks: dict[str, Tensor]) -> Tensor:
        batch, s, t = len(source), source.shape[1], target.shape[1]
        memory = encoder(source, attention_mask=masks["encoder"].expand(batch, 1, s, s))
        return network(
            encoder_outputs=memory,
            attention_mask=masks["cross"].expand(batch, 1, t, s),
            decoder_input_ids=target,
            decoder_attention_mask=masks["decoder"].expand(batch, 1, t, t),
            use_cache=False,
        ).logits

    return Patient(network, organs, call, (VOCABULARIES[1],) * 2, *ids)


MAKERS: dict[str, Callable[[], Patient]] = {
    "course, post-norm": course,
    "course, pre-norm, learned positions": lambda: course(
        norm_first=True, positions="learned", tying="two_way"
    ),
    "course, one vocabulary": lambda: course((28, 28), tying="three_way"),
    "course, untied, one layer": lambda: course(encoder_layers=1, decoder_layers=1, tying="none"),
    "torch, post-norm": of_torch,
    "torch, pre-norm, learned positions, tied": lambda: of_torch(
        Learned, norm_first=True, tied=True
    ),
    "torch, target padding hidden, no dropout": lambda: hiding_more(
        of_torch(norm_first=True, dropout=0.0)
    ),
    "today's parts, rotary": modern,
    "today's parts, learned positions, target padding hidden, no dropout": lambda: hiding_more(
        modern(rotary=False, dropout=0.0)
    ),
    "Marian": lambda: of_hugging_face("Marian"),
    "BART": lambda: of_hugging_face("Bart"),
    "T5": lambda: of_hugging_face("T5"),
}
