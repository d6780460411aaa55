"""A small English-French grammar: endless sentences, each with one right translation.

A sentence is chosen as a tree of meaning (`Clause`) and then written down in both languages, so
the grammar knows which French word stands for which English one. Sentences are lower case, in the
present tense, without punctuation. Where English leaves open what French must say, the grammar
settles it: "they" is always *ils*; "you", "it" and bare plurals ("cats") are left out.

Alignments number the words as Moses' rules cut them: *l'homme* is two. Every word has a link. Words
that only together make a unit share theirs: "look for" and *cherche*, "does not" and *ne ... pas*.
"""

import random
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import combinations, product

from transformer_course.translation.corpora.corpus import Corpus, SentencePair
from transformer_course.translation.corpora.toy_lexicon import (
    A_AFTER_NEGATION,
    ADJECTIVES,
    ADJECTIVES_BEFORE_NOUN,
    COLOURS,
    DETERMINERS,
    H_ASPIRE,
    KINDS,
    LIVING,
    NOUNS,
    PRONOUNS,
    VERBS,
    A,
    Modifier,
    Noun,
    Person,
    Preposition,
    Pronoun,
    Verb,
    english_words,
)

# What is said: trees of meaning.


@dataclass(frozen=True)
class NounPhrase:
    """A noun with its determiner and its adjectives, these in English order."""

    determiner: Modifier
    adjectives: tuple[Modifier, ...]
    noun: Noun
    plural: bool

    @property
    def person(self) -> Person:
        """The person of a verb whose subject it is."""
        return Person.THIRD_PLURAL if self.plural else Person.THIRD_SINGULAR


@dataclass(frozen=True)
class PrepositionalPhrase:
    """A preposition and what follows it: "with the cat"."""

    preposition: Preposition
    noun_phrase: NounPhrase


@dataclass(frozen=True)
class Clause:
    """Who does what, or does not do it."""

    subject: Pronoun | NounPhrase
    verb: Verb
    negated: bool
    complement: NounPhrase | PrepositionalPhrase | None = None

    def combinations(self) -> set[tuple[str, str]]:
        """Return its (adjective, noun) combinations; singular and plural count as the same."""
        parts = (self.subject, self.complement)
        phrases = [p.noun_phrase if isinstance(p, PrepositionalPhrase) else p for p in parts]
        return {
            (adjective.english, phrase.noun.english)
            for phrase in phrases
            if isinstance(phrase, NounPhrase)
            for adjective in phrase.adjectives
        }


# How it is said: one function for each kind of phrase.


@dataclass(frozen=True)
class Phrase:
    """Words in both languages, and links (English word, French word) between them."""

    english: tuple[str, ...]
    french: tuple[str, ...]
    links: tuple[tuple[int, int], ...]

    def __add__(self, other: "Phrase") -> "Phrase":
        shifted = ((e + len(self.english), f + len(self.french)) for e, f in other.links)
        return Phrase(
            self.english + other.english, self.french + other.french, (*self.links, *shifted)
        )


def write_noun_phrase(phrase: NounPhrase) -> Phrase:
    """Write determiner, adjectives and noun; French puts some adjectives after the noun."""
    words = (phrase.determiner, *phrase.adjectives, phrase.noun)
    french_order = sorted(range(len(words)), key=lambda i: words[i].slot)
    gender, plural = phrase.noun.gender, phrase.plural
    return Phrase(
        english=tuple(word.english.split()[-1 if plural else 0] for word in words),
        french=tuple(words[i].french_form(gender, plural) for i in french_order),
        links=tuple((i, place) for place, i in enumerate(french_order)),
    )


def write_word(word: Pronoun | Preposition) -> Phrase:
    """Write a word that has one form in either language."""
    return Phrase((word.english,), (word.french,), ((0, 0),))


def write_subject(subject: Pronoun | NounPhrase) -> Phrase:
    """Write a pronoun or a noun phrase."""
    return write_word(subject) if isinstance(subject, Pronoun) else write_noun_phrase(subject)


def write_verb(verb: Verb, person: Person, negated: bool) -> Phrase:
    """Write a verb with its particle; French puts the two words of its negation around it."""
    third_singular = person is Person.THIRD_SINGULAR
    base, with_s = verb.english.split()
    particle = verb.particle.split()
    french = verb.french.split()[person]
    if not negated:
        english = (with_s if third_singular else base, *particle)
        return Phrase(english, (french,), tuple(product(range(len(english)), (0,))))
    english = ("does" if third_singular else "do", "not", base, *particle)
    negation_links = product((0, 1), (0, 2))
    verb_links = product(range(2, len(english)), (1,))
    return Phrase(english, ("ne|n'", french, "pas"), (*negation_links, *verb_links))


