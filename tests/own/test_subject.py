"""A learner's whole file as a subject: what is wrong between its parts has a name."""

from dataclasses import dataclass, field
from types import ModuleType, SimpleNamespace

import pytest
import torch

from transformer_course.own import subject
from transformer_course.own.modules import module_of
from transformer_course.own.sections import template


@pytest.fixture(autouse=True)
def one_thread() -> None:
    torch.set_num_threads(1)


def file_with(*changes: tuple[str, str]) -> ModuleType:
    text = template()
    for old, new in changes:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    return module_of(text, "my_transformer_examined", "my_transformer.py")


BETWEEN_THE_PARTS = {
    "no causal mask": (
        "future_seen",
        (
            "causal_mask = given.causal_mask",
            "def causal_mask(length):\n    return torch.ones(length, length).bool()",
        ),
    ),
    "the encoder is detached": (
        "encoder_detached",
        (
            "Encoder = given.Encoder",
            "class Encoder(given.Encoder):\n    def forward(self, *inputs):\n"
            "        return super().forward(*inputs).detach()",
        ),
    ),
    "sources end in training only": (
        "source_without_the_end",
        (
            'source, _, _ = collate(self.encode([(text, "") for text in texts]), BOS, EOS, PAD)',
            'source, _, _ = collate(self.encode([(text, "") for text in texts]), BOS, EOS, PAD)'
            "\n        source = source.masked_fill(source == EOS, PAD)",
        ),
    ),
}


@pytest.mark.parametrize("name", BETWEEN_THE_PARTS)
def test_what_is_wrong_between_the_parts_has_a_name(name: str) -> None:
    key, change = BETWEEN_THE_PARTS[name]
    found = subject.examined(file_with(change))
    assert [fault.key for fault in found.faults] == [key], str(found)


@dataclass
class Trainer:
    step: int = 10
    steps: int = 10
    history: list[dict] = field(default_factory=list)


def test_advice_is_given_where_a_training_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subject, "examined", lambda module: SimpleNamespace(of=module.__name__))
    assert subject.advice(Trainer()) is None  # nothing was looked at
    assert subject.advice(Trainer(history=[{"dev_exact_match": 0.9}])) is None
    assert subject.advice(Trainer(step=3, history=[{"dev_exact_match": 0.1}])) is None
    assert subject.advice(Trainer(history=[{"dev_exact_match": 0.1}])).of == __name__
