"""What the file learns, beside what the course's own model learns."""

import pytest
import torch

from tests.real_texts import MULTI30K, needs_multi30k
from transformer_course import model, translation
from transformer_course.own import whole
from transformer_course.own.training import share_weights
from transformer_course.translation import toy_corpus


def texts(corpus, split: str, most: int | None = None) -> list[tuple[str, str]]:
    return [(pair.source, pair.target) for pair in corpus.split(split)[:most]]


@pytest.fixture
def toy():
    corpus = toy_corpus()
    return texts(corpus, "train", 400), texts(corpus, "dev", 20)


def test_training_goes_on_where_it_was_stopped(toy) -> None:
    file = whole.course()

    def trained(stop_at: int | None):
        trainer = file.Trainer(
            file.Translator.from_pairs(toy[0], d_model=16, d_ff=16), *toy, steps=6, look_every=2
        )

        def watch(trainer) -> None:
            if trainer.step == stop_at:
                raise KeyboardInterrupt

        if stop_at:
            with pytest.raises(KeyboardInterrupt):
                trainer.train(watch)
        trainer.train()
        return trainer

    straight, stopped = trained(None), trained(4)
    assert stopped.step == straight.step == 6
    assert [row["dev_loss"] for row in stopped.history] == [
        row["dev_loss"] for row in straight.history
    ]
    assert stopped.seconds_left == 0


def test_a_stop_during_the_last_look_loses_no_row(toy) -> None:
    file = whole.course()
    translator = file.Translator.from_pairs(toy[0], d_model=16, d_ff=16)
    trainer = file.Trainer(translator, *toy, steps=2, look_every=2)
    trainer.translator.translate = stopped
    with pytest.raises(KeyboardInterrupt):
        trainer.train()
    del trainer.translator.translate
    trainer.train()
    assert [row["step"] for row in trainer.history] == [2]


def stopped(texts) -> None:
    raise KeyboardInterrupt


def test_unknown_words_have_an_id(toy) -> None:
    file = whole.course()
    translator = file.Translator.from_pairs(toy[0], at_least=3, d_model=16, d_ff=16)
    [(source, target)] = translator.encode([("the zeppelin", "le zeppelin")])
    assert source[1] == target[1] == file.UNK
    assert isinstance(translator.translate(["the zeppelin"])[0], str)
    assert isinstance(translator.search("the zeppelin"), str)
    assert 0 <= translator.bleu(toy[1]) <= 100


def test_many_sentences_come_back_in_their_order(toy, monkeypatch) -> None:
    file, shapes = whole.course(), []
    translator = file.Translator.from_pairs(toy[0], d_model=16, d_ff=16)
    translator.target = translator.source

    def repeat(network, source, *limits):
        shapes.append(source.shape)
        return source

    monkeypatch.setattr(file, "greedy", repeat)
    sentences = [source for source, _ in toy[0][:50]]
    sentences.append(sentences[0])
    assert translator.translate(sentences) == sentences
    assert sum(rows for rows, _ in shapes) == 51
    assert shapes[0][1] < shapes[-1][1]  # the short ones do not wait for the long ones


@pytest.mark.parametrize(
    "text", ["l'homme n'aime pas le chat", "Où est-il, ce chat ?", "(oui!) il dort.", ""]
)
def test_sentences_come_back_from_their_words(text) -> None:
    file = whole.course()
    assert file.sentence(file.words(text)).replace(" ", "") == text.replace(" ", "")
    assert file.sentence(file.words("l'homme n'aime pas, dit-il.")) == "l'homme n'aime pas, dit-il."
    assert file.words("the dogs' bowl") == ["the", "dogs", "'", "bowl"]


def test_a_translation_is_right_however_its_marks_are_spaced(toy) -> None:
    file = whole.course()
    pairs = [("is it the man?", "est-ce l\u2019homme ?")]
    translator = file.Translator.from_pairs(pairs, d_model=16, d_ff=16)
    translator.translate = lambda texts: ["est-ce l'homme?" for _ in texts]
    trainer = file.Trainer(translator, pairs, pairs, steps=1)
    trainer.train()
    assert trainer.history[-1]["dev_exact_match"] == 1


def test_a_line_longer_than_the_positions_is_cut() -> None:
    file = whole.course()
    long = ["word " * 300, "mot " * 300]
    translator = file.Translator.from_pairs([long], d_model=16, d_ff=16)
    file.Trainer(translator, [long], [long], steps=1).train()
    assert len(translator.encode([long])[0][0]) == 240


@pytest.mark.exhaustive
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_toy_is_learned(seed: int) -> None:
    file, corpus = whole.course(), toy_corpus()
    train, dev = texts(corpus, "train"), texts(corpus, "dev", 200)
    torch.set_num_threads(1)
    trainer = file.Trainer(file.Translator.from_pairs(train, seed=seed), train, dev, seed=seed)
    trainer.train()
    assert trainer.history[-1]["dev_exact_match"] >= 0.99


STEPS = 300


@pytest.mark.exhaustive
@pytest.mark.timeout(3000)
@needs_multi30k
def test_real_text_is_learned_as_by_the_course() -> None:
    """With the same words, batches and first weights, without dropout."""
    file, corpus = whole.course(), translation.multi30k_corpus("en-fr", MULTI30K)
    train, dev = texts(corpus, "train"), texts(corpus, "dev", 200)
    translator = file.Translator.from_pairs(train, at_least=3)
    trainer = file.Trainer(translator, train, dev, steps=STEPS, warmup=100, look_every=STEPS)
    theirs = _course_model(translator.network)
    batches, take = [], trainer.next_batch
    trainer.next_batch = lambda: batches.append(take()) or batches[-1]
    trainer.train()
    assert trainer.history[-1]["dev_loss"] == pytest.approx(
        _dev_loss_by_the_course(theirs, batches, trainer), rel=0.01
    )


def _course_model(network) -> model.Transformer:
    config = model.TransformerConfig(**vars(network.config))
    theirs = model.Transformer(config)
    theirs.load_state_dict(network.state_dict(), strict=False)
    twin = type(network)(network.config)
    share_weights(twin, theirs)
    for one, other in zip(twin.parameters(), network.parameters(), strict=True):
        assert torch.equal(one, other)
    return theirs


def _dev_loss_by_the_course(theirs, batches, trainer) -> float:
    optimizer = torch.optim.Adam(theirs.parameters(), betas=(0.9, 0.98), eps=1e-9)
    for step, (source, target_in, target_out) in enumerate(batches, start=1):
        rate = trainer.rate * translation.noam(step, theirs.config.d_model, trainer.warmup)
        optimizer.param_groups[0]["lr"] = rate * min(1.0, 5 - 5 * (step - 1) / STEPS)
        logits = theirs(source, target_in).flatten(0, 1)
        loss = translation.smoothed_cross_entropy(
            logits, target_out.flatten(), trainer.smoothing, translation.PAD
        )
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    trainer.translator.network = theirs
    return trainer.dev_loss()
