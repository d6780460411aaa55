"""A model and its two tokenisers: sentences in, sentences out."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

from transformer_course.checks import check_whole
from transformer_course.files import atomic_write
from transformer_course.model import (
    Transformer,
    TransformerConfig,
    capture_attention,
    evaluating,
)
from transformer_course.translation.checkpoints import (
    CheckpointError,
    read_json,
    read_tensors,
    write_json,
    write_tensors,
)
from transformer_course.translation.corpora.batches import Batch, pad_rows
from transformer_course.translation.corpora.corpus import SentencePair
from transformer_course.translation.corpora.encoded import EncodedPair, EncodedText
from transformer_course.translation.corpora.subwords import (
    SubwordTokenizer,
    learn_subwords,
    sample,
)
from transformer_course.translation.corpora.vocabulary import (
    BOS,
    EOS,
    PAD,
    SPECIAL_TOKENS,
    Tokenizer,
    Vocabulary,
    WordTokenizer,
)
from transformer_course.translation.decoding.beam import beam_search
from transformer_course.translation.decoding.forced import sequence_log_probability
from transformer_course.translation.decoding.next_token import greedy

CONFIG_FILE = "config.json"
MODEL_FILE = "model.safetensors"
SUBWORDS_FILE = "subwords.model"
LONGEST_MAX_LEN = 100_000
ENCODED_AT_ONCE = 10_000
TRANSLATED_AT_ONCE = 100

SHIPPED = Path(__file__).parents[1] / "checkpoints"
CAPTIONS = SHIPPED / "captions.en"
"""English captions written for the course; each translator of captions shows its translations."""


def shipped_checkpoint(name: str) -> Path:
    """Return the folder of a trained translator that ships with the course.

    Parameters
    ----------
    name
        ``"toy"``; ``"multi30k-en-fr"`` or ``"multi30k-en-de"``, which translate captions.

    Raises
    ------
    ValueError
        If no translator of that name ships.
    """
    names = shipped_names()
    if name not in names:
        raise ValueError(f"no translator {name!r} ships with the course; use {', '.join(names)}.")
    return SHIPPED / name


def shipped_names() -> list[str]:
    """Return the names of the translators that ship with the course."""
    return sorted(folder.name for folder in SHIPPED.iterdir() if folder.is_dir())


def toy_checkpoint() -> Path:
    """Return the folder of the toy translator that ships with the course."""
    return shipped_checkpoint("toy")


@dataclass
class Translator:
    """A Transformer with the tokenisers of its source and target language."""

    model: Transformer
    source: Tokenizer
    target: Tokenizer

    @classmethod
    def from_pairs(
        cls,
        pairs: Sequence[SentencePair],
        languages: tuple[str, str],
        min_frequency: int = 1,
        seed: int = 0,
        subwords: int | bytes | None = None,
        **sizes: Any,
    ) -> "Translator":
        """Build an untrained translator: vocabularies from the pairs, random weights.

        Parameters
        ----------
        pairs
            The training split.
        languages
            Codes of source and target.
        min_frequency
            Words seen less often than this become ``<unk>``.
        seed
            Determines the weights.
        subwords
            If given, both languages share this many sub-words, or those that :func:`learn_subwords`
            returned, instead of having words of their own.
        sizes
            Fields of :class:`TransformerConfig` other than the vocabularies.

        Raises
        ------
        ValueError
            If a size is impossible, a language has no tokeniser, or that many sub-words cannot be
            learned from the pairs.
        """
        sources, targets = [pair.source for pair in pairs], [pair.target for pair in pairs]
        if subwords:
            learned = isinstance(subwords, bytes)
            texts = sample([*sources, *targets])
            pieces = subwords if learned else learn_subwords(texts, subwords)
            source, target = (SubwordTokenizer(language, pieces) for language in languages)
        else:
            source = WordTokenizer.from_texts(languages[0], sources, min_frequency)
            target = WordTokenizer.from_texts(languages[1], targets, min_frequency)
        config = TransformerConfig(
            source_vocab=len(source.vocabulary),
            target_vocab=len(target.vocabulary),
            pad_id=PAD,
            **{"tying": "three_way" if subwords else "two_way", **sizes},
        )
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            return cls(Transformer(config), source, target)

    def for_other_text(self, languages: tuple[str, str], sizes: Mapping[str, Any]) -> "Translator":
        """Return a translator with these weights and tokens, to be trained on another text.

        Parameters
        ----------
        languages
            Codes of source and target.
        sizes
            Fields of :class:`TransformerConfig`; of them only dropout may differ.

        Raises
        ------
        ValueError
            If the weights belong to other sizes, or the tokens are words of other languages.
        """
        config = replace(self.model.config, **sizes)
        other = asdict(config).items() - asdict(self.model.config).items()
        for name, value in sorted(other):
            if name != "dropout":
                raise ValueError(
                    f"the weights to go on with have {name} = {getattr(self.model.config, name)}, "
                    f"and {value} was asked for: leave it as it is, or train from the beginning."
                )
        model = Transformer(config)
        model.load_state_dict(self.model.state_dict())
        sides = zip((self.source, self.target), languages, strict=True)
        return Translator(model, *(_for_language(side, language) for side, language in sides))

    def encode_pairs(self, pairs: Sequence[SentencePair]) -> list[EncodedPair]:
        """Turn sentence pairs into pairs of id lists.

        Raises
        ------
        ValueError
            If a sentence is longer than the model can read.
        """
        return [*self.encode_text(pairs)]

    def encode_text(self, pairs: Sequence[SentencePair]) -> EncodedText:
        """Turn the sentence pairs of a whole text into ids; errors as :meth:`encode_pairs`."""
        return EncodedText(
            self._encode(self.source, [pair.source for pair in pairs]),
            self._encode(self.target, [pair.target for pair in pairs]),
        )

    def batch(self, pairs: Sequence[EncodedPair]) -> Batch:
        """Make a batch of encoded pairs, where the model computes."""
        return Batch.from_pairs(pairs, BOS, EOS, PAD).to(self.device)

    def _encode(self, tokenizer: Tokenizer, sentences: Sequence[str]) -> Iterator[list[int]]:
        for start in range(0, len(sentences), ENCODED_AT_ONCE):
            chunk = sentences[start : start + ENCODED_AT_ONCE]
            for sentence, ids in zip(chunk, tokenizer.encode_all(chunk), strict=True):
                if fault := self._fault(ids):
                    raise ValueError(f"the sentence that begins with {sentence[:40]!r} {fault}")
                yield ids

    def faults(self, sentences: Sequence[str]) -> dict[int, str]:
        """Say for each source sentence that the model cannot read, by its place, why."""
        found = [self._fault(self.source.encode(sentence)) for sentence in sentences]
        return {place: fault for place, fault in enumerate(found) if fault}

    def _fault(self, ids: list[int]) -> str | None:
        longest = self.model.config.max_len - 1  # the begin or the end token takes a place
        if len(ids) <= longest:
            return None
        return (
            f"has {len(ids)} tokens; this translator reads at most {longest} at once. Split the "
            f"sentence."
        )

    @property
    def device(self) -> torch.device:
        """Where the model computes."""
        return self.model.output.weight.device

    def translate(
        self, sentences: Sequence[str], batch_size: int = TRANSLATED_AT_ONCE, beam: int = 1
    ) -> list[str]:
        """Translate sentences; the result has the same order, blank lines stay blank.

        Parameters
        ----------
        sentences
            Source sentences.
        batch_size
            Sentences translated at once, grouped by length.
        beam
            Hypotheses kept at each step; 1 is greedy decoding.

        Raises
        ------
        ValueError
            If a sentence is longer than the model can read, ``sentences`` is no list, or ``beam``
            or ``batch_size`` is below 1.
        """
        translations = [""] * len(sentences)
        for numbers, _, found in self._search(sentences, batch_size, beam):
            for number, ids in zip(numbers, found, strict=True):
                translations[number] = self.target.decode(ids)
        return translations

    def translate_with_scores(
        self, sentences: Sequence[str], beam: int = 1
    ) -> list[tuple[str, float]]:
        """Translate as :meth:`translate`; say how sure the model is of each translation.

        Returns
        -------
        translations
            Each with the mean log-probability of its tokens, the end token included, in nats: 0 is
            certain. A blank line stays blank, and is certain.
        """
        translations = [("", 0.0)] * len(sentences)
        for numbers, source_ids, found in self._search(sentences, TRANSLATED_AT_ONCE, beam):
            rows = [[i for i in ids if i not in (PAD, EOS)] for ids in found]
            target_in = pad_rows([[BOS, *row] for row in rows], PAD).to(self.device)
            target_out = pad_rows([[*row, EOS] for row in rows], PAD).to(self.device)
            sums = sequence_log_probability(self.model, source_ids, target_in, target_out)
            for number, row, total in zip(numbers, rows, sums.tolist(), strict=True):
                translations[number] = self.target.decode(row), total / (len(row) + 1)
        return translations

    def _search(
        self, sentences: Sequence[str], batch_size: int, beam: int
    ) -> Iterator[tuple[list[int], Tensor, list[Sequence[int]]]]:
        """Yield the numbers of similarly long sentences, their ids, and those of translations."""
        if isinstance(sentences, str):
            raise ValueError("a list of sentences is wanted; put a single one into brackets.")
        check_whole("batch_size", batch_size)
        check_whole("beam", beam)
        encoded = [*self._encode(self.source, sentences)]
        by_length = sorted(
            (number for number, ids in enumerate(encoded) if ids), key=lambda n: len(encoded[n])
        )
        for start in range(0, len(by_length), batch_size):
            numbers = by_length[start : start + batch_size]
            source_ids = pad_rows([encoded[number] + [EOS] for number in numbers], PAD)
            source_ids = source_ids.to(self.device)
            yield numbers, source_ids, self._decode(source_ids, beam)

    def _decode(self, source_ids: Int[Tensor, "batch source"], beam: int) -> list[Sequence[int]]:
        if beam == 1:
            return greedy(self.model, source_ids, BOS, EOS).tolist()
        best = beam_search(self.model, source_ids, BOS, EOS, beam)
        return [hypotheses[0].tokens for hypotheses in best]

    def cross_attention(
        self, pairs: Sequence[SentencePair], batch_size: int = TRANSLATED_AT_ONCE
    ) -> Iterator[Float[Tensor, "layers heads target source"]]:
        """Yield, pair by pair, how each target word's prediction attends to the source.

        The target is fed in as it stands (teacher forcing). Rows are the target's words and the
        end token, columns the source's words and the end token.
        """
        check_whole("batch_size", batch_size)
        encoded = self.encode_pairs(pairs)
        for start in range(0, len(encoded), batch_size):
            chunk = encoded[start : start + batch_size]
            batch = self.batch(chunk)
            with evaluating(self.model), capture_attention(self.model) as maps:
                self.model(batch.source, batch.target_in)
            layers = range(self.model.config.decoder_layers)
            weights = [maps[f"decoder.layers.{layer}.cross_attention"] for layer in layers]
            for row, (source_words, target_words) in enumerate(chunk):
                per_layer = torch.stack([w[row] for w in weights])
                yield per_layer[..., : len(target_words) + 1, : len(source_words) + 1]

    def attention_map(
        self, source: str, target: str | None = None
    ) -> tuple[Float[Tensor, "layers heads target source"], list[str], list[str]]:
        """Return the cross-attention of one sentence pair with the words of its rows and columns.

        Parameters
        ----------
        source
            The source sentence.
        target
            Its translation; by default the translator's own.
        """
        pair = SentencePair(source, self.translate([source])[0] if target is None else target)
        weights = next(self.cross_attention([pair]))
        end = SPECIAL_TOKENS[EOS]
        rows, columns = self.target.tokens(pair.target), self.source.tokens(pair.source)
        return weights, [*rows, end], [*columns, end]

    def save(self, folder: Path) -> None:
        """Write configuration, weights and sub-words into an existing folder, atomically each."""
        config = {
            "model": asdict(self.model.config),
            "source": _describe(self.source),
            "target": _describe(self.target),
        }
        if isinstance(self.source, SubwordTokenizer):
            with atomic_write(folder / SUBWORDS_FILE) as temporary:
                temporary.write_bytes(self.source.pieces)
        write_json(folder / CONFIG_FILE, config)
        write_tensors(folder / MODEL_FILE, parameters_by_name(self.model), {})

    @classmethod
    def load(cls, folder: str | Path) -> "Translator":
        """Read a translator that :meth:`save` or a training run wrote.

        Raises
        ------
        CheckpointError
            If the folder holds no checkpoint, a damaged one, or weights of another configuration
            or that are not finite.
        """
        folder = Path(folder)
        content = read_json(folder / CONFIG_FILE)
        weights, _ = read_tensors(folder / MODEL_FILE)
        try:
            source = _tokenizer(content["source"], folder)
            target = _tokenizer(content["target"], folder)
            config = _config(content["model"])
            _check_vocabularies(config, source, target)
            _check_sizes(config, weights)
            with torch.random.fork_rng(devices=[]):
                model = Transformer(config)
        except CheckpointError:
            raise
        except (KeyError, TypeError, ValueError) as error:
            raise CheckpointError(
                f"{folder / CONFIG_FILE} does not describe a translator ({error}); restore it or "
                f"train again."
            ) from None
        load_parameters(model, weights, folder / MODEL_FILE)
        return cls(model.eval(), source, target)


def _for_language(tokenizer: Tokenizer, language: str) -> Tokenizer:
    """Return the tokeniser for a text of another language."""
    if isinstance(tokenizer, SubwordTokenizer):
        return SubwordTokenizer(language, tokenizer.pieces)
    if tokenizer.language != language:
        raise ValueError(
            f"the weights to go on with know words of {tokenizer.language!r}, and the text is "
            f"{language!r}: go on from a translator with sub-words, or train from the beginning."
        )
    return tokenizer


def _describe(tokenizer: Tokenizer) -> dict[str, Any]:
    if isinstance(tokenizer, SubwordTokenizer):
        return {"language": tokenizer.language, "subwords": SUBWORDS_FILE}
    return {"language": tokenizer.language, "tokens": tokenizer.vocabulary.tokens}


def _tokenizer(description: dict[str, Any], folder: Path) -> Tokenizer:
    """Build the tokeniser that :func:`_describe` described."""
    if "tokens" in description:
        return WordTokenizer(description["language"], Vocabulary(description["tokens"]))
    return SubwordTokenizer(description["language"], read_subwords(folder))


def read_subwords(folder: Path) -> bytes:
    """Read the sub-words of a translator; raise CheckpointError if they are missing or damaged."""
    path = folder / SUBWORDS_FILE
    try:
        pieces = path.read_bytes()
        SubwordTokenizer("en", pieces)
    except FileNotFoundError:
        raise CheckpointError(f"{path} is missing; restore it or train again.") from None
    except ValueError as error:
        raise CheckpointError(
            f"{path} cannot be read: {error} Restore it or train again."
        ) from None
    return pieces


def _config(stored: dict[str, Any]) -> TransformerConfig:
    # A default in place of what is missing could fit the weights, and compute something else.
    missing = [field.name for field in fields(TransformerConfig) if field.name not in stored]
    if missing:
        raise ValueError(f"{', '.join(missing)} is missing")
    return TransformerConfig(**stored)


def _check_vocabularies(config: TransformerConfig, source: Tokenizer, target: Tokenizer) -> None:
    tokens = len(source.vocabulary), len(target.vocabulary)
    if tokens != (config.source_vocab, config.target_vocab) or config.pad_id != PAD:
        raise ValueError(
            f"its vocabularies have {tokens} tokens and padding {PAD}, its model "
            f"{config.source_vocab, config.target_vocab} and {config.pad_id}"
        )


def _check_sizes(config: TransformerConfig, weights: dict[str, Tensor]) -> None:
    """Raise ValueError if the model is far larger than the stored weights.

    A damaged or hostile configuration may ask for more memory than there is. The matrices of the
    layers and one table are counted: all the rest is not much more. What differs by less than a
    factor of ten is made, so that the weights can say in what.
    """
    stored = sum(tensor.numel() for tensor in weights.values())
    layers = config.encoder_layers + config.decoder_layers
    matrices = 4 * config.d_model + 2 * config.d_ff  # attention has four, feed-forward two
    tokens = max(config.source_vocab, config.target_vocab)
    numbers = config.d_model * (layers * matrices + tokens)
    if layers > len(weights) or numbers > 10 * stored:
        raise ValueError(f"it asks for a larger model than the {stored} stored numbers can fill")
    if config.max_len > LONGEST_MAX_LEN:  # no stored number vouches for it
        raise ValueError(f"max_len may be {LONGEST_MAX_LEN} at most; got {config.max_len}")


def parameters_by_name(model: Transformer) -> dict[str, Tensor]:
    """Return the model's weights by name, each shared table only once."""
    return dict(model.named_parameters())


