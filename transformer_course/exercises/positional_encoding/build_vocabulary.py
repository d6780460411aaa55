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
    observed="The most frequent word has id 0, which should be the padding's.",
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
    "the unknown token comes second",
    edits=[
        ('"<pad>",', '"<pad>", "<unk>",'),
        ('"<eos>", "<unk>"', '"<eos>"'),
    ],
    observed="`<unk>` has id 1, `<bos>` has id 2 and `<eos>` has id 3.",
    change='The order is `"<pad>", "<bos>", "<eos>", "<unk>"`.',
)
build_vocabulary.mistake(
    "the padding token comes second",
    edits=[
        ('["<pad>", "<bos>"', '["<bos>"'),
        ('"<bos>",', '"<bos>", "<pad>",'),
    ],
    observed="The padding has id 1.",
    change='The order is `"<pad>", "<bos>", "<eos>", "<unk>"`.',
)
build_vocabulary.mistake(
    "the begin and the end are called `<s>` and `</s>`",
    edits=[("<bos>", "<s>"), ("<eos>", "</s>")],
    observed="Your dictionary has no key `<bos>` and no key `<eos>`.",
    change="Write `<bos>` (beginning of sentence) and `<eos>` (end of sentence).",
)
build_vocabulary.mistake(
    "there are no tokens for begin and end",
    edits=[('"<bos>", "<eos>", ', "")],
    observed="`<bos>` and `<eos>` are missing.",
    change='Begin the list with `"<pad>", "<bos>", "<eos>", "<unk>"`.',
)
build_vocabulary.mistake(
    "all tokens are sorted by the alphabet, the special ones too",
    edits=[
        ("counts, key=lambda word: (-counts[word], word)", "counts"),
        ("tokens = [", "tokens = sorted(["),
        ("*words]", "*words])"),
    ],
    observed="Without any word `<bos>` has id 0, `<eos>` 1, `<pad>` 2 and `<unk>` 3.",
    change="Sort the words alone, by their count first, and put the special tokens in front.",
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
    observed="The words are in alphabetical order, however often they occur. A second `sort` "
    "undoes the first one, and a list that is just being sorted looks empty to its own `count`.",
    change="Count in a dictionary, and sort once, by the count first: "
    "`key=lambda word: (-counts[word], word)`.",
)
build_vocabulary.mistake(
    "the rarest word comes first",
    edits=[("(-counts", "(counts")],
    observed="The most frequent word has the largest id.",
    change="Sort by minus the count.",
)
build_vocabulary.mistake(
    "words of equal count are in the order in which they were met",
    edits=[("[word], word)", "[word], 0)")],
    observed="The counts are in order. Of two words that occur equally often, the one that was "
    "read first has the smaller id, so the same sentences in another order get other ids. "
    "`Counter.most_common()` does that too.",
    change="Let the alphabet decide between them: `(-counts[word], word)`.",
)
build_vocabulary.mistake(
    "words of equal count are in reverse alphabetical order",
    edits=[("(-counts[word], word)", "(counts[word], word), reverse=True")],
    observed="`reverse=True` turns both round, the counts and the alphabet.",
    change="Leave it out, and sort by minus the count: `(-counts[word], word)`.",
)
build_vocabulary.mistake(
    "minus the count, and turned round as well: the rarest word comes first",
    edits=[("word))", "word), reverse=True)")],
    observed="The most frequent word has the largest id, and the alphabet runs backwards: the "
    "minus sign and `reverse=True` (or `[::-1]`) undo each other.",
    change="Leave `reverse=True` out: `sorted(counts, key=lambda word: (-counts[word], word))`.",
)
build_vocabulary.mistake(
    "capital letters are ignored in the alphabetical order",
    edits=[("-counts[word], word)", "-counts[word], word.lower())")],
    observed="Of `The`, `dog` and `owl`, which occur equally often, you put `The` last.",
    change="Sort by the words as they are: `(-counts[word], word)`. Python puts capitals first.",
)
build_vocabulary.mistake(
    "the words are not sorted",
    edits=[("sorted(counts, key=lambda word: (-counts[word], word))", "[*counts]")],
    observed="The words are in the order in which they were met.",
    change="Sort them: `sorted(counts, key=lambda word: (-counts[word], word))`.",
)

# Where the ids begin

