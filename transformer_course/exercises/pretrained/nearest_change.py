"""One step of the search for what a published model computes otherwise."""

from collections.abc import Callable
from typing import Any

from transformer_course.checker.cases import Case
from transformer_course.checker.exercise import exercise
from transformer_course.pretrained import search

Options = dict[str, Any]
Distance = Callable[[Options], float]


def _far_from(**right: Any) -> Distance:
    """Return a distance: 1 for the first option that is not right, 2 for the second, and so on.

    A missing option is farther than a wrong one.
    """

    def distance(options: Options) -> float:
        wrong = (
            (place if name in options else 10 * place) * (options.get(name) != value)
            for place, (name, value) in enumerate(right.items(), start=1)
        )
        return float(sum(wrong))

    return distance


def _misleading(options: Options) -> float:
    """Return a distance by which every single change leads away."""
    return {("relu", "after"): 1.0, ("swish", "before"): 0.0}.get(tuple(options.values()), 2.0)


def _two_alike(options: Options) -> float:
    """Return a distance that two changes make smaller by as much."""
    return 3.0 - (options.get("bias") is True) - (options.get("first") == 1)


def _nearer_and_nearer(options: Options) -> float:
    """Return a distance by which gelu is nearer than relu, and swish nearer than gelu."""
    steps = {"swish": 0.0, "gelu": 1.0, "relu": 2.0}
    activation = options.get("activation")
    step = steps[activation] if isinstance(activation, str) else 10.0
    return step + 3 * (options.get("order") != "pairs") + 3 * (options.get("bias") is not False)


_START = {"activation": "relu", "order": "pairs", "bias": False}
_CHOICES = {
    "activation": ["relu", "gelu", "swish"],
    "order": ["pairs", "halves"],
    "bias": [False, True],
}
_BACK = {"activation": ["relu", "swish"], "bias": [False, True]}
_CASES = (
    (_far_from(activation="swish", order="halves", bias=True), "two changes help, and a third"),
    (_far_from(bias=True, order="halves", activation="gelu"), "others help more"),
    (_far_from(activation="swish", order="pairs", bias=False), "the first is wrong"),
    (_nearer_and_nearer, "one of its values is nearer, and another nearer still"),
    (_far_from(activation="relu", order="pairs", bias=True), "the last is wrong"),
    (_far_from(activation="relu", order="pairs", bias=False), "nothing is wrong"),
)


@exercise(
    reference=search.nearest_change,
    cases=[
        *(
            Case((distance, _START, _CHOICES), written=f"(distance, options, choices)  # {words}")
            for distance, words in _CASES
        ),
        Case(
            (
                _far_from(activation="relu", bias=False),
                {"activation": "swish", "bias": True},
                _BACK,
            ),
            written="(distance, options, choices)  # the first values are right",
        ),
        Case(
            (
                _misleading,
                {"activation": "relu", "norm": "after"},
                {"activation": ["relu", "swish"], "norm": ["after", "before"]},
            ),
            written="(distance, options, choices)  # every single change leads away",
        ),
        Case(
            (
                _two_alike,
                {"bias": False, "first": 0},
                {"bias": [False, True], "first": [0, 1]},
            ),
            written="(distance, options, choices)  # two changes are equally good",
        ),
    ],
    hints=[
        "Two loops, one inside the other: over the names, and over the values of each. What must "
        "you remember between the rounds?",
        "`{**options, name: value}` is a new dictionary with one value changed; `options` stays as "
        "it is. Which distance must a change beat, to be remembered?",
        "Begin with `best = options`. For each change, `if distance(changed) < distance(best)`, "
        "then `best = changed`.",
    ],
)
def nearest_change(distance: Callable, options: dict, choices: dict[str, list]) -> dict:
    """Return the options with the one change that brings them nearest; as they are if none does."""
    best = options
    for name, values in choices.items():
        for value in values:
            changed = {**options, name: value}
            if distance(changed) < distance(best):
                best = changed
    return best


# One change, and the best

