"""Right answers in other styles, for the exercises of lesson 9."""

import math
import re
from collections import defaultdict

import torch

from transformer_course.translation.evaluation.bleu import brevity_penalty, clipped_counts


def clipped_counts_crossing_out(candidate, reference, n):
    def ngrams(words):
        return list(zip(*(words[offset:] for offset in range(n)), strict=False))

    left, matches = ngrams(reference), 0
    for ngram in ngrams(candidate):
        if ngram in left:
            left.remove(ngram)
            matches += 1
    return matches, len(ngrams(candidate))


def clipped_counts_with_dicts(candidate, reference, n):
    def counts(words):
        found = {}
        for i in range(max(len(words) - n + 1, 0)):
            key = "\0".join(words[i : i + n])
            found[key] = found.get(key, 0) + 1
        return found

    mine, theirs = counts(candidate), counts(reference)
    return [sum(min(mine[k], theirs.get(k, 0)) for k in mine), max(0, len(candidate) - n + 1)]


def penalty_in_one_line(candidate_length, reference_length):
    if not candidate_length:
        return 0
    return min(1.0, math.e ** (1 - reference_length / candidate_length))


def penalty_in_floats(candidate_length, reference_length):
    if candidate_length == 0:
        return 0.0
    return math.exp(min(0.0, 1 - float(reference_length) / candidate_length))


def penalty_with_tensors(candidate_length, reference_length):
    ratio = torch.tensor(reference_length) / torch.tensor(candidate_length)
    return (1 - ratio).clamp(max=0).exp().item()


def bleu_by_powers(candidates, references, max_n=4):
    product = 1.0
    for n in range(1, max_n + 1):
        matches = total = 0
        for candidate, reference in zip(candidates, references, strict=True):
            found, there = clipped_counts(candidate, reference, n)
            matches += found
            total += there
        product *= (matches / max(total, 1)) ** (1 / max_n)
    lengths = [sum(len(words) for words in side) for side in (candidates, references)]
    return brevity_penalty(*lengths) * product


def bleu_with_tensors(candidates, references, max_n=4):
    counts = torch.tensor(
        [
            [clipped_counts(c, r, n) for n in range(1, max_n + 1)]
            for c, r in zip(candidates, references, strict=True)
        ]
    ).sum(dim=0)
    precisions = counts[:, 0] / counts[:, 1].clamp(min=1)
    shortfall = sum(map(len, references)) / sum(map(len, candidates)) - 1
    return float(precisions.log().mean().exp()) * math.exp(min(0, -shortfall))


def bpe_merge_by_looking_back(words):
    counts = defaultdict(int)
    for pieces, count in words.items():
        for place, first in enumerate(pieces[:-1]):
            counts[first, pieces[place + 1]] += count
    pair = sorted(counts, key=counts.get)[-1]

    def merge(pieces):
        merged = []
        for piece in pieces:
            if merged and (merged[-1], piece) == pair:
                merged[-1] += piece
            else:
                merged.append(piece)
        return tuple(merged)

    return list(pair), {merge(pieces): count for pieces, count in words.items()}


def bpe_merge_with_a_pattern(words):
    """Like the program in the paper of Sennrich et al. (2016)."""
    pairs = defaultdict(int)
    for pieces, frequency in words.items():
        for i in range(len(pieces) - 1):
            pairs[pieces[i], pieces[i + 1]] += frequency
    best = max(pairs, key=pairs.get)
    whole_pieces = re.compile(r"(?<!\S)" + re.escape(" ".join(best)) + r"(?!\S)")
    return best, {
        tuple(whole_pieces.sub("".join(best), " ".join(pieces)).split(" ")): words[pieces]
        for pieces in words
    }


def batches_from_long_to_short(lengths, batch_tokens):
    order = sorted(range(len(lengths)), key=lambda i: (lengths[i][1], lengths[i][0]), reverse=True)
    batches, batch, width, height = [], [], 0, 0
    for i in order:
        source, target = max(width, lengths[i][0]), max(height, lengths[i][1])
        if batch and (len(batch) + 1) * (source + target) > batch_tokens:
            batches.append(tuple(batch))
            batch, (source, target) = [], lengths[i]
        batch.append(i)
        width, height = source, target
    return [*batches, batch]


def batches_of_tensors(lengths, batch_tokens):
    sizes = torch.tensor(lengths)
    order = sizes.sum(dim=1).argsort(stable=True).tolist()
    batches = []
    while order:
        rows = len(order)
        while rows > 1 and rows * int(sizes[order[:rows]].amax(dim=0).sum()) > batch_tokens:
            rows -= 1
        batches.append(torch.tensor(order[:rows]))
        order = order[rows:]
    return batches


VARIANTS = {
    "clipped_counts": [clipped_counts_crossing_out, clipped_counts_with_dicts],
    "brevity_penalty": [penalty_in_one_line, penalty_in_floats, penalty_with_tensors],
    "corpus_bleu": [bleu_by_powers, bleu_with_tensors],
    "bpe_merge": [bpe_merge_by_looking_back, bpe_merge_with_a_pattern],
    "token_budget_batches": [batches_from_long_to_short, batches_of_tensors],
}
