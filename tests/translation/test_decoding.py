import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from transformer_course.model import Transformer, TransformerConfig, inference_mode
from transformer_course.translation.decoding import greedy

BOS, EOS, PAD = 1, 2, 0
CONFIG = TransformerConfig(
    source_vocab=11,
    target_vocab=11,
    d_model=16,
    heads=2,
    encoder_layers=2,
    decoder_layers=2,
    d_ff=24,
    dropout=0.3,
    max_len=70,
    pad_id=PAD,
    tying="none",
)
SOURCE = torch.tensor([[5, 6, 7, 8, EOS], [9, 5, EOS, PAD, PAD], [4, EOS, PAD, PAD, PAD]])


class Parrot(Transformer):
    """Says what it was told to, whatever it reads, and counts its calls."""

    def __init__(self, sentences: list[list[int]]) -> None:
        super().__init__(CONFIG)
        self.sentences = torch.tensor(sentences)
        self.encodings = self.decodings = 0

    def encode(self, source_ids: Tensor) -> Tensor:
        self.encodings += 1
        assert not self.training
        assert not torch.is_grad_enabled()
        return super().encode(source_ids)

    def decode(self, target_ids: Tensor, memory: Tensor, source_ids: Tensor) -> Tensor:
        self.decodings += 1
        said = self.sentences[:, : target_ids.shape[1]]
        return F.one_hot(said, CONFIG.target_vocab).float()


@pytest.fixture(params=[0, 1, 2])
def model(request: pytest.FixtureRequest) -> Transformer:
    """Return an untrained model, whose outputs are as good as random but depend on the source."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(request.param)
        return Transformer(CONFIG).double()


def decoded_alone(model: Transformer, source: Tensor, eos: int, max_length: int) -> list[int]:
    """Decode one sentence the plain way."""
    model.eval()
    target = [BOS]
    while target[-1] != eos and len(target) <= max_length:
        logits = model(source[None], torch.tensor([target]))
        target.append(int(logits[0, -1].argmax()))
    return target[1:]


def test_each_row_stops_at_its_end_token_and_is_filled_with_padding() -> None:
    parrot = Parrot([[5, EOS, 9, 9, 9], [5, 6, 7, EOS, 9], [EOS, 9, 9, 9, 9]])
    assert greedy(parrot, SOURCE, BOS, EOS).tolist() == [
        [5, EOS, PAD, PAD],
        [5, 6, 7, EOS],
        [EOS, PAD, PAD, PAD],
    ]


def test_decoding_stops_when_all_have_ended_and_encodes_once() -> None:
    parrot = Parrot([[5, EOS, 9, 9, 9], [5, 6, 7, EOS, 9], [EOS, 9, 9, 9, 9]])
    greedy(parrot, SOURCE, BOS, EOS)
    assert (parrot.encodings, parrot.decodings) == (1, 4)


def test_length_limit_holds() -> None:
    parrot = Parrot([[5] * 9, [6] * 9, [7, EOS, *[9] * 7]])
    assert greedy(parrot, SOURCE, BOS, EOS, max_length=3).tolist() == [
        [5, 5, 5],
        [6, 6, 6],
        [7, EOS, PAD],
    ]
    assert greedy(parrot, SOURCE, BOS, EOS, max_length=0).shape == (3, 0)


def test_each_sentence_may_grow_by_fifty_tokens() -> None:
    output = greedy(Parrot([[5] * 80] * 3), SOURCE, BOS, EOS)
    assert (output != PAD).sum(dim=1).tolist() == [55, 53, 52]


def test_no_output_is_longer_than_the_model_can_read_back() -> None:
    output = greedy(Parrot([[5] * 80] * 3), SOURCE, BOS, EOS, max_length=80)
    assert output.shape == (3, CONFIG.max_len - 1)
    Transformer(CONFIG)(SOURCE, torch.cat([torch.full((3, 1), BOS), output], dim=1))


def test_batch_equals_a_plain_loop_over_sentences(model: Transformer) -> None:
    likely_end = decoded_alone(model, SOURCE[1, :3], eos=-1, max_length=4)[-1]
    for eos in (EOS, likely_end):
        batch = greedy(model, SOURCE, BOS, eos, max_length=12)
        for row, source in zip(batch, SOURCE, strict=True):
            alone = decoded_alone(model, source[source != PAD], eos, max_length=12)
            assert row.tolist() == alone + [PAD] * (len(row) - len(alone))


def test_neighbours_in_the_batch_change_nothing(model: Transformer) -> None:
    together = greedy(model, SOURCE, BOS, EOS)
    for row, source in zip(together, SOURCE, strict=True):
        alone = greedy(model, source[source != PAD][None], BOS, EOS)[0]
        assert torch.equal(row[: len(alone)], alone)
        assert (row[len(alone) :] == PAD).all()


def test_dropout_is_off_and_comes_back(model: Transformer) -> None:
    evaluated = greedy(model.eval(), SOURCE, BOS, EOS)
    assert not model.training
    assert torch.equal(greedy(model.train(), SOURCE, BOS, EOS), evaluated)
    assert model.training
    assert all(module.training for module in model.modules())


def test_inference_mode_is_left_after_an_error_too(model: Transformer) -> None:
    model.train()
    with pytest.raises(RuntimeError), inference_mode(model):
        assert not model.training
        assert not torch.is_grad_enabled()
        raise RuntimeError
    assert model.training
    assert torch.is_grad_enabled()


def test_empty_batch_is_refused(model: Transformer) -> None:
    with pytest.raises(ValueError, match="at least one sentence"):
        greedy(model, torch.zeros(0, 3, dtype=torch.long), BOS, EOS)
