"""A small English-French grammar: as many sentences as you like, each with one right translation.

A sentence is chosen as a tree of meaning (`Clause`) and then written down in both languages, so
that it is known which French word stands for which English one. Everything is lower case, in the
present tense, without punctuation. Where English leaves open what French must say, the grammar
settles it: "they" is always *ils*; "you" and "it" are left out, and so are plurals without a
determiner ("cats").
"""

import random
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import IntEnum
from functools import cache
from itertools import product

from transformer_course.translation.corpus import Corpus, SentencePair

# The lexicon. The forms of a word are separated by blanks, in the order that its class states.
# A bar separates the two variants of a form: before a consonant sound, before a vowel sound.

MASCULINE, FEMININE = range(2)
ADULT, CHILD, ANIMAL, THING = KINDS = ("adult", "child", "animal", "thing")
LIVING = (ADULT, CHILD, ANIMAL)
# Colours and possessives leave persons out: "ma femme" is my wife, "ma fille" my daughter.
NO_PERSONS = (ANIMAL, THING)
# "un grand homme" is a great man, "une bonne femme" a disrespectful word for a woman.
NO_ADULTS = (CHILD, ANIMAL, THING)
# "un vieux garçon" is a bachelor, "une vieille fille" a spinster.
NO_CHILDREN = (ADULT, ANIMAL, THING)


class Slot(IntEnum):
    """Where a word stands in a French noun phrase."""

    DETERMINER = 0
    BEFORE_NOUN = 1
    NOUN = 2
    AFTER_NOUN = 3


class Person(IntEnum):
    """Who does it: the column of a French verb."""

    I = 0  # noqa: E741
    HE_SHE = 1
    WE = 2
    THEY = 3


@dataclass(frozen=True)
class Noun:
    """Forms in both languages: singular, plural."""

    english: str
    french: str
    gender: int
    kind: str
    slot = Slot.NOUN

    def in_french(self, gender: int, plural: bool) -> str:
        """Return the form for a number; the gender is the noun's own."""
        return self.french.split()[plural]


@dataclass(frozen=True)
class Modifier:
    """A determiner or an adjective: a word that agrees with a noun.

    French forms: masculine, feminine, masculine plural, feminine plural. ``kinds`` says which
    nouns it goes with, so that no tree is young and no king is green.
    """

    english: str
    french: str
    slot: Slot
    kinds: tuple[str, ...]

    def in_french(self, gender: int, plural: bool) -> str:
        """Return the form that agrees with a noun of this gender and number."""
        return self.french.split()[2 * plural + gender]


@dataclass(frozen=True)
class Verb:
    """English forms: base, third person singular. French: je, il or elle, nous, ils or elles.

    ``objects`` lists the determiners that its object may have; an intransitive verb has none.
    The particle is a second English word, as in "look for".
    """

    english: str
    french: str
    objects: tuple[Modifier, ...] = ()
    particle: str = ""


@dataclass(frozen=True)
class Pronoun:
    """A personal pronoun, used as a subject."""

    english: str
    french: str
    person: Person


