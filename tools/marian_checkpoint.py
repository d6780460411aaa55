"""Train the small Marian translator that ships with lesson 11, with Hugging Face's own code.

None of the course's model takes part, so that what the lesson loads was written by others:
``transformers`` (in the group ``peers``) computes, trains, writes the files and the logits that the
learner's are compared with. Run it again after a change of the toy language:

    python -m tools.marian_checkpoint
"""

import json
import math
import os
import random
from pathlib import Path
from typing import TYPE_CHECKING

os.environ["HF_HUB_OFFLINE"] = "1"  # it would ask the network for files that are here

import torch
import torch.nn.functional as F
from safetensors.torch import save_file
from sentencepiece import SentencePieceProcessor, SentencePieceTrainer
from torch import Tensor

from transformer_course import pretrained
from transformer_course.files import write_text
from transformer_course.translation import SentencePair, toy_corpus

if TYPE_CHECKING:
    from transformers import MarianMTModel, MarianTokenizer

PIECES = 300  # at most, in each language
STEPS, WARMUP, RATE, SENTENCES = 800, 150, 3e-3, 64
COMPARED, TRANSLATED = 8, 100  # sentences of the test split


def main() -> None:
    """Learn sub-words, train, write the published files and the reference beside them."""
    import transformers

    folder = pretrained.small_marian()
    folder.mkdir(exist_ok=True)
    corpus = toy_corpus()
    tokens = write_tokens(folder, corpus.split("train"))
    tokenizer = transformers.MarianTokenizer(
        *(str(folder / name) for name in ("source.spm", "target.spm", "vocab.json"))
    )
    torch.manual_seed(0)
    theirs = transformers.MarianMTModel(_config(len(tokens)))
    loss = train(theirs, tokenizer, corpus.split("train"))
    theirs.save_pretrained(folder)
    (folder / "generation_config.json").unlink()
    right = write_reference(folder, theirs.eval(), tokenizer, corpus.split("test"))
    notes = {
        "command": "python -m tools.marian_checkpoint",
        "transformers": transformers.__version__,
        "torch": torch.__version__,
        "steps": STEPS,
        "last_loss": round(loss, 4),
        f"right_of_{TRANSLATED}": right,
    }
    write_text(folder / "run.json", json.dumps(notes, indent=1) + "\n")
    print(notes)


def write_tokens(folder: Path, pairs: list[SentencePair]) -> list[str]:
    """Write source.spm, target.spm and vocab.json as Marian has them; return the tokens."""
    pieces: list[str] = []
    for side in ("source", "target"):
        with (folder / f"{side}.spm").open("wb") as file:
            SentencePieceTrainer.train(
                sentence_iterator=(getattr(pair, side) for pair in pairs),
                model_writer=file,
                vocab_size=PIECES,
                hard_vocab_limit=False,
                character_coverage=1.0,
                num_threads=1,  # several would break ties in another order each time
                minloglevel=2,
            )
        model = SentencePieceProcessor(model_file=str(folder / f"{side}.spm"))
        # Behind sentencepiece's own special tokens: Marian's are others.
        pieces += [model.id_to_piece(number) for number in range(3, model.get_piece_size())]
    tokens = ["</s>", "<unk>", *dict.fromkeys(pieces), "<pad>"]
    numbered = {token: number for number, token in enumerate(tokens)}
    write_text(folder / "vocab.json", json.dumps(numbered, ensure_ascii=False, indent=1) + "\n")
    return tokens


def _config(vocabulary: int) -> object:
    """Return the settings of the OPUS-MT project's translators, with small sizes."""
    from transformers import MarianConfig

    return MarianConfig(
        vocab_size=vocabulary,
        d_model=64,
        encoder_layers=2,
        decoder_layers=2,
        encoder_attention_heads=4,
        decoder_attention_heads=4,
        encoder_ffn_dim=256,
        decoder_ffn_dim=256,
        max_position_embeddings=128,
        dropout=0.0,
        activation_function="swish",
        scale_embedding=True,
        pad_token_id=vocabulary - 1,
        decoder_start_token_id=vocabulary - 1,
        eos_token_id=0,
        bos_token_id=0,
        forced_eos_token_id=0,
    )


def train(
    theirs: "MarianMTModel", tokenizer: "MarianTokenizer", pairs: list[SentencePair]
) -> float:
    """Train; return the last loss. Marian itself trains the bias, which here is a buffer."""
    pad, chance = theirs.config.pad_token_id, random.Random(0)
    theirs.final_logits_bias.requires_grad_(True)
    weights = [w for w in theirs.parameters() if w.requires_grad] + [theirs.final_logits_bias]
    optimizer = torch.optim.Adam(weights, lr=RATE, betas=(0.9, 0.98))
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, _rate)
    for step in range(STEPS):
        batch = encoded(tokenizer, chance.sample(pairs, SENTENCES))
        labels = batch.pop("labels")
        batch["decoder_input_ids"] = theirs.prepare_decoder_input_ids_from_labels(labels)
        # Marian has no row for padding: it is neither trained nor ever predicted.
        logits = theirs(**batch).logits[..., :pad].flatten(0, 1)
        loss = F.cross_entropy(logits, labels.flatten(), ignore_index=pad, label_smoothing=0.1)
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(weights, 1.0)
        optimizer.step()
        schedule.step()
        if step % 50 == 0:
            print(f"step {step}, loss {loss:.3f}", flush=True)
    theirs.final_logits_bias.requires_grad_(False)
    return loss.item()


def _rate(step: int) -> float:
    return min((step + 1) / WARMUP, 0.5 + 0.5 * math.cos(math.pi * step / STEPS))


def encoded(tokenizer: "MarianTokenizer", pairs: list[SentencePair]) -> dict[str, Tensor]:
    """Return the rectangles of ids that the model reads."""
    return dict(
        tokenizer(
            [pair.source for pair in pairs],
            text_target=[pair.target for pair in pairs],
            return_tensors="pt",
            padding=True,
        )
    )


@torch.no_grad()
def write_reference(
    folder: Path,
    theirs: "MarianMTModel",
    tokenizer: "MarianTokenizer",
    pairs: list[SentencePair],
) -> int:
    """Write logits and translations of test sentences; return how many translations are right."""
    batch = encoded(tokenizer, pairs[:COMPARED])
    target = theirs.prepare_decoder_input_ids_from_labels(batch.pop("labels"))
    logits = theirs(**batch, decoder_input_ids=target).logits
    sources = tokenizer([pair.source for pair in pairs[:TRANSLATED]], **_PADDED)
    said = theirs.generate(**sources, num_beams=1, do_sample=False, max_new_tokens=40)[:, 1:]
    reference = {
        "source_ids": batch["input_ids"],
        "target_ids": target,
        "logits": logits,
        "sentences": sources["input_ids"],
        "translations": said.contiguous(),
    }
    save_file(reference, folder / "reference.safetensors")
    texts = tokenizer.batch_decode(said, skip_special_tokens=True)
    return sum(t == pair.target for t, pair in zip(texts, pairs[:TRANSLATED], strict=True))


_PADDED = {"return_tensors": "pt", "padding": True}


if __name__ == "__main__":
    main()
