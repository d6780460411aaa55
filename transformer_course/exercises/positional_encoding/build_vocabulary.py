"""The numbered list of all words that a translator knows."""

from transformer_course.checker.cases import Case, Property
from transformer_course.checker.exercise import exercise
from transformer_course.exercises import own


def _split(*sentences: str) -> list[list[str]]:
    return [sentence.split() for sentence in sentences]


def _course_vocabulary(sentences: list[list[str]]) -> dict[str, int]:
    tokens = own.Vocabulary.from_sentences(sentences).tokens
    return {token: number for number, token in enumerate(tokens)}


def _frequent_words_first(value: dict[str, int], case: Case) -> bool:
    (sentences,) = case.inputs
    words = [word for sentence in sentences for word in sentence]
    counts = [words.count(word) for word in sorted(set(words), key=value.get)]
    return counts == sorted(counts, reverse=True)


@exercise(
    reference=_course_vocabulary,
    cases=[
        Case((_split("the cat sat on the mat"),)),
        Case((_split("a dog sees a cat", "the cat sees no dog", "no dog no cat"),)),
        Case((_split("The dog barks at the dog !", "The owl sees the owl ."),)),
        Case((_split("zebra zebra zebra", "an owl", "an owl"),)),
        Case(([],)),
    ],
    properties=[
        Property(
            "the special tokens have the ids 0 to 3",
            lambda value, case: (
                [value[token] for token in ("<pad>", "<bos>", "<eos>", "<unk>")] == [0, 1, 2, 3]
            ),
        ),
        Property(
            "the ids are the whole numbers 0, 1, 2 and so on, without a gap",
            lambda value, case: (
                sorted(value.values()) == [*range(len(value))]
                and not any(isinstance(each, float) for each in value.values())
            ),
        ),
        Property("a more frequent word has a smaller id", _frequent_words_first),
    ],
    hints=[
        "Three steps: count how often each word occurs, put the words in order, number the list "
        "that begins with the four special tokens.",
        "`counts[word] = counts.get(word, 0) + 1` counts, in a loop over the words of all "
        "sentences. `sorted(counts, key=...)` puts the words in order. What must the key of a word "
        "be, so that a larger count comes first, and after that the alphabet decides?",
        "`sorted(counts, key=lambda word: (-counts[word], word))`; then "
        "`enumerate([..., *words])` gives pairs of number and token.",
    ],
)
def build_vocabulary(sentences: list[list[str]]) -> dict[str, int]:
    """Give each token an id: the special ones first, then the words, frequent ones earlier."""
    counts = {}
    for sentence in sentences:
        for word in sentence:
            counts[word] = counts.get(word, 0) + 1
    words = sorted(counts, key=lambda word: (-counts[word], word))
    tokens = ["<pad>", "<bos>", "<eos>", "<unk>", *words]
    return {token: number for number, token in enumerate(tokens)}
