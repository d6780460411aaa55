"""A small English-French grammar whose translations are right by construction.

Each English sentence has one French translation, and each French word knows the English words it
comes from. Where English leaves something open the grammar decides: "they" is "ils". Sentences
that English cannot decide ("you", "I am tired", negated "a cat") are left out.
"""

import random
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from transformer_course.translation.corpus import Corpus, SentencePair

TRAIN_SENTENCES, TEST_SENTENCES = 20_000, 1_000
HELD_OUT_COMBINATIONS = 0.1  # share of the noun-adjective combinations, for either purpose


class Noun(NamedTuple):
    """A noun: its forms in English and French, its gender, and whether it can act."""

    english: str
    english_plural: str
    french: str
    french_plural: str
    feminine: bool
    animate: bool


class Adjective(NamedTuple):
    """An adjective and its forms; ``before`` tells whether it precedes the French noun."""

    english: str
    masculine: str
    feminine: str
    masculine_plural: str
    before: bool

    def agree(self, feminine: bool, plural: bool) -> str:
        """Return the form for a gender and a number."""
        if feminine:
            return self.feminine + "s" if plural else self.feminine
        return self.masculine_plural if plural else self.masculine


class Verb(NamedTuple):
    """A verb: English base and third person; French forms for je, il, nous and ils."""

    english: str
    english_third: str
    je: str
    il: str
    nous: str
    ils: str
    transitive: bool


class Determiner(NamedTuple):
    """A determiner and its French forms; an empty plural means that it has none."""

    english: str
    english_plural: str
    masculine: str
    feminine: str
    plural: str


def _nouns(table: str, animate: bool) -> list[Noun]:
    rows = (line.split() for line in table.strip().splitlines())
    return [Noun(*words, feminine=gender == "f", animate=animate) for *words, gender in rows]


def _adjectives(table: str, before: bool) -> list[Adjective]:
    return [Adjective(*line.split(), before=before) for line in table.strip().splitlines()]


def _verbs(table: str, transitive: bool) -> list[Verb]:
    return [Verb(*line.split(), transitive=transitive) for line in table.strip().splitlines()]


NOUNS = _nouns(
    """
    cat      cats      chat     chats     m
    dog      dogs      chien    chiens    m
    horse    horses    cheval   chevaux   m
    bird     birds     oiseau   oiseaux   m
    animal   animals   animal   animaux   m
    owl      owls      hibou    hiboux    m
    mouse    mice      souris   souris    f
    cow      cows      vache    vaches    f
    man      men       homme    hommes    m
    boy      boys      garçon   garçons   m
    king     kings     roi      rois      m
    hero     heroes    héros    héros     m
    child    children  enfant   enfants   m
    woman    women     femme    femmes    f
    girl     girls     fille    filles    f
    queen    queens    reine    reines    f
    actress  actresses actrice  actrices  f
    """,
    animate=True,
) + _nouns(
    """
    book     books     livre    livres    m
    hat      hats      chapeau  chapeaux  m
    boat     boats     bateau   bateaux   m
    garden   gardens   jardin   jardins   m
    tree     trees     arbre    arbres    m
    egg      eggs      œuf      œufs      m
    hotel    hotels    hôtel    hôtels    m
    house    houses    maison   maisons   f
    car      cars      voiture  voitures  f
    flower   flowers   fleur    fleurs    f
    apple    apples    pomme    pommes    f
    key      keys      clé      clés      f
    church   churches  église   églises   f
    island   islands   île      îles      f
    """,
    animate=False,
)

ADJECTIVES = _adjectives(
    """
    small     petit    petite    petits
    big       grand    grande    grands
    beautiful beau     belle     beaux
    new       nouveau  nouvelle  nouveaux
    old       vieux    vieille   vieux
    good      bon      bonne     bons
    bad       mauvais  mauvaise  mauvais
    pretty    joli     jolie     jolis
    """,
    before=True,
) + _adjectives(
    """
    black     noir     noire     noirs
    white     blanc    blanche   blancs
    red       rouge    rouge     rouges
    green     vert     verte     verts
    blue      bleu     bleue     bleus
    grey      gris     grise     gris
    heavy     lourd    lourde    lourds
    strange   étrange  étrange   étranges
    famous    célèbre  célèbre   célèbres
    precious  précieux précieuse précieux
    elegant   élégant  élégante  élégants
    funny     drôle    drôle     drôles
    """,
    before=False,
)

