"""The words of the toy language, as tables.

The forms of a word are separated by blanks, in the order that its class states. A bar separates
two variants of one form: "beau|bel" is *beau* before a consonant and *bel* before a vowel sound.
"""

from dataclasses import dataclass
from enum import IntEnum

MASCULINE, FEMININE = range(2)

PERSON, ANIMAL, THING = KINDS = ("person", "animal", "thing")
LIVING = (PERSON, ANIMAL)
# With persons these words would say more than in English: "un grand homme" is a great man, "une
# bonne femme" a disrespectful word for a woman, "ma femme" my wife.
NO_PERSONS = (ANIMAL, THING)


class Slot(IntEnum):
    """Where a word comes in a French noun phrase."""

    DETERMINER = 0
    BEFORE_NOUN = 1
    NOUN = 2
    AFTER_NOUN = 3


class Person(IntEnum):
    """Who acts; the number is the column of a French verb."""

    FIRST_SINGULAR = 0
    THIRD_SINGULAR = 1
    FIRST_PLURAL = 2
    THIRD_PLURAL = 3


@dataclass(frozen=True)
class Noun:
    """Forms in both languages: singular, plural."""

    english: str
    french: str
    gender: int
    kind: str
    slot = Slot.NOUN

    def french_form(self, gender: int, plural: bool) -> str:
        """Return the form for a number; the gender is the noun's own."""
        return self.french.split()[plural]


@dataclass(frozen=True)
class Modifier:
    """A determiner or an adjective, which agrees with a noun of one of its ``kinds``.

    French forms: masculine, feminine, masculine plural, feminine plural.
    """

    english: str
    french: str
    slot: Slot
    kinds: tuple[str, ...]

    def french_form(self, gender: int, plural: bool) -> str:
        """Return the form that agrees with a noun of this gender and number."""
        return self.french.split()[2 * plural + gender]


@dataclass(frozen=True)
class Pronoun:
    """A personal pronoun, used as a subject."""

    english: str
    french: str
    person: Person


@dataclass(frozen=True)
class Preposition:
    """A preposition, used before nouns of its ``kinds``."""

    english: str
    french: str
    kinds: tuple[str, ...]


@dataclass(frozen=True)
class Verb:
    """English forms: base, third person singular. French forms: one for each `Person`.

    A transitive verb lists the determiners that its direct object may have, an intransitive one
    the prepositions that may follow. The particle is a second English word, as in "look for".
    """

    english: str
    french: str
    objects: tuple[Modifier, ...] = ()
    prepositions: tuple[Preposition, ...] = ()
    particle: str = ""


