import pytest
import torch

from transformer_course import model, plots

PAIRS = [("the cat sleeps", "le chat dort"), ("a dog eats", "un chien mange")] * 4
SIZES = {"d_model": 8, "heads": 2, "encoder_layers": 1, "decoder_layers": 1, "d_ff": 16}


@pytest.fixture
def trainer(own):
    return lambda: own.Trainer(
        own.Translator.from_pairs(PAIRS, **SIZES), PAIRS, PAIRS[:3], steps=6, look_every=2
    )


def weights(trainer) -> list[torch.Tensor]:
    return list(trainer.translator.network.parameters())


def test_stopped_training_goes_on_where_it_was(trainer) -> None:
    straight, stopped = trainer(), trainer()
    straight.train()

    def press_stop(_) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        stopped.train(watch=press_stop)
    assert stopped.step == 2
    stopped.train()
    assert [row["step"] for row in stopped.history] == [2, 4, 6]
    assert all(map(torch.equal, weights(stopped), weights(straight)))


def test_trainer_that_is_done_takes_no_step(trainer) -> None:
    done = trainer()
    done.train()
    before = [weight.clone() for weight in weights(done)]
    done.train()
    assert len(done.history) == 3
    assert all(map(torch.equal, weights(done), before))


def test_its_picture_can_be_drawn_at_any_time(trainer) -> None:
    seen = []
    run = trainer()
    plots.learning_to_translate(run)
    run.train(watch=lambda now: seen.append(plots.learning_to_translate(now).description))
    assert [text.partition(",")[0].partition(".")[0] for text in seen] == [
        "Step 2 of 6",
        "Step 4 of 6",
        "Step 6 of 6",
    ]
    assert "the cat sleeps" in seen[0]


def test_learned_weights_move_into_the_courses_model(trainer, own) -> None:
    run = trainer()
    run.train()
    network = run.translator.network
    twin = model.Transformer(model.TransformerConfig(**vars(network.config)))
    twin.load_state_dict(dict(network.named_parameters()), strict=False)
    assert dict(twin.named_parameters()).keys() == dict(network.named_parameters()).keys()
    source, target_in, _ = own.collate(run.translator.encode(PAIRS), own.BOS, own.EOS, own.PAD)
    with torch.no_grad():
        ours, theirs = network.eval()(source, target_in), twin.eval()(source, target_in)
    torch.testing.assert_close(ours, theirs)