NOUNS = (
    Noun("man men", "homme hommes", MASCULINE, ADULT),
    Noun("woman women", "femme femmes", FEMININE, ADULT),
    Noun("boy boys", "garçon garçons", MASCULINE, CHILD),
    Noun("girl girls", "fille filles", FEMININE, CHILD),
    Noun("king kings", "roi rois", MASCULINE, ADULT),
    Noun("queen queens", "reine reines", FEMININE, ADULT),
    Noun("hero heroes", "héros héros", MASCULINE, ADULT),
    Noun("actress actresses", "actrice actrices", FEMININE, ADULT),
    Noun("cat cats", "chat chats", MASCULINE, ANIMAL),
    Noun("dog dogs", "chien chiens", MASCULINE, ANIMAL),
    Noun("bird birds", "oiseau oiseaux", MASCULINE, ANIMAL),
    Noun("horse horses", "cheval chevaux", MASCULINE, ANIMAL),
    Noun("bear bears", "ours ours", MASCULINE, ANIMAL),
    Noun("owl owls", "hibou hiboux", MASCULINE, ANIMAL),
    Noun("mouse mice", "souris souris", FEMININE, ANIMAL),
    Noun("cow cows", "vache vaches", FEMININE, ANIMAL),
    Noun("bee bees", "abeille abeilles", FEMININE, ANIMAL),
    Noun("tree trees", "arbre arbres", MASCULINE, THING),
    Noun("book books", "livre livres", MASCULINE, THING),
    Noun("castle castles", "château châteaux", MASCULINE, THING),
    Noun("house houses", "maison maisons", FEMININE, THING),
    Noun("flower flowers", "fleur fleurs", FEMININE, THING),
    Noun("star stars", "étoile étoiles", FEMININE, THING),
    Noun("island islands", "île îles", FEMININE, THING),
)
# An h is silent and counts as a vowel, except in these words, where it keeps the vowel away.
H_ASPIRE = ("héros", "hibou", "hiboux")

ADJECTIVES_BEFORE = (
    Modifier("small", "petit petite petits petites", Slot.BEFORE_NOUN, KINDS),
    Modifier("beautiful", "beau|bel belle beaux belles", Slot.BEFORE_NOUN, KINDS),
    Modifier("new", "nouveau|nouvel nouvelle nouveaux nouvelles", Slot.BEFORE_NOUN, KINDS),
    Modifier("old", "vieux|vieil vieille vieux vieilles", Slot.BEFORE_NOUN, NO_CHILDREN),
    Modifier("young", "jeune jeune jeunes jeunes", Slot.BEFORE_NOUN, LIVING),
    Modifier("good", "bon bonne bons bonnes", Slot.BEFORE_NOUN, NO_ADULTS),
    Modifier("big", "grand grande grands grandes", Slot.BEFORE_NOUN, NO_ADULTS),
    Modifier("fat", "gros grosse gros grosses", Slot.BEFORE_NOUN, (ANIMAL,)),
)
COLOURS = (
    Modifier("black", "noir noire noirs noires", Slot.AFTER_NOUN, NO_PERSONS),
    Modifier("white", "blanc blanche blancs blanches", Slot.AFTER_NOUN, NO_PERSONS),
    Modifier("green", "vert verte verts vertes", Slot.AFTER_NOUN, NO_PERSONS),
    Modifier("blue", "bleu bleue bleus bleues", Slot.AFTER_NOUN, NO_PERSONS),
    Modifier("red", "rouge rouge rouges rouges", Slot.AFTER_NOUN, NO_PERSONS),
)
ADJECTIVES_AFTER = (
    Modifier("happy", "heureux heureuse heureux heureuses", Slot.AFTER_NOUN, LIVING),
    Modifier(
        "intelligent",
        "intelligent intelligente intelligents intelligentes",
        Slot.AFTER_NOUN,
        LIVING,
    ),
    Modifier("sad", "triste triste tristes tristes", Slot.AFTER_NOUN, LIVING),
    Modifier("famous", "célèbre célèbre célèbres célèbres", Slot.AFTER_NOUN, (ADULT, CHILD, THING)),
)
ADJECTIVES = ADJECTIVES_BEFORE + COLOURS + ADJECTIVES_AFTER

A = Modifier("a|an", "un une", Slot.DETERMINER, KINDS)
A_AFTER_PAS = Modifier("a|an", "de|d' de|d'", Slot.DETERMINER, KINDS)
DEFINITE = (
    Modifier("the", "le|l' la|l' les les", Slot.DETERMINER, KINDS),
    Modifier("this these", "ce|cet cette ces ces", Slot.DETERMINER, KINDS),
    Modifier("my", "mon ma|mon mes mes", Slot.DETERMINER, NO_PERSONS),
    Modifier("his", "son sa|son ses ses", Slot.DETERMINER, NO_PERSONS),
    Modifier("her", "son sa|son ses ses", Slot.DETERMINER, NO_PERSONS),
    Modifier("our", "notre notre nos nos", Slot.DETERMINER, NO_PERSONS),
    Modifier("their", "leur leur leurs leurs", Slot.DETERMINER, NO_PERSONS),
)
DETERMINERS = (A, *DEFINITE)

