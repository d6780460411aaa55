"""The grammar against French checked by hand, and against scans that know nothing of its code."""

import os
import random
import re
import subprocess
import sys
from collections import defaultdict
from hashlib import sha256

import jaxtyping
import pytest

from transformer_course.translation.corpora.toy_language import (
    french_text,
    held_out_combinations,
    noun_phrases,
    toy_corpus,
    translate_by_rule,
    write_noun_phrase,
)
from transformer_course.translation.corpora.toy_lexicon import ADJECTIVES, NOUNS, english_words
from transformer_course.translation.corpora.vocabulary import split_words

HAND_CHECKED = """
# silent h: elision; h aspiré: none
the man sleeps                            | l'homme dort
the hero sleeps                           | le héros dort
the men sleep                             | les hommes dorment
the heroes sleep                          | les héros dorment
this man does not like the tree           | cet homme n'aime pas l'arbre
this hero does not like the man           | ce héros n'aime pas l'homme
this owl arrives                          | ce hibou arrive
the owls do not arrive                    | les hiboux n'arrivent pas
we do not have a hero                     | nous n'avons pas de héros
we do not have an owl                     | nous n'avons pas de hibou
we do not have a bear                     | nous n'avons pas d'ours
she does not look for a man               | elle ne cherche pas d'homme
i eat with a hero                         | je mange avec un héros

# je, ne, le, la, de before a vowel
i like the star                           | j'aime l'étoile
i do not like the star                    | je n'aime pas l'étoile
i have an island                          | j'ai une île
i do not have an island                   | je n'ai pas d'île
i arrive                                  | j'arrive
i do not arrive                           | je n'arrive pas
i wait for the bee                        | j'attends l'abeille
the actress does not wait                 | l'actrice n'attend pas
the bird waits behind the bear            | l'oiseau attend derrière l'ours

# beau, nouveau, vieux before a vowel, and their plurals
a beautiful bird sings                    | un bel oiseau chante
the beautiful man laughs                  | le bel homme rit
the beautiful hero laughs                 | le beau héros rit
the beautiful birds sing                  | les beaux oiseaux chantent
the beautiful princesses sing             | les belles princesses chantent
i see this new tree                       | je vois ce nouvel arbre
i see these new trees                     | je vois ces nouveaux arbres
the new hero waits                        | le nouveau héros attend
the new actress arrives                   | la nouvelle actrice arrive
an old bear sleeps                        | un vieil ours dort
the old bears sleep                       | les vieux ours dorment
the old owl sleeps                        | le vieux hibou dort
this old man eats                         | ce vieil homme mange
these old men eat                         | ces vieux hommes mangent
the old women dance                       | les vieilles femmes dansent
my beautiful black bird does not sing     | mon bel oiseau noir ne chante pas

# mon, son for ma, sa before a vowel; the word that follows decides, not the noun
i find my star                            | je trouve mon étoile
i find my beautiful star                  | je trouve ma belle étoile
i find my stars                           | je trouve mes étoiles
he draws his green island                 | il dessine son île verte
she draws her small island                | elle dessine sa petite île
her bee sleeps                            | son abeille dort
his cow sleeps                            | sa vache dort
her dog sleeps                            | son chien dort
we like our house                         | nous aimons notre maison
we like our old houses                    | nous aimons nos vieilles maisons
they see their tree                       | ils voient leur arbre
they see their red flowers                | ils voient leurs fleurs rouges
this bee waits                            | cette abeille attend
these cows wait                           | ces vaches attendent

# un and une turn into de in a negated direct object, and nowhere else
the king does not see a red house         | le roi ne voit pas de maison rouge
the king does not see an old red house    | le roi ne voit pas de vieille maison rouge
the queen does not choose a beautiful tree | la reine ne choisit pas de bel arbre
they do not know an intelligent woman     | ils ne connaissent pas de femme intelligente
the king sees a red house                 | le roi voit une maison rouge
a cat does not sleep                      | un chat ne dort pas
the prince does not dance with a princess | le prince ne danse pas avec une princesse
the dog does not run behind an old horse  | le chien ne court pas derrière un vieux cheval
he does not find the castle               | il ne trouve pas le château

# agreement of adjectives
the happy king laughs                     | le roi heureux rit
the happy kings laugh                     | les rois heureux rient
the happy queen laughs                    | la reine heureuse rit
the happy queens laugh                    | les reines heureuses rient
the fat cat eats                          | le gros chat mange
the fat cats eat                          | les gros chats mangent
a fat mouse eats                          | une grosse souris mange
the fat mice eat                          | les grosses souris mangent
the white horse runs                      | le cheval blanc court
these white horses run                    | ces chevaux blancs courent
her white cows run                        | ses vaches blanches courent
his blue birds sing                       | ses oiseaux bleus chantent
an intelligent woman knows the famous actress | une femme intelligente connaît l'actrice célèbre
the sad princes dance                     | les princes tristes dansent
i have his big books                      | j'ai ses grands livres
we draw a good red flower                 | nous dessinons une bonne fleur rouge
the young princess paints the new castles | la jeune princesse peint les nouveaux châteaux

# conjugation
i know the king                           | je connais le roi
we know the king                          | nous connaissons le roi
they know the king                        | ils connaissent le roi
we eat                                    | nous mangeons
we choose a flower                        | nous choisissons une fleur
the women choose a flower                 | les femmes choisissent une fleur
we paint an owl                           | nous peignons un hibou
they paint an owl                         | ils peignent un hibou
i see the books                           | je vois les livres
we see the books                          | nous voyons les livres
she has a book                            | elle a un livre
the women have a book                     | les femmes ont un livre
i laugh                                   | je ris
we do not laugh                           | nous ne rions pas
i run                                     | je cours
i do not sleep                            | je ne dors pas
we sleep behind the house                 | nous dormons derrière la maison

# words that do not match one to one
the small cat does not sleep              | le petit chat ne dort pas
the black cat sleeps                      | le chat noir dort
the small black cat sleeps                | le petit chat noir dort
the cat looks for the mouse               | le chat cherche la souris
i do not look for the mice                | je ne cherche pas les souris
she waits                                 | elle attend
she waits for the king                    | elle attend le roi
"""