nearest_change.mistake(
    "changes add up: several values change at once",
    edits=[("{**options, name: value}", "{**best, name: value}")],
    observed="Where two changes help, you return both. Then nobody knows which of them did what.",
    change="Begin each try from `options`: `{**options, name: value}`.",
)
nearest_change.mistake(
    "the farthest change is returned",
    edits=[("distance(changed) < distance(best)", "distance(changed) > distance(best)")],
    observed="The change that you return makes the distance larger.",
    change="Keep a change if its distance is *smaller*: `<`.",
)
nearest_change.mistake(
    "the first change that helps is returned",
    edits=[("best = changed", "return changed")],
    observed="Right where the first name matters most, wrong where a later one helps more.",
    change="Look at all changes before you return the best.",
)
nearest_change.mistake(
    "the last change that helps is returned",
    edits=[("distance(changed) < distance(best)", "distance(changed) < distance(options)")],
    observed="A change that helps a little, later, takes the place of one that helps much.",
    change="Compare with the best so far: `distance(changed) < distance(best)`.",
)
nearest_change.mistake(
    "of two equally good changes the later is returned",
    edits=[("distance(changed) < distance(best)", "distance(changed) <= distance(best)")],
    observed="Where two changes are equally good, you return the second.",
    change="Replace the best only by something nearer: `<`.",
)
nearest_change.mistake(
    "a change is returned even where none helps",
    edits=[
        (
            "best = options",
            "best, true = options, distance\n"
            '    distance = lambda tried: float("inf") if tried == options else true(tried)',
        ),
    ],
    observed="Where every change leads away, you return one all the same. A search that goes on "
    "until nothing changes would never end.",
    change="Begin with `best = options`: a change must beat what you have.",
)
nearest_change.mistake(
    "only distance 0 counts",
    edits=[("distance(changed) < distance(best)", "distance(changed) == 0")],
    observed="You find a change only where one is all that is missing. With three things wrong, no "
    "single change brings the distance to 0.",
    change="Keep a change that is nearer than the best so far.",
)
nearest_change.mistake(
    "the change that moves the distance most is returned, in whichever direction",
    edits=[
        ("if distance(changed)", "if -abs(distance(changed) - distance(options))"),
        ("< distance(best)", "< -abs(distance(best) - distance(options))"),
    ],
    observed="Where nothing is wrong, you return the change that leads farthest away.",
    change="Look for the smallest distance, not for the largest difference.",
)

nearest_change.mistake(
    "a value that was tried stays while others are tried",
    edits=[
        ("best = options", "best, tried = options, dict(options)"),
        (
            "changed = {**options, name: value}",
            "tried[name] = value\n            changed = dict(tried)",
        ),
    ],
    observed="Each try differs from the last one by a value, but the values tried before are still "
    "in it: more than one option has changed.",
    change="Begin each try from `options`: `{**options, name: value}`.",
)
nearest_change.mistake(
    "the best is the dictionary in which the next values are tried",
    edits=[
        ("best = options", "best, nearest = options, distance(options)"),
        (
            "        for value in values:\n",
            "        changed = dict(options)\n        for value in values:\n",
        ),
        ("changed = {**options, name: value}", "changed[name] = value"),
        ("distance(changed) < distance(best)", "distance(changed) < nearest"),
        ("best = changed", "best, nearest = changed, distance(changed)"),
    ],
    observed="A change that was kept is overwritten by the next values of the same name: `best` "
    "and what is tried are one dictionary.",
    change="Make a new dictionary for each try: `{**options, name: value}`.",
)
nearest_change.mistake(
    "the best is the one dictionary in which everything is tried",
    edits=[
        ("best = options", "best, nearest, changed = options, distance(options), dict(options)"),
        ("changed = {**options, name: value}", "changed[name] = value"),
        ("distance(changed) < distance(best)", "distance(changed) < nearest"),
        ("best = changed", "best, nearest = changed, distance(changed)"),
    ],
    observed="Where something helps, you return the last value of every name: `best` and what is "
    "tried are one dictionary.",
    change="Make a new dictionary for each try: `{**options, name: value}`.",
)

# What is tried