build_vocabulary.mistake(
    "the ids begin at 1",
    edits=[("enumerate(tokens)", "enumerate(tokens, start=1)")],
    observed="`<pad>` has id 1.",
    change="Count from 0, as `enumerate(tokens)` does.",
)
build_vocabulary.mistake(
    "the words are numbered from 0 again",
    edits=[("{token: number", "{token: number if number < 4 else number - 4")],
    observed="The first four words have the ids of the special tokens.",
    change="Number one list that holds both: `enumerate([*special, *words])`; or begin the words "
    "at 4.",
)
build_vocabulary.mistake(
    "the ids of the words begin at 3",
    edits=[("{token: number", "{token: number if number < 4 else number - 1")],
    observed="The first word has the id 3, which is that of `<unk>`.",
    change="The special tokens have the ids 0 to 3: begin the words at 4.",
)
build_vocabulary.mistake(
    "the ids of the words begin at 5",
    edits=[("{token: number", "{token: number if number < 4 else number + 1")],
    observed="No token has the id 4.",
    change="The special tokens have the ids 0 to 3: begin the words at 4.",
)

# What is counted

build_vocabulary.mistake(
    "the `return` is inside the loop over the sentences",
    edits=[
        ("in sentences:", "in sentences[:1]:"),
        ("    words =", "    if not sentences:\n        return None\n    words ="),
    ],
    observed="Words of the second sentence are missing, and for an empty list you return None.",
    change="Count the words of all sentences first, then sort and return.",
)
build_vocabulary.mistake(
    "only the first sentence is read",
    edits=[("in sentences", "in sentences[:1]")],
    observed="Words of the second sentence are missing.",
    change="Count the words of all sentences first, then sort and return.",
)
build_vocabulary.mistake(
    "the counts begin anew in each sentence",
    edits=[
        (
            "    counts = {}\n    for sentence in sentences:\n",
            "    for sentence in sentences:\n        counts = {}\n",
        )
    ],
    observed="Only the words of the last sentence are there. Without any sentence there are no "
    "counts at all, and Python raises a NameError.",
    change="Make the empty `counts` once, before the loop over the sentences.",
)
build_vocabulary.mistake(
    "begin and end are counted as words of each sentence",
    edits=[("for word in sentence:", 'for word in ["<bos>", *sentence, "<eos>"]:')],
    observed="`<bos>` and `<eos>` are among the words, so their ids are not 1 and 2.",
    change="Count the words alone; the special tokens have their ids already.",
)
build_vocabulary.mistake(
    "a word counts once in a sentence",
    edits=[("for word in sentence", "for word in set(sentence)")],
    observed="In `zebra zebra zebra` the zebra counts once.",
    change="Go through all words of a sentence, not through their set.",
)
build_vocabulary.mistake(
    "letters are counted instead of words",
    edits=[("for word in sentence:", 'for word in "".join(sentence):')],
    observed="The keys of your dictionary are letters. `counter.update(word)` counts those of the "
    "word.",
    change="Count whole words: `counts[word] += 1`, or `counter.update(sentence)`.",
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
    "a word takes a place for each time it occurs",
    edits=[("sorted(counts", "sorted([word for sentence in sentences for word in sentence]")],
    observed="Ids are skipped: in your list of tokens a frequent word appears several times, and "
    "its last place counts.",
    change="Put each word into the list once: sort the keys of `counts`, or a `set`.",
)
build_vocabulary.mistake(
    "a word takes a place for each time it occurs, and the first one counts",
    edits=[
        ("sorted(counts", "sorted([word for sentence in sentences for word in sentence]"),
        ("enumerate(tokens)", "reversed([*enumerate(tokens)])"),
    ],
    observed="Ids are skipped: in your list of tokens a frequent word appears several times.",
    change="Put each word into the list once: sort the keys of `counts`, or a `set`.",
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
    observed="Each word has its count, which other words may have too.",
    change="Return the number of its place in the list of tokens.",
)

# Rarer orders of the special tokens

build_vocabulary.mistake(
    "the unknown token comes after the words",
    edits=[('"<unk>", *words', '*words, "<unk>"')],
    observed="`<unk>` has the largest id, which depends on the number of words.",
    change='Put it in front of the words, as the fourth: `"<pad>", "<bos>", "<eos>", "<unk>"`.',
)
build_vocabulary.mistake(
    "begin and end have changed places",
    edits=[('"<bos>", "<eos>"', '"<eos>", "<bos>"')],
    observed="`<eos>` has id 1 and `<bos>` has id 2.",
    change='The order is `"<pad>", "<bos>", "<eos>", "<unk>"`.',
)
build_vocabulary.mistake(
    "the padding token comes third",
    edits=[('"<pad>", "<bos>", "<eos>"', '"<bos>", "<eos>", "<pad>"')],
    observed="`<bos>` has id 0, `<eos>` has id 1 and the padding has id 2.",
    change='The order is `"<pad>", "<bos>", "<eos>", "<unk>"`.',
)