PRONOUNS = (
    Pronoun("i", "je|j'", Person.I),
    Pronoun("he", "il", Person.HE_SHE),
    Pronoun("she", "elle", Person.HE_SHE),
    Pronoun("we", "nous", Person.WE),
    Pronoun("they", "ils", Person.THEY),
)

VERBS = (
    Verb("sleep sleeps", "dors dort dormons dorment"),
    Verb("eat eats", "mange mange mangeons mangent"),
    Verb("sing sings", "chante chante chantons chantent"),
    Verb("dance dances", "danse danse dansons dansent"),
    Verb("work works", "travaille travaille travaillons travaillent"),
    Verb("arrive arrives", "arrive arrive arrivons arrivent"),
    Verb("laugh laughs", "ris rit rions rient"),
    Verb("run runs", "cours court courons courent"),
    Verb("wait waits", "attends attend attendons attendent"),
    Verb("see sees", "vois voit voyons voient", DETERMINERS),
    Verb("have has", "ai a avons ont", DETERMINERS),
    Verb("want wants", "veux veut voulons veulent", DETERMINERS),
    Verb("know knows", "connais connaît connaissons connaissent", DETERMINERS),
    Verb("find finds", "trouve trouve trouvons trouvent", DETERMINERS),
    Verb("draw draws", "dessine dessine dessinons dessinent", DETERMINERS),
    Verb("choose chooses", "choisis choisit choisissons choisissent", DETERMINERS),
    Verb("look looks", "cherche cherche cherchons cherchent", DETERMINERS, particle="for"),
    Verb("wait waits", "attends attend attendons attendent", DETERMINERS, particle="for"),
    # "je n'aime pas de chat" is hardly French: one likes, or does not like, a certain one.
    Verb("like likes", "aime aime aimons aiment", DEFINITE),
)

# What is said: trees of meaning.


@dataclass(frozen=True)
class NounPhrase:
    """A noun with its determiner and its adjectives, the latter in English order."""

    determiner: Modifier
    adjectives: tuple[Modifier, ...]
    noun: Noun
    plural: bool

    @property
    def person(self) -> Person:
        """The verb form that it asks for as a subject."""
        return Person.THEY if self.plural else Person.HE_SHE


@dataclass(frozen=True)
class Clause:
    """Who does, or does not do, what."""

    subject: Pronoun | NounPhrase
    verb: Verb
    negated: bool
    object: NounPhrase | None = None

    def combinations(self) -> set[tuple[str, str]]:
        """Return its (adjective, noun) combinations, singular and plural being the same."""
        phrases = [part for part in (self.subject, self.object) if isinstance(part, NounPhrase)]
        return {(a.english, phrase.noun.english) for phrase in phrases for a in phrase.adjectives}


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
    """Write determiner, adjectives and noun; French moves some adjectives behind the noun."""
    words = (phrase.determiner, *phrase.adjectives, phrase.noun)
    french_order = sorted(range(len(words)), key=lambda i: words[i].slot)
    return Phrase(
        english=tuple(word.english.split()[-phrase.plural] for word in words),
        french=tuple(words[i].in_french(phrase.noun.gender, phrase.plural) for i in french_order),
        links=tuple((i, position) for position, i in enumerate(french_order)),
    )


def write_subject(subject: Pronoun | NounPhrase) -> Phrase:
    """Write a subject of either kind."""
    if isinstance(subject, Pronoun):
        return Phrase((subject.english,), (subject.french,), ((0, 0),))
    return write_noun_phrase(subject)