def hand_checked():
    rows = [row for row in HAND_CHECKED.splitlines() if row and not row.startswith("#")]
    return [tuple(side.strip() for side in row.split("|")) for row in rows]


def french_words(text):
    return re.findall(r"[^ ']+'?", text)


@pytest.fixture(scope="module")
def corpora():
    # Checking the signatures of a million calls takes most of a minute; the other tests do it.
    jaxtyping.config.update("jaxtyping_disable", True)
    corpora = [toy_corpus(seed) for seed in range(3)]
    jaxtyping.config.update("jaxtyping_disable", False)
    return corpora


@pytest.fixture(scope="module")
def corpus(corpora):
    return corpora[0]


@pytest.fixture(scope="module")
def all_pairs(corpora):
    return [pair for corpus in corpora for split in corpus.splits.values() for pair in split]


@pytest.fixture(scope="module")
def french(all_pairs):
    """Everything in French that the other scans read: sentences, and all noun phrases there are."""
    phrases = [french_text(write_noun_phrase(phrase).french) for phrase in noun_phrases().values()]
    return [pair.target for pair in all_pairs] + phrases


# French and English, right or wrong.


@pytest.mark.parametrize(("english", "expected"), hand_checked())
def test_the_grammar_makes_the_sentences_checked_by_hand(english, expected):
    assert translate_by_rule(english).target == expected


def test_there_are_enough_sentences_checked_by_hand():
    assert len(set(hand_checked())) >= 60


def test_elision_happens_where_it_must_and_only_there(french):
    vowel_sound = r"(?!héros|hibou)[aeiouhâéêîô]"
    missed = rf"\b(le|la|je|ne|de|ce|ma|sa|beau|nouveau) {vowel_sound}"
    missed_vieux = rf"(?<!s )\bvieux {vowel_sound}"  # after a plural determiner it stays
    needless = rf"(\b[ljnd]'|\b(cet|bel|nouvel|vieil) )(?!{vowel_sound})"
    contraction = r"\b(de|à) les?\b"
    for text in french:
        for pattern in (missed, missed_vieux, needless, contraction):
            assert not re.search(pattern, text), text