NOUNS = (
    Noun("man men", "homme hommes", MASCULINE, PERSON),
    Noun("woman women", "femme femmes", FEMININE, PERSON),
    Noun("king kings", "roi rois", MASCULINE, PERSON),
    Noun("queen queens", "reine reines", FEMININE, PERSON),
    Noun("hero heroes", "héros héros", MASCULINE, PERSON),
    Noun("actress actresses", "actrice actrices", FEMININE, PERSON),
    Noun("prince princes", "prince princes", MASCULINE, PERSON),
    Noun("princess princesses", "princesse princesses", FEMININE, PERSON),
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
# A French h is silent: "homme" begins with a vowel sound. In these words it still acts as a
# consonant ("h aspiré"): "le héros".
H_ASPIRE = ("héros", "hibou", "hiboux")

ADJECTIVES_BEFORE_NOUN = (
    Modifier("small", "petit petite petits petites", Slot.BEFORE_NOUN, KINDS),
    Modifier("beautiful", "beau|bel belle beaux belles", Slot.BEFORE_NOUN, KINDS),
    Modifier("new", "nouveau|nouvel nouvelle nouveaux nouvelles", Slot.BEFORE_NOUN, KINDS),
    Modifier("old", "vieux|vieil vieille vieux vieilles", Slot.BEFORE_NOUN, KINDS),
    Modifier("young", "jeune jeune jeunes jeunes", Slot.BEFORE_NOUN, LIVING),
    Modifier("good", "bon bonne bons bonnes", Slot.BEFORE_NOUN, NO_PERSONS),
    Modifier("big", "grand grande grands grandes", Slot.BEFORE_NOUN, NO_PERSONS),
    Modifier("fat", "gros grosse gros grosses", Slot.BEFORE_NOUN, (ANIMAL,)),
)
COLOURS = (
    Modifier("black", "noir noire noirs noires", Slot.AFTER_NOUN, NO_PERSONS),
    Modifier("white", "blanc blanche blancs blanches", Slot.AFTER_NOUN, NO_PERSONS),
    Modifier("green", "vert verte verts vertes", Slot.AFTER_NOUN, NO_PERSONS),
    Modifier("blue", "bleu bleue bleus bleues", Slot.AFTER_NOUN, NO_PERSONS),
    Modifier("red", "rouge rouge rouges rouges", Slot.AFTER_NOUN, NO_PERSONS),
)
ADJECTIVES = (
    *ADJECTIVES_BEFORE_NOUN,
    *COLOURS,
    Modifier("happy", "heureux heureuse heureux heureuses", Slot.AFTER_NOUN, LIVING),
    Modifier("sad", "triste triste tristes tristes", Slot.AFTER_NOUN, LIVING),
    Modifier(
        "intelligent",
        "intelligent intelligente intelligents intelligentes",
        Slot.AFTER_NOUN,
        LIVING,
    ),
    Modifier("famous", "célèbre célèbre célèbres célèbres", Slot.AFTER_NOUN, (PERSON, THING)),
)

A = Modifier("a|an", "un une", Slot.DETERMINER, KINDS)
A_AFTER_NEGATION = Modifier("a|an", "de|d' de|d'", Slot.DETERMINER, KINDS)
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
    Pronoun("i", "je|j'", Person.FIRST_SINGULAR),
    Pronoun("he", "il", Person.THIRD_SINGULAR),
    Pronoun("she", "elle", Person.THIRD_SINGULAR),
    Pronoun("we", "nous", Person.FIRST_PLURAL),
    Pronoun("they", "ils", Person.THIRD_PLURAL),
)

WITH = Preposition("with", "avec", LIVING)
BEHIND = Preposition("behind", "derrière", KINDS)
PREPOSITIONS = (WITH, BEHIND)

VERBS = (
    Verb("sleep sleeps", "dors dort dormons dorment", prepositions=(BEHIND,)),
    Verb("eat eats", "mange mange mangeons mangent", prepositions=PREPOSITIONS),
    Verb("sing sings", "chante chante chantons chantent", prepositions=PREPOSITIONS),
    Verb("dance dances", "danse danse dansons dansent", prepositions=PREPOSITIONS),
    Verb("arrive arrives", "arrive arrive arrivons arrivent", prepositions=PREPOSITIONS),
    Verb("laugh laughs", "ris rit rions rient", prepositions=PREPOSITIONS),
    Verb("run runs", "cours court courons courent", prepositions=PREPOSITIONS),
    Verb("wait waits", "attends attend attendons attendent", prepositions=PREPOSITIONS),
    Verb("see sees", "vois voit voyons voient", objects=DETERMINERS),
    Verb("have has", "ai a avons ont", objects=DETERMINERS),
    Verb("paint paints", "peins peint peignons peignent", objects=DETERMINERS),
    Verb("know knows", "connais connaît connaissons connaissent", objects=DETERMINERS),
    Verb("find finds", "trouve trouve trouvons trouvent", objects=DETERMINERS),
    Verb("draw draws", "dessine dessine dessinons dessinent", objects=DETERMINERS),
    Verb("choose chooses", "choisis choisit choisissons choisissent", objects=DETERMINERS),
    Verb("look looks", "cherche cherche cherchons cherchent", objects=DETERMINERS, particle="for"),
    Verb("wait waits", "attends attend attendons attendent", objects=DETERMINERS, particle="for"),
    # "je n'aime pas de chat" is hardly French: what one likes is definite.
    Verb("like likes", "aime aime aimons aiment", objects=DEFINITE),
)


def english_words() -> list[str]:
    """Return the English words of the language in alphabetical order."""
    rows = (*DETERMINERS, *ADJECTIVES, *NOUNS, *PRONOUNS, *PREPOSITIONS, *VERBS)
    forms = {form for row in rows for form in row.english.replace("|", " ").split()}
    particles = {verb.particle for verb in VERBS if verb.particle}
    return sorted(forms | particles | {"do", "does", "not"})