def write_complement(phrase: NounPhrase | PrepositionalPhrase, negated: bool) -> Phrase:
    """Write what follows the verb; in a negated direct object *un* and *une* turn into *de*."""
    if isinstance(phrase, PrepositionalPhrase):
        return write_word(phrase.preposition) + write_noun_phrase(phrase.noun_phrase)
    if negated and phrase.determiner is A:
        return write_noun_phrase(replace(phrase, determiner=A_AFTER_NEGATION))
    return write_noun_phrase(phrase)


def write_clause(clause: Clause) -> SentencePair:
    """Write a sentence in both languages, with its gold alignment."""
    phrase = write_subject(clause.subject)
    phrase += write_verb(clause.verb, clause.subject.person, clause.negated)
    if clause.complement:
        phrase += write_complement(clause.complement, clause.negated)
    return SentencePair(
        source=english_text(phrase.english),
        target=french_text(phrase.french),
        alignment=tuple(sorted(phrase.links)),
    )


def english_text(words: Sequence[str]) -> str:
    """Join English words; "a" becomes "an" before a vowel."""
    return " ".join(choose_variants(words, lambda word: word.startswith(tuple("aeiou"))))


def french_text(words: Sequence[str]) -> str:
    """Join French words; *le arbre* becomes *l'arbre*, *beau arbre* becomes *bel arbre*."""
    return " ".join(choose_variants(words, french_vowel_sound)).replace("' ", "'")


def french_vowel_sound(word: str) -> bool:
    """Tell whether a French word of the lexicon begins with a vowel sound."""
    without_accents = unicodedata.normalize("NFD", word)
    return without_accents.startswith(tuple("aeiouh")) and word not in H_ASPIRE


def choose_variants(words: Sequence[str], vowel_sound: Callable[[str], bool]) -> list[str]:
    """Choose each word's variant by how the next word begins; the number of words stays."""
    chosen = []
    for word, following in zip(words, (*words[1:], ""), strict=True):
        before_consonant, _, before_vowel = word.partition("|")
        chosen.append(before_vowel if before_vowel and vowel_sound(following) else before_consonant)
    return chosen


# What can be said: the choices that the grammar leaves, and the way back from the text.


@cache
def noun_choices(kinds: tuple[str, ...]) -> list[Noun]:
    """Return the nouns of these kinds."""
    return [noun for noun in NOUNS if noun.kind in kinds]


def determiner_choices(
    kind: str, plural: bool, allowed: tuple[Modifier, ...] = DETERMINERS
) -> list[Modifier]:
    """Return the determiners that go with a kind of noun; "a" has no plural."""
    return [d for d in allowed if kind in d.kinds and not (plural and d is A)]


@cache
def adjective_choices(kind: str) -> list[list[tuple[Modifier, ...]]]:
    """Return what may describe a noun: nothing; one adjective; an adjective and a colour."""
    fitting = [a for a in ADJECTIVES if kind in a.kinds]
    before_noun = [a for a in fitting if a in ADJECTIVES_BEFORE_NOUN]
    colours = [a for a in fitting if a in COLOURS]
    choices = [[()], [(adjective,) for adjective in fitting], list(product(before_noun, colours))]
    return [choice for choice in choices if choice]


@cache
def noun_phrases() -> dict[str, NounPhrase]:
    """Return every noun phrase of the language by its English text."""
    phrases = [
        NounPhrase(determiner, adjectives, noun, plural)
        for noun, plural in product(NOUNS, (False, True))
        for determiner in determiner_choices(noun.kind, plural)
        for choice in adjective_choices(noun.kind)
        for adjectives in choice
    ]
    return {english_text(write_noun_phrase(phrase).english): phrase for phrase in phrases}


@cache
def verb_phrases() -> dict[tuple[Person, str], tuple[Verb, bool]]:
    """Return every verb, with and without negation, by its person and its English text."""
    return {
        (person, " ".join(write_verb(verb, person, negated).english)): (verb, negated)
        for person, verb, negated in product(Person, VERBS, (False, True))
    }


def read_subject(text: str) -> Pronoun | NounPhrase | None:
    """Find the subject with this English text; None if there is none."""
    for pronoun in PRONOUNS:
        if pronoun.english == text:
            return pronoun
    phrase = noun_phrases().get(text)
    return phrase if phrase and phrase.noun.kind in LIVING else None


def read_complement(verb: Verb, text: str) -> NounPhrase | PrepositionalPhrase | None:
    """Find the complement of a verb with this English text; None if there is none."""
    for preposition in verb.prepositions:
        phrase = noun_phrases().get(text.removeprefix(f"{preposition.english} "))
        if phrase and phrase.noun.kind in preposition.kinds:
            return PrepositionalPhrase(preposition, phrase)
    phrase = noun_phrases().get(text)
    return phrase if phrase and phrase.determiner in verb.objects else None


