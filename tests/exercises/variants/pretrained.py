"""Right answers in other styles, for the exercises of lesson 11."""

import re
from functools import reduce

import torch
from torch.nn.utils.rnn import pad_sequence


def ids_in_a_rectangle(sentences, ids):
    longest = max(map(len, sentences)) + 1
    rectangle = torch.full((len(sentences), longest), ids["<pad>"])
    for row, pieces in zip(rectangle, sentences, strict=True):
        for place, piece in enumerate(pieces):
            row[place] = ids[piece] if piece in ids else ids["<unk>"]
        row[len(pieces)] = ids["</s>"]
    return rectangle


def ids_by_torch(sentences, ids):
    rows = [
        torch.tensor([*(ids.get(piece, ids["<unk>"]) for piece in pieces), ids["</s>"]])
        for pieces in sentences
    ]
    return pad_sequence(rows, batch_first=True, padding_value=ids["<pad>"])


def ids_as_lists(sentences, ids):
    rows = []
    for pieces in sentences:
        row = []
        for piece in [*pieces, "</s>"]:
            try:
                row.append(ids[piece])
            except KeyError:
                row.append(ids["<unk>"])
        rows.append(row)
    while len({len(row) for row in rows}) > 1:
        longest = max(map(len, rows))
        rows = [row if len(row) == longest else [*row, ids["<pad>"]] for row in rows]
    return torch.tensor(rows)


PARTS = {
    "self_attention": "self_attn",
    "cross_attention": "encoder_attn",
    "query_projection": "q_proj",
    "key_projection": "k_proj",
    "value_projection": "v_proj",
    "output_projection": "out_proj",
    "expand": "fc1",
    "contract": "fc2",
    "add_norm_attention": "self_attn_layer_norm",
    "add_norm_self_attention": "self_attn_layer_norm",
    "add_norm_cross_attention": "encoder_attn_layer_norm",
    "add_norm_feed_forward": "final_layer_norm",
    "gain": "weight",
}


def name_part_by_part(name):
    if "embeddings" in name:
        return "model.shared.weight"
    parts = [part for part in name.split(".") if part not in ("norm", "feed_forward")]
    return ".".join(["model", *(PARTS.get(part, part) for part in parts)])


def name_by_expression(name):
    if re.search(r"table", name):
        return "model.shared.weight"
    longest_first = sorted(PARTS, key=len, reverse=True)
    name = re.sub(r"feed_forward\.(?=expand|contract)|(?<=[dn])\.norm(?=\.)", "", name)
    pattern = rf"(?<=\.)({'|'.join(longest_first)})(?=\.|$)"
    return "model." + re.sub(pattern, lambda found: PARTS[found[0]], name)


def change_by_min(distance, options, choices):
    tries = [{**options, name: value} for name in choices for value in choices[name]]
    return min([options, *tries], key=distance)


def change_in_a_copy(distance, options, choices):
    best, least = dict(options), distance(options)
    for name in choices:
        for value in choices[name]:
            changed = options.copy()
            changed[name] = value
            how_far = distance(changed)
            if how_far < least:
                best, least = changed, how_far
    return best


def change_by_reduce(distance, options, choices):
    def nearer(one, other):
        return other if distance(other) < distance(one) else one

    tries = (options | {name: value} for name, values in choices.items() for value in values)
    return reduce(nearer, tries, options)


VARIANTS = {
    "marian_ids": [ids_in_a_rectangle, ids_by_torch, ids_as_lists],
    "marian_name": [name_part_by_part, name_by_expression],
    "nearest_change": [change_by_min, change_in_a_copy, change_by_reduce],
}
