"""A small English-French grammar: as many sentences as you like, each with one right translation.

A sentence is chosen as a tree of meaning (`Clause`) and then written down in both languages, so
that it is known which French word stands for which English one. Everything is lower case, in the
present tense, without punctuation. Where English leaves open what French must say, the grammar
settles it: "they" is always *ils*; "you" and "it" are left out, and so are plurals without a
determiner ("cats").
"""

import random
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import cache
from itertools import combinations, product

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

    def is_allowed(self) -> bool:
        """Tell whether the subject is alive and the verb takes the object."""
        if isinstance(self.subject, NounPhrase) and self.subject.noun.kind not in LIVING:
            return False
        if self.object is None:
            return not self.verb.objects
        return self.object.determiner in self.verb.objects

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
        english=tuple(word.english.split()[-1 if phrase.plural else 0] for word in words),
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
        source=english_text(sentence.english),
        target=french_text(sentence.french),
        alignment=tuple(sorted(sentence.links)),
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


# What can be said: the choices that the grammar leaves.


def determiner_choices(
    noun: Noun, plural: bool, allowed: tuple[Modifier, ...] = DETERMINERS
) -> list[Modifier]:
    """Return the determiners that go with a noun; "a" has no plural."""
    return [d for d in allowed if noun.kind in d.kinds and not (plural and d == A)]


@cache
def adjective_choices(noun: Noun) -> list[list[tuple[Modifier, ...]]]:
    """Return what may describe a noun: nothing; one adjective; an adjective and a colour."""
    fitting = [a for a in ADJECTIVES if noun.kind in a.kinds]
    before = [a for a in fitting if a in ADJECTIVES_BEFORE]
    colours = [a for a in fitting if a in COLOURS]
    choices = [[()], [(adjective,) for adjective in fitting], list(product(before, colours))]
    return [choice for choice in choices if choice]


@cache
def noun_phrases() -> dict[str, NounPhrase]:
    """Return every noun phrase of the language by its English text."""
    phrases = [
        NounPhrase(determiner, adjectives, noun, plural)
        for noun, plural in product(NOUNS, (False, True))
        for determiner in determiner_choices(noun, plural)
        for choice in adjective_choices(noun)
        for adjectives in choice
    ]
    return {english_text(write_noun_phrase(phrase).english): phrase for phrase in phrases}


@cache
def verb_groups() -> dict[tuple[Person, str], tuple[Verb, bool]]:
    """Return every verb, affirmed and negated, by its person and its English text."""
    return {
        (person, english_text(write_verb(verb, person, negated).english)): (verb, negated)
        for person, verb, negated in product(Person, VERBS, (False, True))
    }


@cache
def english_words() -> list[str]:
    """Return the English words of the language in alphabetical order."""
    rows = (*DETERMINERS, *ADJECTIVES, *NOUNS, *PRONOUNS, *VERBS)
    forms = {form for row in rows for form in row.english.replace("|", " ").split()}
    particles = {verb.particle for verb in VERBS if verb.particle}
    return sorted(forms | particles | {"do", "does", "not"})


def translate_by_rule(english: str) -> SentencePair:
    """Translate a sentence as the grammar does, which is right by construction.

    Raises
    ------
    ValueError
        If the grammar does not make such a sentence.
    """
    words = english.split()
    pronouns = {pronoun.english: pronoun for pronoun in PRONOUNS}
    for begin, end in combinations(range(1, len(words) + 1), 2):
        cuts = (words[:begin], words[begin:end], words[end:])
        subject_text, verb_text, object_text = (" ".join(cut) for cut in cuts)
        subject = pronouns.get(subject_text) or noun_phrases().get(subject_text)
        group = subject and verb_groups().get((subject.person, verb_text))
        if group:
            clause = Clause(subject, *group, noun_phrases().get(object_text))
            pair = write_sentence(clause)
            if clause.is_allowed() and pair.source == english:
                return pair
    unknown = [word for word in words if word not in english_words()]
    reason = f"it does not know {', '.join(unknown)}." if unknown else "it knows the words only."
    raise ValueError(
        f"the toy language has no sentence {english!r}: {reason} Write one such as 'the small cat "
        f"does not sleep'."
    )


