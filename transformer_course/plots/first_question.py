"""From a symptom to the first question, as a picture that one walks through."""

from dataclasses import dataclass
from html import escape

from transformer_course.plots.renderer import HtmlPicture
from transformer_course.plots.theme import CARD, FONT, INK, SERIES, tinted

CLASS = "first-question"
TITLE = "Open what you see, and go on until you stand before an experiment"


@dataclass(frozen=True)
class Turn:
    """A place where the way parts: what is seen, the next question, and where that leads."""

    seen: str
    question: str = ""
    ways: tuple["Turn", ...] = ()
    experiment: str = ""


STUCK = Turn(
    "The loss stays near the natural logarithm of the vocabulary's size",
    "Does it learn a single batch?",
    (
        Turn(
            "No, not even that",
            experiment="Which weights stay still? What does the loss get, logits or probabilities? "
            "Then a tenth of the learning rate, and ten times as much.",
        ),
        Turn(
            "Yes, in a hundred steps or so",
            experiment="Then the parts can learn, and the text cannot be learned. Read what the "
            "training is fed, in words.",
        ),
    ),
)
HALFWAY = Turn(
    "The loss falls, and stops far above that of a healthy training",
    "Does it translate everything alike?",
    (
        Turn(
            "Yes: good language that has nothing to do with the source",
            experiment="Either the source is not seen, or it is another sentence's. Give another "
            "source: do the scores stay? Add padding to the source: what moves? Read what the "
            "training is fed.",
        ),
        Turn(
            "No: some is right",
            experiment="Is the curve still falling? Then wait. Else look at the right ones: are "
            "they short, or frequent, or early in the sentence?",
        ),
    ),
)
TOO_GOOD = Turn(
    "The loss falls faster or lower than it has any right to",
    "Has it learned the text, or found a way to cheat?",
    (
        Turn(
            "It translates nothing, not even what it was trained on",
            experiment="It sees its answers, or it is asked for something else than you think. "
            "Measure the loss by position with the targets of other sentences, which nobody can "
            "predict; and read what the training is fed.",
        ),
        Turn(
            "It translates what it was trained on",
            experiment="It knows its text by heart, and there is too little of it, or the test is "
            "of another kind. Compare known and new sentences, short and long.",
        ),
    ),
)
FINE = Turn(
    "The loss is as it should be, and the translations are not",
    "Take sentences of the training, feed the right words in. Is the next word right?",
    (
        Turn(
            "No",
            experiment="Then what translates is not what was trained: look at saving and loading, "
            "at vocabularies, at averages of weights. Or the training asks for something else: "
            "read what it is fed.",
        ),
        Turn(
            "Yes",
            experiment="Then it sees too much while it is fed (measure the loss with the targets "
            "of other sentences), or it is the search: translate twice, alone and in a batch, and "
            "compare forced with free.",
        ),
    ),
)
START = Turn("", "What does the loss do?", (STUCK, HALFWAY, TOO_GOOD, FINE))
DESCRIPTION = "Questions to ask of a translator that does not work, each with two or more answers."


def first_question() -> HtmlPicture:
    """Draw the way from a symptom to the first experiment; each answer opens the next question."""
    style = (
        f"background:{CARD};color:{INK};font-family:{FONT};font-size:14px;line-height:1.4;"
        "padding:14px;margin:0;max-width:640px;box-sizing:border-box"
    )
    title = f'<div style="font-weight:bold;font-size:15px;margin-bottom:10px">{TITLE}</div>'
    return HtmlPicture(
        f'<figure class="{CLASS}" role="group" aria-label="{escape(DESCRIPTION)}" style="{style}">'
        f"{title}{_html(START, 0)}</figure>",
        "\n".join([TITLE, *_lines(START, 0)]),
    )


def _html(turn: Turn, depth: int) -> str:
    if turn.experiment:
        return _box(escape(turn.experiment), depth, "margin:.3em 0 .3em 1em")
    ways = "".join(
        f'<details style="margin:.3em 0 .3em 1em"><summary style="cursor:pointer">'
        f"{escape(way.seen)}</summary>{_html(way, depth + 1)}</details>"
        for way in turn.ways
    )
    return _box(f"<b>{escape(turn.question)}</b>", depth, "margin:.3em 0") + ways


def _box(content: str, depth: int, style: str) -> str:
    colour = SERIES[depth % len(SERIES)]
    return (
        f'<div style="border:1.5px solid {colour};border-radius:6px;'
        f'background:{tinted(colour)};padding:4px 10px;{style}">{content}</div>'
    )


def _lines(turn: Turn, depth: int) -> list[str]:
    if turn.experiment:
        return ["  " * depth + turn.experiment]
    lines = ["  " * depth + turn.question]
    for way in turn.ways:
        lines += ["  " * depth + f"- {way.seen}:", *_lines(way, depth + 1)]
    return lines