def translate_by_rule(english: str) -> SentencePair:
    """Translate a sentence of the toy language as the grammar does.

    Raises
    ------
    ValueError
        If the grammar does not make that sentence.
    """
    words = english.split()
    for begin, end in combinations(range(1, len(words) + 1), 2):
        subject = read_subject(" ".join(words[:begin]))
        said = subject and verb_phrases().get((subject.person, " ".join(words[begin:end])))
        if said:
            verb, negated = said
            complement = read_complement(verb, " ".join(words[end:]))
            pair = write_clause(Clause(subject, verb, negated, complement))
            if pair.source == english and (complement or not verb.objects):
                return pair
    unknown = [word for word in words if word not in english_words()]
    reason = f"it has no word {unknown[0]!r}" if unknown else "its grammar does not make it"
    raise ValueError(
        f"{english!r} is not a sentence of the toy language: {reason}. Write one such as 'the "
        f"small cat does not sleep'."
    )


# Which sentences are drawn.


def random_noun_phrase(
    rng: random.Random, kinds: tuple[str, ...], determiners: tuple[Modifier, ...] = DETERMINERS
) -> NounPhrase:
    """Choose a noun of these kinds, one of these determiners, and adjectives."""
    noun = rng.choice(noun_choices(kinds))
    plural = rng.random() < 0.5
    determiner = rng.choice(determiner_choices(noun.kind, plural, determiners))
    adjectives = rng.choice(rng.choice(adjective_choices(noun.kind)))
    return NounPhrase(determiner, adjectives, noun, plural)


def random_complement(rng: random.Random, verb: Verb) -> NounPhrase | PrepositionalPhrase | None:
    """Choose a direct object or, after an intransitive verb, "with" or "behind" somebody."""
    if verb.objects:
        return random_noun_phrase(rng, KINDS, verb.objects)
    if rng.random() < 0.3:
        return None
    preposition = rng.choice(verb.prepositions)
    return PrepositionalPhrase(preposition, random_noun_phrase(rng, preposition.kinds))


def random_clause(rng: random.Random) -> Clause:
    """Choose what to say."""
    is_pronoun = rng.random() < 0.3
    subject = rng.choice(PRONOUNS) if is_pronoun else random_noun_phrase(rng, LIVING)
    verb = rng.choice(VERBS)
    negated = rng.random() < 0.5
    return Clause(subject, verb, negated, random_complement(rng, verb))


def held_out_combinations(rng: random.Random) -> dict[str, set[tuple[str, str]]]:
    """Set (adjective, noun) combinations aside for the dev and the test splits.

    Each noun gives up one adjective to either. The nouns of a kind walk along a shuffled list of
    the adjectives that fit them, at two places half a list apart. So no two nouns of a kind give
    up the same adjective to the same split, and each form of each adjective stays in training.
    """
    held_out: dict[str, set[tuple[str, str]]] = {"dev": set(), "test": set()}
    for kind in KINDS:
        nouns = [noun.english for noun in noun_choices((kind,))]
        adjectives = [a.english for a in ADJECTIVES if kind in a.kinds]
        rng.shuffle(adjectives)
        half = len(adjectives) // 2
        for place, noun in enumerate(nouns):
            held_out["dev"].add((adjectives[place], noun))
            held_out["test"].add((adjectives[(place + half) % len(adjectives)], noun))
    return held_out


def toy_corpus(seed: int = 0) -> Corpus:
    """Draw the toy corpus: distinct English sentences, each with its one French translation.

    Parameters
    ----------
    seed
        The same seed gives the same corpus on every machine.

    Returns
    -------
    corpus
        ``train`` (20,000 pairs); ``test`` (1,000 other sentences, made of noun-adjective
        combinations seen in training); ``test_combinations`` (1,000 sentences, each with a
        combination that is in no other split); ``dev`` (1,000: half as in ``test``, half
        with combinations of its own). No English sentence is in two splits.
    """
    splits = {name: [*pairs] for name, pairs in _drawn_splits(seed).items()}
    return Corpus("toy", source_language="en", target_language="fr", splits=splits)


@cache
def _drawn_splits(seed: int) -> dict[str, list[SentencePair]]:
    """Draw the splits of :func:`toy_corpus`, once in a process: it takes a second."""
    rng = random.Random(seed)
    held_out = held_out_combinations(rng)
    wanted = {"seen": 21_500, "dev": 500, "test": 1_000}
    drawn: dict[str, dict[str, SentencePair]] = {pool: {} for pool in wanted}
    while any(len(drawn[pool]) < size for pool, size in wanted.items()):
        clause = random_clause(rng)
        pools = [name for name in held_out if clause.combinations() & held_out[name]] or ["seen"]
        # A sentence with combinations of dev and of test would tell one about the other.
        if len(pools) == 1 and len(drawn[pools[0]]) < wanted[pools[0]]:
            pair = write_clause(clause)
            drawn[pools[0]][pair.source] = pair
    # Short sentences are few and drawn early: shuffling gives each split its share of them.
    seen = list(drawn["seen"].values())
    rng.shuffle(seen)
    dev = [*seen[20_000:20_500], *drawn["dev"].values()]
    rng.shuffle(dev)
    return {
        "train": seen[:20_000],
        "dev": dev,
        "test": seen[20_500:],
        "test_combinations": list(drawn["test"].values()),
    }
