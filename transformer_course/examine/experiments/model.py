"""What the scores depend on, whatever the weights are."""

import functools
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

from transformer_course.examine.bench import (
    BATCH,
    EFFECT,
    SOURCE,
    TARGET,
    Bench,
    NotExamined,
    in_a_line,
)
from transformer_course.examine.experiment import Outcome, experiment


def _of_model(name: str, question: str, fine: str, wrong: str) -> Callable:
    def add(run: Callable[[Bench], Outcome]) -> Callable[[Bench], Outcome]:
        @functools.wraps(run)
        def aloud(bench: Bench) -> Outcome:
            with bench.aloud():
                return run(bench)

        return experiment(name, question, fine=fine, wrong=wrong)(aloud)

    return add


@_of_model(
    "scores",
    "What does the model return: logits, log-probabilities or probabilities?",
    fine="logits | log-probabilities",
    wrong="probabilities | logits of which none is negative | they sum along the sentence | NaN",
)
def scores(bench: Bench) -> Outcome:
    """Look at what the scores of a position sum to."""
    usual = bench.usual_scores
    share = float(usual.isnan().any(dim=-1).float().mean())
    if share:
        return Outcome("NaN", {"share of the positions": share})
    numbers = {"smallest": float(usual.min()), "largest": float(usual.max())}
    if bench.kind == "logits" and usual.min() >= 0:
        return Outcome("logits of which none is negative", numbers)
    if bench.kind == "logits" and (usual.logsumexp(dim=1).abs() < EFFECT).all():
        return Outcome("they sum along the sentence", numbers)
    return Outcome(bench.kind, numbers)


@_of_model(
    "two calls",
    "Do two calls in eval mode return the same?",
    fine="the same",
    wrong="different | not after other sentences",
)
def two_calls(bench: Bench) -> Outcome:
    """Ask twice, and once more after other sentences of the same shape, some of them padded."""
    if not bench.is_steady:
        return Outcome("different")
    ragged, pad = bench.ragged[0], bench.subject.source_pad
    fewer = bench.sources[:, :-1]
    others = torch.where(ragged == pad, pad, bench.other_source_words(ragged))
    after = []
    for calls in ((fewer, bench.sources), (fewer, others, bench.sources)):
        said = [bench.scores(source, bench.targets) for source in calls]
        after.append(said[-1])
    moved = bench.effect(*after)
    if moved.max() <= EFFECT and source_padding(bench).word == "no":
        moved = _effect_of_the_same_shape_before(bench)
    return Outcome(
        _if(moved.max() > EFFECT, "not after other sentences", "the same"), _moved(moved)
    )


def _effect_of_the_same_shape_before(bench: Bench) -> Tensor:
    """Ask a sentence without padding, then after one of the same shape that has more of it."""
    target, pad = bench.targets[[1]], bench.subject.source_pad
    sentence = torch.cat([bench.sources, bench.sources[:, :2]], dim=1)[[1]]
    alone = bench.scores(sentence, target)
    bench.scores(F.pad(bench.other_source_words(sentence)[:, :SOURCE], (0, 4), value=pad), target)
    return bench.effect(bench.scores(F.pad(sentence, (0, 2), value=pad), target), alone)


@_of_model(
    "dropout",
    "Is dropout on in train mode?",
    fine="on in training | there is none",
    wrong="",
)
def dropout(bench: Bench) -> Outcome:
    """Ask twice in train mode."""
    with bench.untouched(), torch.no_grad():
        bench.network.train()
        first, second = (
            bench.scores_as_it_is(bench.sources, bench.targets).float().cpu() for _ in range(2)
        )
    moved = bench.effect(first, second)
    return Outcome(_if(moved.max() > EFFECT, "on in training", "there is none"), _moved(moved))


@_of_model(
    "future",
    "Which later tokens of the target move the scores at a position?",
    fine="none",
    wrong="the next few | at the first position only | some | all",
)
def future(bench: Bench) -> Outcome:
    """Change one token of the target at a time."""
    effects = bench.once(effect_of_target_tokens)
    rows, columns = torch.tril_indices(TARGET, TARGET, -1)
    moved = effects[rows, columns] > EFFECT
    numbers = {"effects": effects.tolist()}
    if not moved.any():
        return Outcome("none", numbers)
    if moved.all():
        return Outcome("all", numbers)
    if not moved[columns > 0].any():
        return Outcome("at the first position only", numbers)
    ahead = (rows - columns)[moved].max()
    banded = bool((moved == (rows - columns <= ahead)).all())
    return Outcome(_if(banded, "the next few", "some"), numbers)


@_of_model(
    "past",
    "Which earlier tokens of the target move the scores at a position?",
    fine="all",
    wrong="some | none",
)
def past(bench: Bench) -> Outcome:
    """Change one token of the target at a time."""
    effects = bench.once(effect_of_target_tokens)
    rows, columns = torch.triu_indices(TARGET, TARGET, 1)
    return _how_many(effects[rows, columns] > EFFECT, {"effects": effects.tolist()})


