"""Mistakes in what beam search returns and in its score; those of the search are beside it."""

from transformer_course.exercises.decoding.beam_search import beam_search

beam_search.mistake(
    "the score is the mean per token",
    edits=[("len(tokens), alpha)", "len(tokens))")],
    observed="The sentence of 5 tokens wins over that of 2 for every `alpha`: the mean divides by "
    "the whole length. GNMT's penalty with `alpha=0.6` is weaker, and the short one wins.",
    change="Divide by `((5 + length) / 6) ** alpha`.",
)
beam_search.mistake(
    "the penalty multiplies",
    edits=[("/ penalty", "* penalty")],
    observed="Long sentences are punished twice: a sum of logarithms is negative, and you make it "
    "more so.",
    change="Divide by the penalty.",
)
beam_search.mistake(
    "the length leaves the end token out",
    edits=[("len(tokens)", "(len(tokens) - (tokens[-1] == eos))")],
    observed="With `alpha` above 0 the scores are those of sentences one token shorter.",
    change="Count the tokens after `bos`, `eos` included.",
)
beam_search.mistake(
    "the length counts the begin token",
    edits=[("len(tokens)", "len((bos, *tokens))")],
    observed="With `alpha` above 0 the scores are those of sentences one token longer.",
    change="Count the tokens after `bos`.",
)
beam_search.mistake(
    "the sum is returned instead of the score",
    edits=[("[(tokens, own", "[(tokens, total, own"), ("hypothesis[1])", "hypothesis[2])[:2]")],
    observed="The tokens are right; with `alpha` above 0 the number beside them is their "
    "log-probability.",
    change="Return the score by which you chose.",
)
beam_search.mistake(
    "the score is a probability",
    edits=[("own.length_score(", "math.exp(own.length_score("), ("alpha)) for", "alpha))) for")],
    observed="The score is between 0 and 1: it is the exponential of the one asked for.",
    change="Leave `exp` out.",
)
beam_search.mistake(
    "the begin token is returned",
    edits=[("[(tokens,", "[((bos, *tokens),")],
    observed="The tokens begin with `bos`.",
    change="Return the tokens after `bos`.",
)
beam_search.mistake(
    "the end token is cut off",
    edits=[("[(tokens,", "[(tuple(token for token in tokens if token != eos),")],
    observed="A sentence that ended by itself comes back without its `eos`, and looks like one "
    "that `max_length` cut off.",
    change="Return the tokens with their `eos`.",
)
beam_search.mistake(
    "`step` gets only the newest token",
    edits=[("step((bos, *tokens))", "step(tokens[-1:] or (bos,))")],
    observed="The first word is right; from then on the model does not know what came before.",
    change="Give it the whole prefix: `step((bos, *tokens))`.",
)
beam_search.mistake(
    "`max_length` counts the begin token",
    edits=[("range(max_length)", "range(max_length - 1)")],
    observed="A hypothesis that is cut off has one token less than `max_length`.",
    change="Run the loop `max_length` times: it counts tokens after `bos`.",
)
beam_search.mistake(
    "one token more than `max_length`",
    edits=[("range(max_length)", "range(max_length + 1)")],
    observed="A hypothesis that is cut off has `max_length + 1` tokens.",
    change="Run the loop `max_length` times.",
)
beam_search.mistake(
    "`bos` is not given to `step`",
    edits=[("step((bos, *tokens))", "step(tokens)")],
    observed="All words are wrong: the model is asked what follows a sentence that never began.",
    change="Give it the whole prefix: `step((bos, *tokens))`.",
)
beam_search.mistake(
    "the score comes first",
    edits=[("return max", "return (max"), ("hypothesis[1])", "hypothesis[1]))[::-1]")],
    observed="You return the score and the tokens; wanted are the tokens and the score.",
    change="Return `tokens, score`.",
)
beam_search.mistake(
    "the hypothesis with the lowest score is taken",
    edits=[("return max", "return min")],
    observed="The score is minus infinity or close to it: scores are negative, and the one nearest "
    "to 0 is the best.",
    change="Take the `max` by score.",
)
beam_search.mistake(
    "what is cut off is not scored for its length",
    edits=[
        (
            "own.length_score(total, len(tokens), alpha)",
            "own.length_score(total, len(tokens), alpha if tokens[-1] == eos else 0)",
        )
    ],
    observed="With `alpha` above 0 a hypothesis that `max_length` cut off has its bare sum as "
    "its score.",
    change="Score `finished + live` alike, all with `own.length_score`.",
)
beam_search.mistake(
    "the sums are divided by the penalty at every step",
    edits=[
        (
            "total + log_probability)",
            "own.length_score(total + log_probability, len(tokens) + 1, alpha))",
        ),
        ("own.length_score(total, len(tokens), alpha)", "total"),
    ],
    observed="With `alpha` above 0 the first tokens are divided again and again, once for each "
    "token after them.",
    change="Add up plain log-probabilities, and score a hypothesis once, at its end.",
)
beam_search.mistake(
    "the sums are divided by the penalty at every step, with the begin token in the length",
    edits=[
        (
            "total + log_probability)",
            "own.length_score(total + log_probability, len(tokens) + 2, alpha))",
        ),
        ("own.length_score(total, len(tokens), alpha)", "total"),
    ],
    observed="With `alpha` above 0 the first tokens are divided again and again, once for each "
    "token after them, and each length is one too large.",
    change="Add up plain log-probabilities, and score a hypothesis once, at its end, by the number "
    "of tokens after `bos`.",
)
for _when, _enough in {
    "one hypothesis has": "finished",
    "`beam` hypotheses have": "len(finished) >= beam",
}.items():
    beam_search.mistake(
        f"the search stops when {_when} finished, and what is alive then counts as well",
        edits=[
            (
                "child[0][-1] != eos]",
                f"child[0][-1] != eos]\n        if {_enough}:\n            break",
            )
        ],
        observed="The search ends early: a hypothesis can win that is not finished, because words "
        "are missing from its sum, and longer ones are never found.",
        change="Go on until no hypothesis is alive or `max_length` is reached.",
    )
beam_search.mistake(
    "the begin token is part of the hypothesis: it is returned and counted",
    edits=[("[(tokens,", "[((bos, *tokens),"), ("len(tokens)", "len((bos, *tokens))")],
    observed="The tokens begin with `bos`, and with `alpha` above 0 the scores are those of "
    "sentences one token longer.",
    change="Return and count the tokens after `bos`.",
)
