"""The dev split: how well a translator does on sentences that it is not trained on."""

import torch.nn.functional as F

from transformer_course.model import evaluating
from transformer_course.translation.corpora.batches import length_batches
from transformer_course.translation.corpora.corpus import SentencePair
from transformer_course.translation.corpora.vocabulary import PAD
from transformer_course.translation.evaluation.metrics import bleu, exact_match
from transformer_course.translation.translator import Translator


class DevSplit:
    """Sentence pairs to evaluate a translator on, again and again while it is trained."""

    def __init__(
        self, translator: Translator, pairs: list[SentencePair], batch_tokens: int
    ) -> None:
        self.translator = translator
        self.pairs = pairs
        encoded = translator.encode_pairs(pairs)
        self.batches = [
            translator.batch([encoded[number] for number in group])
            for group in length_batches(encoded, batch_tokens)
        ]

    def evaluate(self) -> dict[str, float]:
        """Return ``dev_loss``, ``dev_exact_match`` and ``dev_bleu``; see :class:`Trainer`."""
        translations = self.translator.translate([pair.source for pair in self.pairs])
        references = [pair.target for pair in self.pairs]
        return {
            "dev_loss": self.loss(),
            "dev_exact_match": exact_match(translations, references),
            "dev_bleu": bleu(translations, references, self.translator.target.language),
        }

    def loss(self) -> float:
        """Return the mean cross-entropy, not smoothed, in nats per token."""
        model = self.translator.model
        total = tokens = 0
        with evaluating(model):
            for batch in self.batches:
                logits = model(batch.source, batch.target_in).flatten(0, 1)
                targets = batch.target_out.flatten()
                total += F.cross_entropy(logits, targets, ignore_index=PAD, reduction="sum").item()
                tokens += int((targets != PAD).sum())
        return total / tokens