def write_verb(verb: Verb, person: Person, negated: bool) -> Phrase:
    """Write a verb; "does not" as a whole is linked with both *ne* and *pas*."""
    base, third_person = verb.english.split()
    particle = (verb.particle,) if verb.particle else ()
    french = verb.french.split()[person]
    if not negated:
        english = (third_person if person is Person.HE_SHE else base, *particle)
        return Phrase(english, (french,), tuple((i, 0) for i in range(len(english))))
    do = "does" if person is Person.HE_SHE else "do"
    english = (do, "not", base, *particle)
    links = ((0, 0), (1, 0), *((i, 1) for i in range(2, len(english))), (0, 2), (1, 2))
    return Phrase(english, ("ne|n'", french, "pas"), links)


def write_object(phrase: NounPhrase, negated: bool) -> Phrase:
    """Write an object; after a negation, *un* and *une* turn into *de*."""
    if negated and phrase.determiner == A:
        phrase = NounPhrase(A_AFTER_PAS, phrase.adjectives, phrase.noun, phrase.plural)
    return write_noun_phrase(phrase)


def write_sentence(clause: Clause) -> SentencePair:
    """Write a whole sentence in both languages, with its gold alignment."""
    sentence = write_subject(clause.subject)
    sentence += write_verb(clause.verb, clause.subject.person, clause.negated)
    if clause.object:
        sentence += write_object(clause.object, clause.negated)
    return SentencePair(
        source=" ".join(choose_variants(sentence.english, english_vowel_sound)),
        target=" ".join(choose_variants(sentence.french, french_vowel_sound)).replace("' ", "'"),
        alignment=tuple(sorted(sentence.links)),
    )


def choose_variants(
    words: tuple[str, ...], begins_with_vowel_sound: Callable[[str], bool]
) -> tuple[str, ...]:
    """Choose each word's variant by the word that follows: a or an, le or l', beau or bel."""
    chosen = []
    for word, following in zip(words, (*words[1:], ""), strict=True):
        before_consonant, *before_vowel = word.split("|")
        if before_vowel and begins_with_vowel_sound(following):
            chosen.append(before_vowel[0])
        else:
            chosen.append(before_consonant)
    return tuple(chosen)


def english_vowel_sound(word: str) -> bool:
    """Tell whether an English word of the lexicon begins with a vowel sound."""
    return word[:1] in tuple("aeiou")


def french_vowel_sound(word: str) -> bool:
    """Tell whether a French word of the lexicon begins with a vowel sound."""
    without_accents = unicodedata.normalize("NFD", word)
    return without_accents[:1] in tuple("aeiouh") and word not in H_ASPIRE


# What can be said: the choices that the grammar leaves.


def determiner_choices(noun: Noun, plural: bool) -> list[Modifier]:
    """Return the determiners that go with a noun; there is no plural of "a"."""
    return [d for d in DETERMINERS if noun.kind in d.kinds and not (plural and d == A)]


@cache
def adjective_choices(noun: Noun) -> list[list[tuple[Modifier, ...]]]:
    """Return what can stand beside a noun: nothing; one adjective; "small black" and the like."""
    fitting = [a for a in ADJECTIVES if noun.kind in a.kinds]
    with_colour = [
        (a, colour) for a in fitting for colour in COLOURS if a in ADJECTIVES_BEFORE
        and colour in fitting
    ]
    choices = [[()], [(a,) for a in fitting], with_colour]
    return [group for group in choices if group]


def random_noun_phrase(
    rng: random.Random, kinds: tuple[str, ...], determiners: tuple[Modifier, ...]
) -> NounPhrase:
    """Choose a noun of these kinds, one of these determiners, and adjectives."""
    noun = rng.choice([noun for noun in NOUNS if noun.kind in kinds])
    plural = rng.random() < 0.5
    fitting = [d for d in determiner_choices(noun, plural) if d in determiners]
    adjectives = rng.choice(rng.choice(adjective_choices(noun)))
    return NounPhrase(rng.choice(fitting), adjectives, noun, plural)