@_of_model(
    "own token",
    "Does the token at a position move the scores there?",
    fine="yes",
    wrong="no",
)
def own_token(bench: Bench) -> Outcome:
    """Change one token of the target at a time."""
    effects = bench.once(effect_of_target_tokens).diagonal()
    return Outcome(_if((effects > EFFECT).all(), "yes", "no"), {"effects": effects.tolist()})


@_of_model(
    "begin token",
    "Is the begin token read at the positions behind it?",
    fine="yes",
    wrong="no",
)
def begin_token(bench: Bench) -> Outcome:
    """Change its vector, the row of the target's tables; its own score may move with that."""
    vocab, begin = bench.subject.target_vocab, bench.subject.bos
    tables = [each for each in bench.network.parameters() if each.dim() == 2 and len(each) == vocab]
    others = [token for token in range(vocab) if token != begin]

    def said() -> Tensor:
        scores = bench.scores(bench.sources, bench.targets)[..., others]
        return scores - scores.mean(dim=-1, keepdim=True)

    usual = said()
    with bench.untouched(), torch.no_grad():
        for table in tables:
            table[begin] += table.std() * torch.randn(table.shape[1]).to(table)
        moved = bench.effect(said(), usual)
    if moved[:, 0].max() <= EFFECT:
        raise NotExamined("no parameter of the network holds the vector of the begin token")
    behind = moved[:, 1:]
    return Outcome(_if(behind.max() > EFFECT, "yes", "no"), _moved(behind))


@_of_model(
    "source",
    "Which tokens of the source move the scores?",
    fine="all",
    wrong="all but the last | only the first | some | none",
)
def source(bench: Bench) -> Outcome:
    """Change one token of the source at a time."""
    effects = bench.once(effect_of_source_tokens)
    read = (effects > EFFECT).any(dim=1).tolist()
    words = {
        (True,) * SOURCE: "all",
        (False,) * SOURCE: "none",
        (True,) * (SOURCE - 1) + (False,): "all but the last",
        (True,) + (False,) * (SOURCE - 1): "only the first",
    }
    return Outcome(words.get(tuple(read), "some"), {"effects": effects.tolist()})


@_of_model(
    "source for the first word",
    "Does the first position of the target see as much of the source as the last one?",
    fine="yes",
    wrong="no",
)
def source_for_the_first_word(bench: Bench) -> Outcome:
    """Change one token of the source at a time."""
    read = bench.once(effect_of_source_tokens) > EFFECT
    if not read[:, -1].all():
        raise NotExamined("not all of the source is read")
    first = read[:, 0]
    numbers = {"tokens of the source": SOURCE, "that the first position sees": int(first.sum())}
    return Outcome(_if(first.all(), "yes", "no"), numbers)


@_of_model(
    "padded source",
    "Do the words of a source move the scores where padding is behind them?",
    fine="yes",
    wrong="no",
)
def padded_source(bench: Bench) -> Outcome:
    """Change all words of a padded source."""
    said = [
        bench.scores(F.pad(ids, (0, 3), value=bench.subject.source_pad), bench.targets[:1])
        for ids in (bench.sources[:1], bench.other_source_words(bench.sources[:1]))
    ]
    effect = bench.effect(*said)
    return Outcome(_if(effect.max() > EFFECT, "yes", "no"), _moved(effect))


def effect_of_target_tokens(bench: Bench) -> Tensor:
    """Return how far each token of a target (row) moves the scores at each position (column)."""
    source, target = bench.sources[:1], bench.targets[:1]
    changed = torch.where(torch.eye(TARGET).bool(), bench.other_target_words(target), target)
    usual = bench.scores(source, target)
    return torch.cat([bench.effect(bench.scores(source, row[None]), usual) for row in changed])


def effect_of_source_tokens(bench: Bench) -> Tensor:
    """Return how far each token of a source (row) moves the scores at each position (column)."""
    source, target = bench.sources[:1], bench.targets[:1]
    changed = torch.where(torch.eye(SOURCE).bool(), bench.other_source_words(source), source)
    usual = bench.scores(source, target)
    return torch.cat([bench.effect(bench.scores(row[None], target), usual) for row in changed])


@_of_model(
    "source padding",
    "Does padding behind a source move the scores?",
    fine="no",
    wrong="yes | NaN",
)
def source_padding(bench: Bench) -> Outcome:
    """Put padding behind the sources."""
    padded = F.pad(bench.sources, (0, 3), value=bench.subject.source_pad)
    return _unmoved(bench, bench.scores(padded, bench.targets))


@_of_model(
    "target padding",
    "Does padding behind a target move the scores of its tokens?",
    fine="no",
    wrong="yes | NaN",
)
def target_padding(bench: Bench) -> Outcome:
    """Put padding behind the targets."""
    padded = F.pad(bench.targets, (0, 3), value=bench.subject.pad)
    return _unmoved(bench, bench.scores(bench.sources, padded)[:, :TARGET])


