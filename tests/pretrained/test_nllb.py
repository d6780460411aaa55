"""What lesson 11 says of NLLB, whose code is M2M-100's: Marian's names, and our layers."""

import math

import pytest
import torch

from transformer_course.model import Transformer, TransformerConfig
from transformer_course.pretrained import marian_name

WIDTH, LENGTH, VOCABULARY, PAD, FIRST = 32, 64, 50, 1, 2
SIZES = {"encoder_layers": 2, "decoder_layers": 3, "d_model": WIDTH}


def their_positions() -> torch.Tensor:
    """All sines first; the slowest wave is reached, where ours and Marian's just miss it."""
    half = torch.arange(WIDTH // 2)
    waves = torch.exp(-half * math.log(10_000) / (len(half) - 1))
    angles = torch.arange(FIRST, FIRST + LENGTH).unsqueeze(1) * waves
    return torch.cat([angles.sin(), angles.cos()], dim=1)


def test_it_fits_with_norms_first_and_other_waves() -> None:
    transformers = pytest.importorskip("transformers")
    torch.manual_seed(0)
    heads = {"encoder_attention_heads": 4, "decoder_attention_heads": 4}
    widths = {"encoder_ffn_dim": 40, "decoder_ffn_dim": 40}
    theirs = transformers.M2M100ForConditionalGeneration(
        transformers.M2M100Config(vocab_size=VOCABULARY, **SIZES, **heads, **widths)
    ).eval()
    with torch.no_grad():
        for weight in theirs.parameters():
            weight.normal_(std=0.3)
    config = TransformerConfig(
        VOCABULARY,
        VOCABULARY,
        **SIZES,
        heads=4,
        d_ff=40,
        dropout=0.0,
        max_len=LENGTH,
        pad_id=PAD,
        norm_first=True,
        tying="three_way",
    )
    ours = Transformer(config).eval()
    stored = theirs.state_dict()
    of_a_stack = "coder.norm", "coder.layer_norm"  # the only name that Marian has no weight for
    weights = {
        name: stored[marian_name(name).replace(*of_a_stack)] for name, _ in ours.named_parameters()
    }
    ours.load_state_dict(weights, strict=False)  # the table's other two names are left out
    for side in (ours.source_positions, ours.target_positions):
        side.encoding = their_positions()
    source = torch.randint(4, VOCABULARY, (3, 7))
    source[1, 5:] = PAD
    target = torch.randint(4, VOCABULARY, (3, 6))
    with torch.no_grad():
        wanted = theirs(source, attention_mask=source != PAD, decoder_input_ids=target).logits
        found = ours.decode(target, ours.encode(source), source)
    assert wanted.std() > 0.5
    torch.testing.assert_close(found, wanted, rtol=0, atol=1e-5)