VERBS = _verbs(
    """
    see     sees     vois     voit     voyons     voient
    like    likes    aime     aime     aimons     aiment
    watch   watches  regarde  regarde  regardons  regardent
    find    finds    trouve   trouve   trouvons   trouvent
    know    knows    connais  connaît  connaissons connaissent
    follow  follows  suis     suit     suivons    suivent
    hear    hears    entends  entend   entendons  entendent
    admire  admires  admire   admire   admirons   admirent
    draw    draws    dessine  dessine  dessinons  dessinent
    hide    hides    cache    cache    cachons    cachent
    choose  chooses  choisis  choisit  choisissons choisissent
    forget  forgets  oublie   oublie   oublions   oublient
    lose    loses    perds    perd     perdons    perdent
    """,
    transitive=True,
) + _verbs(
    """
    sleep   sleeps   dors     dort     dormons    dorment
    eat     eats     mange    mange    mangeons   mangent
    sing    sings    chante   chante   chantons   chantent
    dance   dances   danse    danse    dansons    dansent
    laugh   laughs   ris      rit      rions      rient
    run     runs     cours    court    courons    courent
    wait    waits    attends  attend   attendons  attendent
    arrive  arrives  arrive   arrive   arrivons   arrivent
    hesitate hesitates hésite hésite   hésitons   hésitent
    fall    falls    tombe    tombe    tombons    tombent
    """,
    transitive=False,
)
BE = Verb("be", "is", "suis", "est", "sommes", "sont", transitive=False)

DETERMINERS = [
    Determiner("the", "the", "le", "la", "les"),
    Determiner("a", "", "un", "une", ""),
    Determiner("this", "these", "ce", "cette", "ces"),
    Determiner("my", "my", "mon", "ma", "mes"),
    Determiner("his", "his", "son", "sa", "ses"),
    Determiner("our", "our", "notre", "notre", "nos"),
]

PRONOUNS = {"I": "je", "he": "il", "she": "elle", "we": "nous", "they": "ils"}

# Before a vowel sound: these lose their vowel ...
ELIDED = {"le": "l'", "la": "l'", "je": "j'", "ne": "n'"}
# ... and these take another form.
BEFORE_VOWEL = {
    "ce": "cet",
    "ma": "mon",
    "sa": "son",
    "beau": "bel",
    "nouveau": "nouvel",
    "vieux": "vieil",
}
VOWELS = "aeiouyhâàéèêëîïôûœ"  # a silent h counts as a vowel
ASPIRATED = {"héros", "hibou", "hiboux"}  # this h forbids elision


@dataclass(frozen=True)
class Phrase:
    """A piece of a sentence in both languages; each French word with its English words' places.

    ``plural`` and ``feminine`` are what a verb or an adjective outside must agree with, and
    ``person`` is the French pronoun whose verb form it takes.
    """

    english: tuple[str, ...]
    french: tuple[tuple[str, tuple[int, ...]], ...]
    plural: bool = False
    feminine: bool = False
    person: str = "il"


def noun_phrase(
    determiner: Determiner,
    noun: Noun,
    adjectives: Iterable[Adjective] = (),
    plural: bool = False,
) -> Phrase:
    """Put a noun together with its determiner and adjectives, each in its place and form."""
    adjectives = tuple(adjectives)
    english = (
        determiner.english_plural if plural else determiner.english,
        *(adjective.english for adjective in adjectives),
        noun.english_plural if plural else noun.english,
    )
    article = determiner.feminine if noun.feminine else determiner.masculine
    agreed = [
        (adjective.agree(noun.feminine, plural), (place,), adjective.before)
        for place, adjective in enumerate(adjectives, start=1)
    ]
    french = (
        (determiner.plural if plural else article, (0,)),
        *((word, places) for word, places, before in agreed if before),
        (noun.french_plural if plural else noun.french, (len(english) - 1,)),
        *((word, places) for word, places, before in agreed if not before),
    )
    return Phrase(english, french, plural, noun.feminine, "ils" if plural else "il")


def pronoun(english: str) -> Phrase:
    """Return a subject pronoun."""
    french = PRONOUNS[english]
    person = "il" if french == "elle" else french
    return Phrase(
        (english,), ((french, (0,)),), person in ("nous", "ils"), french == "elle", person
    )


def clause(
    subject: Phrase, verb: Verb, complement: Phrase | None = None, negated: bool = False
) -> Phrase:
    """Join subject, verb and, if any, object; negation stands on both sides of the verb."""
    start = len(subject.english)
    third = subject.person == "il"
    if verb is BE:
        middle = ("is" if third else "are", *(("not",) if negated else ()))
        places, negation = (start,), (start + 1,)
    elif negated:
        middle = ("does" if third else "do", "not", verb.english)
        places, negation = (start + 2,), (start, start + 1)
    else:
        middle = (verb.english_third if third else verb.english,)
        places, negation = (start,), ()
    french_verb = ((getattr(verb, subject.person), places),)
    if negated:
        french_verb = (("ne", negation), *french_verb, ("pas", negation))
    rest = complement or Phrase((), ())
    after = start + len(middle)
    moved = tuple((word, tuple(place + after for place in at)) for word, at in rest.french)
    return Phrase(subject.english + middle + rest.english, subject.french + french_verb + moved)


def predicate(subject: Phrase, adjective: Adjective) -> Phrase:
    """Return an adjective that says something of the subject and agrees with it."""
    word = adjective.agree(subject.feminine, subject.plural)
    return Phrase((adjective.english,), ((word, (0,)),))


