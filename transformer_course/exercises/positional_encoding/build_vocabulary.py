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
            "the ids are 0, 1, 2 and so on, without a gap",
            lambda value, case: sorted(value.values()) == [*range(len(value))],
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


_SPECIAL = '"<pad>", "<bos>", "<eos>", "<unk>", *words'

# The special tokens

build_vocabulary.mistake(
    "the special tokens are missing",
    edits=[(_SPECIAL, "*words")],
    observed="The most frequent word has id 0, which is to be the padding's.",
    change='Begin the list with `"<pad>", "<bos>", "<eos>", "<unk>"`.',
)
build_vocabulary.mistake(
    "the special tokens come last",
    edits=[(_SPECIAL, '*words, "<pad>", "<bos>", "<eos>", "<unk>"')],
    observed="Their ids depend on the number of words. Padding should be 0 in every language.",
    change='Put them in front of the words: `["<pad>", "<bos>", "<eos>", "<unk>", *words]`.',
)
build_vocabulary.mistake(
    "the unknown token comes first",
    edits=[(_SPECIAL, '"<unk>", "<pad>", "<bos>", "<eos>", *words')],
    observed="`<unk>` has id 0 and `<pad>` has id 1.",
    change='The order is `"<pad>", "<bos>", "<eos>", "<unk>"`.',
)
build_vocabulary.mistake(
    "there is no token for unknown words",
    edits=[('"<unk>", *words', "*words")],
    observed="`<unk>` is missing: a word that training never showed would have no id.",
    change='Add `"<unk>"` as the fourth of the special tokens.',
)

# The order of the words

build_vocabulary.mistake(
    "the alphabet alone decides",
    edits=[("counts, key=lambda word: (-counts[word], word)", "counts")],
    observed="The words stand in alphabetical order, however often they occur.",
    change="Sort by the count first: `key=lambda word: (-counts[word], word)`.",
)
build_vocabulary.mistake(
    "the rarest word comes first",
    edits=[("(-counts", "(counts")],
    observed="The most frequent word has the largest id.",
    change="Sort by minus the count.",
)
build_vocabulary.mistake(
    "words of equal count stand in the order in which they were met",
    edits=[("(-counts[word], word)", "-counts[word]")],
    observed="The counts are in order. Of two words that occur equally often, the one that was "
    "read first has the smaller id, so the same sentences in another order get other ids. "
    "`Counter.most_common()` does that too.",
    change="Let the alphabet decide between them: `(-counts[word], word)`.",
)
build_vocabulary.mistake(
    "words of equal count stand in reverse alphabetical order",
    edits=[("(-counts[word], word)", "(counts[word], word), reverse=True")],
    observed="`reverse=True` turns both round, the counts and the alphabet.",
    change="Leave it out, and sort by minus the count: `(-counts[word], word)`.",
)
build_vocabulary.mistake(
    "the words are not sorted",
    edits=[("sorted(counts, key=lambda word: (-counts[word], word))", "[*counts]")],
    observed="The words stand in the order in which they were met.",
    change="Sort them: `sorted(counts, key=lambda word: (-counts[word], word))`.",
)

# What is counted

build_vocabulary.mistake(
    "only the first sentence is read",
    edits=[("in sentences", "in sentences[:1]")],
    observed="Words of the second sentence are missing. A `return` inside the loop does that.",
    change="Count the words of all sentences first, then sort and return.",
)
build_vocabulary.mistake(
    "a word counts once in a sentence",
    edits=[("for word in sentence", "for word in set(sentence)")],
    observed="In `zebra zebra zebra` the zebra counts once.",
    change="Go through all words of a sentence, not through their set.",
)
build_vocabulary.mistake(
    "capital letters are lost",
    edits=[("for word in sentence", "for word in map(str.lower, sentence)")],
    observed="`The` and `the` get one id; they should get two.",
    change="Take each word as it is.",
)
build_vocabulary.mistake(
    "words that occur once are left out",
    edits=[("sorted(counts,", "sorted((word for word in counts if counts[word] > 1),")],
    observed="`mat`, which occurs once, has no id.",
    change="Keep all words.",
)

# What is returned

build_vocabulary.mistake(
    "the ids begin at 1",
    edits=[("enumerate(tokens)", "enumerate(tokens, start=1)")],
    observed="`<pad>` has id 1.",
    change="Count from 0, as `enumerate(tokens)` does.",
)
build_vocabulary.mistake(
    "the list of tokens is returned",
    edits=[("{token: number for number, token in enumerate(tokens)}", "tokens")],
    observed="A list gives the token of an id at once, but to find the id of a token it must be "
    "searched from the front.",
    change="Return a dictionary, `{token: number for number, token in enumerate(tokens)}`.",
)
build_vocabulary.mistake(
    "the dictionary goes from id to token",
    edits=[("token: number for", "number: token for")],
    observed="The keys of your dictionary are numbers.",
    change="Swap them: `{token: number for number, token in enumerate(tokens)}`.",
)
build_vocabulary.mistake(
    "the counts are returned",
    edits=[("{token: number for number, token in enumerate(tokens)}", "counts")],
    observed="Each word has the number of its occurrences, which other words have too.",
    change="Return the number of its place in the list of tokens.",
)
