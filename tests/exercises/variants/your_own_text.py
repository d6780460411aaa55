"""Right answers in other styles, for the exercises of lesson 13."""

from itertools import combinations, permutations
from statistics import fmean

import torch


def split_with_a_set(pairs, count):
    drawn, train, test = set(), [], []
    for source, target in pairs:
        if len(drawn) < count and source not in drawn:
            drawn.add(source)
            test.append((source, target))
    for pair in pairs:
        if pair[0] not in drawn:
            train.append(pair)
    return train, test


def split_by_first_places(pairs, count):
    sources = [source for source, _ in pairs]
    chosen = list(dict.fromkeys(sources))[:count]
    test = [pairs[sources.index(source)] for source in chosen]
    return [pair for pair in pairs if pair[0] not in chosen], test


def p_in_a_loop(score, first, second, draws):
    def lead(rows):
        return score(sum(first[n] for n in rows)) - score(sum(second[n] for n in rows))

    difference = lead(range(len(first)))
    drawn = [lead(rows) for rows in draws.tolist()]
    centre = fmean(drawn)
    count = 1
    for each in drawn:
        if each - centre >= abs(difference) or centre - each >= abs(difference):
            count += 1
    return difference, count / (len(drawn) + 1)


def p_by_tensors(score, first, second, draws):
    def scores(system):
        return torch.tensor([score(c) for c in system[draws].sum(dim=1)], dtype=torch.float64)

    drawn = scores(first) - scores(second)
    difference = score(first.sum(dim=0)) - score(second.sum(dim=0))
    far = (drawn - drawn.mean()).abs() >= abs(difference)
    return difference, (1 + far.sum().item()) / (1 + len(draws))


def exchange_by_sums(first, second):
    scores, here, there = first + second, len(first), len(second)
    total = sum(scores)

    def distance(side):
        return abs(sum(side) / here - (total - sum(side)) / there)

    ways = [distance(side) for side in combinations(scores, here)]
    return sum(way > distance(first) - 1e-9 for way in ways) / len(ways)


def exchange_by_permutations(first, second):
    here = len(first)

    def distance(scores):
        return abs(fmean(scores[:here]) - fmean(scores[here:]))

    found = distance([*first, *second])
    return fmean(distance(each) >= found - 1e-9 for each in permutations([*first, *second]))


VARIANTS = {
    "split_by_source": [split_with_a_set, split_by_first_places],
    "paired_p": [p_in_a_loop, p_by_tensors],
    "exchange_p": [exchange_by_sums, exchange_by_permutations],
}
