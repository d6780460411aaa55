"""What several exercises of this lesson are tried on."""

from transformer_course import model

CONFIG = model.TransformerConfig(
    source_vocab=8,
    target_vocab=8,
    d_model=4,
    heads=2,
    encoder_layers=1,
    decoder_layers=1,
    d_ff=6,
    max_len=12,
    tying="none",
)