nearest_change.mistake(
    "only the first name is tried",
    edits=[("    return best", "        return best")],
    observed="The `return` is inside the outer loop, which ends after the first name.",
    change="Move `return best` out of both loops.",
)
nearest_change.mistake(
    "only the first value of each name is tried",
    edits=[("best = changed\n", "best = changed\n            break\n")],
    observed="Right where the first value of a name is right, wrong where it is the second.",
    change="Try all values of a name.",
)
nearest_change.mistake(
    "of each name, nothing is tried after the first value that helps",
    edits=[("best = changed\n", "best = changed\n                break\n")],
    observed="Where the second value of a name is nearer than the first, and the third nearer "
    "still, you return the second.",
    change="Try all values of a name: leave out the `break`.",
)
nearest_change.mistake(
    "only the last value of each name is tried",
    edits=[("for value in values:", "for value in values[-1:]:")],
    observed="Where the second of three values is right, you do not find it.",
    change="Go through all of `values`.",
)
nearest_change.mistake(
    "the third value of a name is never tried",
    edits=[("for value in values:", "for value in values[:2]:")],
    observed="Where the third of three values is right, you do not find it.",
    change="Go through all of `values`.",
)
nearest_change.mistake(
    "the other options are forgotten",
    edits=[("{**options, name: value}", "{name: value}")],
    observed="What is tried has one entry only, and the other options are missing.",
    change="Copy the others: `{**options, name: value}`.",
)
nearest_change.mistake(
    "the values' numbers are tried",
    edits=[("for value in values:", "for value, _ in enumerate(values):")],
    observed="`0` and `1` are tried in place of `relu` and `swish`.",
    change="Go through `values` themselves.",
)
nearest_change.mistake(
    "only the second value of each name is tried",
    edits=[("for value in values:", "for value in values[1:2]:")],
    observed="Where the first or the third value of a name is right, you do not find it.",
    change="Go through all of `values`.",
)
nearest_change.mistake(
    "the first value of a name is never tried",
    edits=[("for value in values:", "for value in values[1:]:")],
    observed="Where the first value of a name is right, you do not find it. The options need not "
    "begin with the first values.",
    change="Go through all of `values`.",
)
nearest_change.mistake(
    "only the first value of the first name is tried",
    edits=[("    return best", "            return best")],
    observed="The `return` is inside the inner loop, which ends after the first value.",
    change="Move `return best` out of both loops.",
)

# What is returned

nearest_change.mistake(
    "the name and the value are returned",
    edits=[
        ("best = options", "best, found = options, None"),
        ("best = changed", "best, found = changed, (name, value)"),
        ("return best", "return found"),
    ],
    observed="You return a pair such as `('order', 'halves')`, or None.",
    change="Return the changed options.",
)
nearest_change.mistake(
    "the name and the value are returned where a change helps",
    edits=[
        ("best = options", "best = found = options"),
        ("best = changed", "best, found = changed, (name, value)"),
        ("return best", "return found"),
    ],
    observed="You return a pair such as `('order', 'halves')`, or the options.",
    change="Return the changed options.",
)
nearest_change.mistake(
    "the distance is returned as well",
    edits=[("return best", "return best, distance(best)")],
    observed="You return a pair: the options and a number.",
    change="Return the options alone.",
)
nearest_change.mistake(
    "nothing is returned where no change helps",
    edits=[("return best", "return best if best != options else None")],
    observed="Where every change leads away, you return None.",
    change="Begin with `best = options`, so that they are returned as they are.",
)
nearest_change.mistake(
    "the distance is returned",
    edits=[("return best", "return distance(best)")],
    observed="You return a number.",
    change="Return the options that have this distance.",
)
nearest_change.mistake(
    "the change alone is returned",
    edits=[
        ("best = options", "best, found = options, {}"),
        ("best = changed", "best, found = changed, {name: value}"),
        ("return best", "return found"),
    ],
    observed="You return a dictionary with one entry, or an empty one.",
    change="Return all options, one of them changed.",
)
nearest_change.mistake(
    "the options stay as they are",
    edits=[("return best", "return options")],
    observed="Whatever is wrong, you return what came in. `{name: value, **options}` does so too: "
    "it puts the old value back; and `dict(options, name=value)` sets an option called `name`.",
    change="Write the change last, `{**options, name: value}`, and return `best`.",
)
nearest_change.mistake(
    "the change that was tried last is returned",
    edits=[("return best", "return changed")],
    observed="You return the options with the last value of the last name, whether it helps or "
    "not.",
    change="Return `best`.",
)
nearest_change.mistake(
    "the first change that helps is returned, alone",
    edits=[("best = changed", "return {name: value}")],
    observed="You return a dictionary with one entry, and look no further.",
    change="Look at all changes, and return all options, one of them changed.",
)
nearest_change.mistake(
    "the first change that helps is returned, as name and value",
    edits=[("best = changed", "return name, value")],
    observed="You return a pair such as `('order', 'halves')`, and look no further.",
    change="Look at all changes, and return the changed options.",
)