def _check_parameters(model: Transformer, tensors: dict[str, Tensor], origin: Path) -> None:
    """Raise CheckpointError unless names and shapes are those of :func:`parameters_by_name`."""
    shapes = {name: tuple(tensor.shape) for name, tensor in parameters_by_name(model).items()}
    stored = {name: tuple(tensor.shape) for name, tensor in tensors.items()}
    if shapes != stored:
        different = sorted(shapes.items() ^ stored.items())[0][0]
        raise CheckpointError(
            f"{origin} belongs to another configuration: {different} has shape "
            f"{stored.get(different, 'nothing')} there, {shapes.get(different, 'nothing')} in the "
            f"model. Use the config.json that was written with it."
        )


def load_parameters(model: Transformer, tensors: dict[str, Tensor], origin: Path) -> None:
    """Put back what :func:`parameters_by_name` gave.

    Raises
    ------
    CheckpointError
        If it does not fit, or holds numbers that are not finite.
    """
    _check_parameters(model, tensors, origin)
    with torch.no_grad():
        for name, tensor in parameters_by_name(model).items():
            tensor.copy_(tensors[name])
            if not tensor.isfinite().all():
                raise CheckpointError(
                    f"{origin} holds numbers that are not finite, in {name}; restore it or train "
                    f"again."
                )