AGREEMENT = {
    "masculine singular": """le l' un ce cet mon son notre leur de d' petit beau bel nouveau nouvel
        vieux vieil jeune bon grand gros noir blanc vert bleu rouge heureux triste intelligent
        célèbre homme roi héros prince chat chien oiseau cheval ours hibou arbre livre château""",
    "feminine singular": """la l' une cette mon ma son sa notre leur de d' petite belle nouvelle
        vieille jeune bonne grande grosse noire blanche verte bleue rouge heureuse triste
        intelligente célèbre femme reine actrice princesse souris vache abeille maison fleur étoile
        île""",
    "masculine plural": """les ces mes ses nos leurs petits beaux nouveaux vieux jeunes bons grands
        gros noirs blancs verts bleus rouges heureux tristes intelligents célèbres hommes rois héros
        princes chats chiens oiseaux chevaux ours hiboux arbres livres châteaux""",
    "feminine plural": """les ces mes ses nos leurs petites belles nouvelles vieilles jeunes bonnes
        grandes grosses noires blanches vertes bleues rouges heureuses tristes intelligentes
        célèbres femmes reines actrices princesses souris vaches abeilles maisons fleurs étoiles
        îles""",
}
CONJUGATION = {
    "je": """dors mange chante danse arrive ris cours attends vois ai peins connais trouve dessine
        choisis cherche aime""",
    "il": """dort mange chante danse arrive rit court attend voit a peint connaît trouve dessine
        choisit cherche aime""",
    "nous": """dormons mangeons chantons dansons arrivons rions courons attendons voyons avons
        peignons connaissons trouvons dessinons choisissons cherchons aimons""",
    "ils": """dorment mangent chantent dansent arrivent rient courent attendent voient ont peignent
        connaissent trouvent dessinent choisissent cherchent aiment""",
}


def values_by_word(table):
    words = {word for row in table.values() for word in row.split()}
    return {word: {key for key, row in table.items() if word in row.split()} for word in words}


FEATURES, PERSONS = values_by_word(AGREEMENT), values_by_word(CONJUGATION)
PRONOUN_PERSON = {"je": "je", "j'": "je", "il": "il", "elle": "il", "nous": "nous", "ils": "ils"}


def noun_phrases_in(words):
    """Cut out the runs of determiners, adjectives and nouns."""
    phrases = [[]]
    for word in words:
        if word in FEATURES:
            phrases[-1].append(word)
        else:
            phrases.append([])
    return [phrase for phrase in phrases if phrase]


def test_the_words_of_a_noun_phrase_agree(french):
    for text in french:
        for phrase in noun_phrases_in(french_words(text)):
            common = set.intersection(*(FEATURES[word] for word in phrase))
            assert common, text
            possessive, following = phrase[:2]
            if possessive in ("mon", "son") and common == {"feminine singular"}:
                assert following[0] in "aeiouéî", text


def test_the_verb_agrees_with_the_subject(all_pairs):
    for pair in all_pairs:
        words = french_words(pair.target)
        verb = next(word for word in words if word in PERSONS)
        if words[0] in PRONOUN_PERSON:
            person = PRONOUN_PERSON[words[0]]
        else:
            subject = noun_phrases_in(words)[0]
            common = set.intersection(*(FEATURES[word] for word in subject))
            person = "ils" if any("plural" in value for value in common) else "il"
        assert person in PERSONS[verb], pair.target


def test_english_says_an_before_vowels_and_does_in_the_third_person(all_pairs):
    wrong = r"\ba [aeiou]|\ban [^aeiou]|\b(he|she) do\b|\b(i|we|they) does\b|not \w+s\b"
    for pair in all_pairs:
        assert not re.search(wrong, pair.source), pair.source


def test_a_source_has_one_translation(all_pairs):
    translations = {pair.source: pair for pair in all_pairs}
    for pair in all_pairs:
        assert translations[pair.source] == pair


# The rule.


def test_the_rule_agrees_with_the_corpus(corpus):
    for split in corpus.splits.values():
        for pair in split[:300]:
            assert translate_by_rule(pair.source) == pair


@pytest.mark.parametrize(
    ("english", "reason"),
    [
        ("the zeppelin sleeps", "no word 'zeppelin'"),
        ("the cat sleep", "grammar"),
        ("the cats sleeps", "grammar"),
        ("a owl sleeps", "grammar"),
        ("the tree sleeps", "grammar"),
        ("the red king sleeps", "grammar"),
        ("the black small cat sleeps", "grammar"),
        ("the cat sees", "grammar"),
        ("the cat sleeps the dog", "grammar"),
        ("the cat sleeps with the dog", "grammar"),
        ("i like a cat", "grammar"),
        ("the cat", "grammar"),
        ("", "grammar"),
    ],
)
def test_the_rule_refuses_what_the_grammar_does_not_make(english, reason):
    with pytest.raises(ValueError, match=f"not a sentence of the toy language: .*{reason}"):
        translate_by_rule(english)


# Words and alignments.