def sentence_pair(phrase: Phrase) -> SentencePair:
    """Write a clause as text in both languages, with its word alignment."""
    english = [
        "an" if word == "a" and follower[:1] in tuple("aeiou") else word
        for word, follower in zip(phrase.english, (*phrase.english[1:], ""), strict=True)
    ]
    words = [word for word, _ in phrase.french]
    french = [before_vowel(*pair) for pair in zip(words, [*words[1:], ""], strict=True)]
    alignment = tuple(
        (source, target) for target, (_, at) in enumerate(phrase.french) for source in at
    )
    text = " ".join(french).replace("' ", "'")
    return SentencePair(" ".join(english), text, alignment)


def before_vowel(word: str, follower: str) -> str:
    """Return the form that a French word takes before the one that follows it."""
    if follower[:1] in tuple(VOWELS) and follower not in ASPIRATED:
        return ELIDED.get(word) or BEFORE_VOWEL.get(word) or word
    return word


class _Draw:
    """Draws random clauses and remembers which nouns and adjectives it put together."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.combinations: set[tuple[str, str]] = set()

    def clause(self) -> Phrase:
        """Draw a sentence of any kind."""
        kind = self.rng.choice(("intransitive", "transitive", "transitive", "predicate"))
        negated = self.rng.random() < 0.35
        if kind == "predicate":
            return self.predication(negated)
        subject = self.subject()
        verb = self.rng.choice([v for v in VERBS if v.transitive == (kind == "transitive")])
        found = self.noun_phrase(NOUNS, definite=negated) if verb.transitive else None
        return clause(subject, verb, found, negated)

    def predication(self, negated: bool) -> Phrase:
        """Draw "this house is white" or "she is not famous"."""
        adjective = self.rng.choice(ADJECTIVES)
        if self.rng.random() < 0.2:
            subject = pronoun(self.rng.choice(("he", "she", "they")))
        else:
            noun = self.rng.choice(NOUNS)
            self.combinations.add((noun.english, adjective.english))
            subject = noun_phrase(*self.determined(noun, definite=True))
        return clause(subject, BE, predicate(subject, adjective), negated)

    def subject(self) -> Phrase:
        """Draw someone who can act."""
        if self.rng.random() < 0.3:
            return pronoun(self.rng.choice(list(PRONOUNS)))
        return self.noun_phrase([noun for noun in NOUNS if noun.animate])

    def noun_phrase(self, nouns: list[Noun], definite: bool = False) -> Phrase:
        """Draw a noun with its determiner and up to two adjectives, one of either kind."""
        determiner, noun, adjectives, plural = self.determined(self.rng.choice(nouns), definite)
        for before in (True, False):
            if self.rng.random() < 0.4:
                kind = [adjective for adjective in ADJECTIVES if adjective.before == before]
                adjectives += (self.rng.choice(kind),)
        self.combinations |= {(noun.english, adjective.english) for adjective in adjectives}
        return noun_phrase(determiner, noun, adjectives, plural)

    def determined(
        self, noun: Noun, definite: bool
    ) -> tuple[Determiner, Noun, tuple[Adjective, ...], bool]:
        """Draw number and determiner; French negates "a cat" otherwise, so it can be excluded."""
        plural = self.rng.random() < 0.4
        possible = [d for d in DETERMINERS if d.english_plural or not (plural or definite)]
        return self.rng.choice(possible), noun, (), plural


def toy_corpus(seed: int = 0) -> Corpus:
    """Draw the corpus: the same seed gives the same sentences on every machine.

    Splits
    ------
    train
        20,000 pairs.
    dev
        1,000 pairs, half of them unseen sentences, half with combinations of a noun and an
        adjective that only they have.
    test
        1,000 unseen sentences whose noun-adjective combinations all occur in training.
    test_combinations
        1,000 sentences, each with a noun-adjective combination that occurs nowhere else.
    """
    rng = random.Random(seed)
    combinations = [(noun.english, adjective.english) for noun in NOUNS for adjective in ADJECTIVES]
    rng.shuffle(combinations)
    count = round(HELD_OUT_COMBINATIONS * len(combinations))
    for_test, for_dev = set(combinations[:count]), set(combinations[count : 2 * count])
    half = TEST_SENTENCES // 2
    wanted = {
        "train": TRAIN_SENTENCES,
        "test": TEST_SENTENCES,
        "test_combinations": TEST_SENTENCES,
        "dev": half,
        "dev_combinations": half,
    }
    splits: dict[str, list[SentencePair]] = {name: [] for name in wanted}
    drawn: set[str] = set()
    while any(len(splits[name]) < size for name, size in wanted.items()):
        draw = _Draw(rng)
        pair = sentence_pair(draw.clause())
        new_to_test, new_to_dev = draw.combinations & for_test, draw.combinations & for_dev
        if pair.source in drawn or (new_to_test and new_to_dev):
            continue
        if new_to_test:
            places = ["test_combinations"]
        elif new_to_dev:
            places = ["dev_combinations"]
        else:
            places = ["train", "test", "dev"]
        for name in places:
            if len(splits[name]) < wanted[name]:
                splits[name].append(pair)
                drawn.add(pair.source)
                break
    splits["dev"] += splits.pop("dev_combinations")
    rng.shuffle(splits["dev"])
    return Corpus("toy", "en", "fr", splits)