# Which sentences are drawn.


def random_noun_phrase(
    rng: random.Random, kinds: tuple[str, ...], determiners: tuple[Modifier, ...]
) -> NounPhrase:
    """Choose a noun of these kinds, one of these determiners, and adjectives."""
    noun = rng.choice([noun for noun in NOUNS if noun.kind in kinds])
    plural = rng.random() < 0.5
    determiner = rng.choice(determiner_choices(noun, plural, determiners))
    adjectives = rng.choice(rng.choice(adjective_choices(noun)))
    return NounPhrase(determiner, adjectives, noun, plural)


def random_clause(rng: random.Random) -> Clause:
    """Choose what to say."""
    if rng.random() < 0.3:
        subject = rng.choice(PRONOUNS)
    else:
        subject = random_noun_phrase(rng, LIVING, DETERMINERS)
    verb = rng.choice(VERBS)
    direct_object = random_noun_phrase(rng, KINDS, verb.objects) if verb.objects else None
    return Clause(subject, verb, rng.random() < 0.5, direct_object)


def held_out_combinations(rng: random.Random) -> dict[str, set[tuple[str, str]]]:
    """Set (adjective, noun) combinations aside for the dev and the test split.

    Each noun gives up one adjective to either. The nouns of a kind walk along a shuffled list of
    the adjectives that fit them, in two places half a list apart: so no two nouns give up the
    same adjective to the same split, and every form of every adjective is left to learn from.
    """
    held_out: dict[str, set[tuple[str, str]]] = {"dev": set(), "test": set()}
    for kind in KINDS:
        adjectives = [a.english for a in ADJECTIVES if kind in a.kinds]
        rng.shuffle(adjectives)
        half = len(adjectives) // 2
        for place, noun in enumerate(n.english for n in NOUNS if n.kind == kind):
            held_out["dev"].add((adjectives[place], noun))
            held_out["test"].add((adjectives[(place + half) % len(adjectives)], noun))
    return held_out


def toy_corpus(seed: int = 0) -> Corpus:
    """Draw the toy corpus: distinct English sentences, each with its one French translation.

    Parameters
    ----------
    seed
        The same seed gives the same corpus, on every machine.

    Returns
    -------
    corpus
        ``train`` (20,000 pairs); ``dev`` (1,000: half unseen sentences, half with a noun-adjective
        combination set aside for dev alone); ``test`` (1,000 unseen sentences made of
        combinations seen in training); ``test_combinations`` (1,000 sentences, each with a
        combination never seen in train or dev). No English sentence is in two splits.
    """
    rng = random.Random(seed)
    held_out = held_out_combinations(rng)
    wanted = {"seen": 21_500, "dev": 500, "test": 1_000}
    drawn: dict[str, dict[str, SentencePair]] = {pool: {} for pool in wanted}
    while any(len(drawn[pool]) < wanted[pool] for pool in wanted):
        clause = random_clause(rng)
        pools = [name for name in held_out if clause.combinations() & held_out[name]] or ["seen"]
        # A sentence with combinations of both kinds would belong to both splits.
        if len(pools) == 1 and len(drawn[pools[0]]) < wanted[pools[0]]:
            pair = write_sentence(clause)
            drawn[pools[0]][pair.source] = pair
    # Short sentences are few and drawn early: shuffling gives each split its share of them.
    seen, dev_pairs = list(drawn["seen"].values()), list(drawn["dev"].values())
    rng.shuffle(seen)
    dev = seen[20_000:20_500] + dev_pairs
    rng.shuffle(dev)
    return Corpus(
        name="toy",
        source_language="en",
        target_language="fr",
        splits={
            "train": seen[:20_000],
            "dev": dev,
            "test": seen[20_500:],
            "test_combinations": list(drawn["test"].values()),
        },
    )