@pytest.mark.parametrize(
    ("english", "links"),
    [
        ("the small black cat sleeps", "the-le small-petit cat-chat black-noir sleeps-dort"),
        ("the man waits", "the-l' man-homme waits-attend"),
        ("she looks for a bear", "she-elle looks-cherche for-cherche a-un bear-ours"),
        (
            "he does not look for a bear",
            "he-il does-ne not-ne look-cherche for-cherche does-pas not-pas a-d' bear-ours",
        ),
        (
            "i do not dance with the old actress",
            "i-je do-ne not-ne dance-danse do-pas not-pas with-avec the-la old-vieille "
            "actress-actrice",
        ),
    ],
)
def test_alignments_checked_by_hand(english, links):
    pair = translate_by_rule(english)
    source, target = pair.source.split(), french_words(pair.target)
    by_target = sorted(pair.alignment, key=lambda link: (link[1], link[0]))
    assert " ".join(f"{source[s]}-{target[t]}" for s, t in by_target) == links


def test_words_are_cut_as_alignments_count_them(corpus):
    for split in corpus.splits.values():
        for pair in split:
            source, target = split_words(pair.source, "en"), split_words(pair.target, "fr")
            assert source == pair.source.split()
            assert target == french_words(pair.target)
            assert {s for s, _ in pair.alignment} == set(range(len(source))), pair
            assert {t for _, t in pair.alignment} == set(range(len(target))), pair


# Splits.


def adjective_noun_combinations(english):
    nouns = {form: noun.english for noun in NOUNS for form in noun.english.split()}
    adjectives = {adjective.english for adjective in ADJECTIVES}
    combinations, waiting = set(), []
    for word in english.split():
        if word in adjectives:
            waiting.append(word)
        elif word in nouns:
            combinations |= {(adjective, nouns[word]) for adjective in waiting}
            waiting = []
    return combinations


def combinations_of(split):
    return set().union(*(adjective_noun_combinations(pair.source) for pair in split))


def test_splits_have_their_sizes(corpora):
    for corpus in corpora:
        assert {name: len(split) for name, split in corpus.splits.items()} == {
            "train": 20_000,
            "dev": 1_000,
            "test": 1_000,
            "test_combinations": 1_000,
        }


def test_no_sentence_occurs_twice(corpora):
    for corpus in corpora:
        sources = [pair.source for split in corpus.splits.values() for pair in split]
        assert len(sources) == len(set(sources))


def test_training_shows_every_word_of_the_language(corpora):
    for corpus in corpora:
        train = corpus.split("train")
        assert {word for pair in train for word in pair.source.split()} == set(english_words())
        seen = {word for pair in train for word in french_words(pair.target)}
        others = {"ne", "n'", "pas", "avec", "derrière"}
        assert seen == set(FEATURES) | set(PERSONS) | set(PRONOUN_PERSON) | others


def test_setting_combinations_aside_leaves_every_form_to_learn_from():
    forms = defaultdict(set)
    for phrase in noun_phrases().values():
        if len(phrase.adjectives) == 1:
            key = (phrase.adjectives[0].english, phrase.noun.english)
            forms[key] |= set(french_words(french_text(write_noun_phrase(phrase).french)))
    for seed in range(200):
        held_out = held_out_combinations(random.Random(seed))
        assert not held_out["dev"] & held_out["test"]
        kept = set(forms) - held_out["dev"] - held_out["test"]
        assert set().union(*(forms[key] for key in kept)) == set().union(*forms.values())


def test_the_test_split_holds_seen_combinations_only(corpora):
    for corpus in corpora:
        assert combinations_of(corpus.split("test")) <= combinations_of(corpus.split("train"))


def test_each_sentence_of_test_combinations_holds_an_unseen_one(corpora):
    for corpus in corpora:
        known = combinations_of(corpus.split("train") + corpus.split("dev") + corpus.split("test"))
        for pair in corpus.split("test_combinations"):
            assert adjective_noun_combinations(pair.source) - known, pair.source


def test_half_of_dev_holds_combinations_of_its_own(corpora):
    for corpus in corpora:
        known = set().union(
            *(combinations_of(split) for name, split in corpus.splits.items() if name != "dev")
        )
        is_new = [bool(adjective_noun_combinations(p.source) - known) for p in corpus.split("dev")]
        assert sum(is_new) == 500
        assert 50 < sum(is_new[:200]) < 150, "the halves of dev are not mixed"


# Determinism.


def digest(corpus):
    return sha256(repr(corpus).encode()).hexdigest()


def test_a_seed_fixes_the_corpus_whatever_the_order_of_sets(corpus):
    program = (
        "from hashlib import sha256; from transformer_course.translation import toy_corpus; "
        "print(sha256(repr(toy_corpus(0)).encode()).hexdigest())"
    )
    environment = os.environ | {"PYTHONHASHSEED": "1"}
    command = [sys.executable, "-c", program]
    output = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert output.stdout.strip() == digest(corpus)


def test_another_seed_gives_another_corpus(corpora):
    assert digest(corpora[0]) != digest(corpora[1])