@_of_model(
    "other sentences",
    "Do the other sentences of a batch move the scores of one?",
    fine="no",
    wrong="yes",
)
def other_sentences(bench: Bench) -> Outcome:
    """Give sentences of several lengths alone, then together."""
    _must_be_steady(bench)
    sources, targets = bench.ragged
    alone = [bench.scores(sources[[row]], targets[[row]]) for row in range(BATCH)]
    effect = bench.effect(torch.cat(alone), bench.scores(sources, targets))
    return Outcome(_if(effect.max() > EFFECT, "yes", "no"), _moved(effect))


@_of_model(
    "positions",
    "Can the model tell where in a sentence a word stands?",
    fine="in both | relative",
    wrong="not in the decoder | not in the encoder | in neither",
)
def positions(bench: Bench) -> Outcome:
    """Swap two words, and repeat a word all over a sentence."""
    if past(bench).word == "none":
        raise NotExamined("a position does not read the others")
    order = _effect_of_source_order(bench)
    numbers = {"effect of the source's order": order}
    if bench.once(effect_of_source_tokens).max() <= EFFECT:
        raise NotExamined("the source is not read")
    place = _effect_of_place_in_source(bench)
    target = _effect_of_place_in_target(bench)
    numbers |= {"effect of a place in the source": place, "in the target": target}
    in_source, in_target = place > EFFECT, target > EFFECT
    if order <= EFFECT:
        return Outcome(_if(in_target, "not in the encoder", "in neither"), numbers)
    if in_target:
        return Outcome("in both", numbers)
    return Outcome(_if(in_source, "not in the decoder", "relative"), numbers)


def _effect_of_source_order(bench: Bench) -> float:
    """Swap the second and the fourth word, which are made different."""
    source, target = bench.sources[:1].clone(), bench.targets[:1]
    source[0, 3] = bench.other_source_words(source[:, 1:2])
    swapped = source[:, [0, 3, 2, 1, 4]]
    return float(bench.effect(bench.scores(swapped, target), bench.scores(source, target)).max())


def _effect_of_place_in_source(bench: Bench) -> float:
    """Repeat one word more and less often: only its places differ."""
    word, target = bench.sources[:1, :1], bench.targets[:1]
    few, many = (bench.scores(word.expand(1, times), target) for times in (3, SOURCE))
    return float(bench.effect(few, many).max())


def _effect_of_place_in_target(bench: Bench) -> float:
    """Repeat one word: only its places differ."""
    said = bench.scores(bench.sources[:1], bench.targets[:1, 1:2].expand(1, TARGET))
    return float(bench.effect(said[:, 1:], said[:, :-1]).max())


@_of_model(
    "one word",
    "Does the model work for one sentence of one word?",
    fine="yes",
    wrong="no",
)
def one_word(bench: Bench) -> Outcome:
    """Give the smallest batch that there is."""
    try:
        said = bench.scores(bench.sources[:1, :1], bench.targets[:1, :1])
    except Exception as error:
        return Outcome("no", {"it raises": in_a_line(error)})
    # Minus infinity is how a model forbids a word.
    return Outcome(_if(said.isnan().any(), "no", "yes"))


@_of_model(
    "length",
    "Does the model take sentences of a hundred tokens?",
    fine="yes | no",
    wrong="",
)
def length(bench: Bench) -> Outcome:
    """Give it one."""
    repeats = 100 // SOURCE + 1
    source, target = (ids[:1].repeat(1, repeats)[:, :100] for ids in (bench.sources, bench.targets))
    try:
        bench.scores(source, target)
    except Exception as error:
        return Outcome("no", {"it raises": in_a_line(error)})
    return Outcome("yes")


@_of_model(
    "empty source",
    "Where do scores become NaN if one source of a batch is nothing but padding?",
    fine="nowhere | in that sentence | it raises an error",
    wrong="in others",
)
def empty_source(bench: Bench) -> Outcome:
    """Replace one source by padding."""
    sources = bench.sources.clone()
    sources[1] = bench.subject.source_pad
    try:
        lost = bench.scores(sources, bench.targets).isnan().flatten(1).any(dim=1)
    except Exception as error:
        return Outcome("it raises an error", {"error": in_a_line(error)})
    if lost[[0, 2]].any():
        return Outcome("in others")
    return Outcome(_if(lost[1], "in that sentence", "nowhere"))


def _must_be_steady(bench: Bench) -> None:
    if not bench.is_steady:
        raise NotExamined("two calls return different scores, whatever is changed")


def _unmoved(bench: Bench, said: Tensor) -> Outcome:
    _must_be_steady(bench)
    effect = bench.effect(said, bench.usual_scores)
    if said.isnan().any() and not bench.usual_scores.isnan().any():
        return Outcome(
            "NaN", {"share of the positions": float(said.isnan().any(-1).float().mean())}
        )
    return Outcome(_if(effect.max() > EFFECT, "yes", "no"), _moved(effect))


def _how_many(moved: Tensor, numbers: dict) -> Outcome:
    if moved.all():
        return Outcome("all", numbers)
    return Outcome(_if(moved.any(), "some", "none"), numbers)


def _moved(effect: Tensor) -> dict[str, float]:
    return {"largest effect": float(effect.max())}


def _if(condition: bool | Tensor, yes: str, no: str) -> str:
    return yes if condition else no
