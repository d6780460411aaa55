"""Linear attention as a recurrence: a state of fixed size takes the place of the cache."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

from transformer_course.checker.cases import Case, vectors
from transformer_course.checker.exercise import exercise
from transformer_course.model import variants


def _step_by_step(code: Callable, query: Tensor, key: Tensor, value: Tensor) -> dict:
    """Read token by token from an empty state."""
    batch, tokens, d_k = query.shape
    state = torch.zeros(batch, d_k, value.shape[2]), torch.zeros(batch, d_k)
    outputs = []
    for token in range(tokens):
        output, state = code(query[:, token], key[:, token], value[:, token], state)
        outputs.append(output)
    return {"output at each step": outputs, "state at the end": tuple(state)}


def _case(batch: int, tokens: int, d_k: int, d_v: int) -> Case:
    shapes = ((batch, tokens, d_k), (batch, tokens, d_k), (batch, tokens, d_v))
    return Case(
        tuple(vectors(*shape, seed=seed) for seed, shape in enumerate(shapes)),
        observe=_step_by_step,
        looks_at=f"{tokens} tokens, one after the other",
        written="(query, key, value, state)",
    )


def _gradients(code: Callable, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    given = [x.clone().requires_grad_() for x in (query, key, value)]
    outputs = _step_by_step(code, *given)["output at each step"]
    total = sum((output * (number + 1)).square().sum() for number, output in enumerate(outputs))
    if not total.requires_grad:
        return torch.zeros(sum(x.numel() for x in given))
    found = torch.autograd.grad(total, given, allow_unused=True, materialize_grads=True)
    return torch.cat([gradient.flatten() for gradient in found])


@exercise(
    reference=variants.linear_attention_step,
    cases=[
        _case(1, 2, 2, 3),
        _case(2, 4, 3, 3),
        _case(3, 3, 4, 2),
        Case(
            (vectors(2, 3, 2), vectors(2, 3, 2, seed=1), vectors(2, 3, 3, seed=2)),
            observe=_gradients,
            looks_at="the gradients of queries, keys and values",
            written="(query, key, value, state)",
        ),
    ],
    hints=[
        "Take the newest token into the state first; then ask the state. Two sums are kept: one of "
        "key times value, for what is gathered, and one of the keys, for the weights' sum.",
        "`key[:, :, None] * value[:, None, :]` has shape (batch, d_k, d_v). What the query gathers "
        "is `query @ memory` for each sentence; divide by the dot product of query and `total`.",
        "`gathered = (query[:, None, :] @ memory)[:, 0]`; the output is "
        "`gathered / (query * total).sum(dim=-1, keepdim=True)`.",
    ],
)
def linear_attention_step(query: Tensor, key: Tensor, value: Tensor, state: tuple) -> tuple:
    """Return the output [B, d_v] and the new state, ([B, d_k, d_v], [B, d_k])."""
    query, key = F.elu(query) + 1, F.elu(key) + 1
    memory, total = state
    memory = memory + key[:, :, None] * value[:, None, :]
    total = total + key
    gathered = (query[:, None, :] @ memory)[:, 0]
    return gathered / (query * total).sum(dim=-1, keepdim=True), (memory, total)


linear_attention_step.mistake(
    "queries and keys are used as they are",
    edits=[("F.elu(query) + 1, F.elu(key) + 1", "query, key")],
    observed="Weights may be negative, and their sum may be 0.",
    change="Make both positive: `F.elu(x) + 1`.",
)
linear_attention_step.mistake(
    "the 1 is missing, so features may be negative",
    edits=[("F.elu(query) + 1, F.elu(key) + 1", "F.elu(query), F.elu(key)")],
    observed="elu goes down to -1, so the sum of the weights may be 0.",
    change="Add 1: `F.elu(x) + 1`.",
)
linear_attention_step.mistake(
    "only the query is made positive",
    edits=[("F.elu(key) + 1", "key")],
    observed="A negative key still gives negative weights.",
    change="Both: `F.elu(query) + 1` and `F.elu(key) + 1`.",
)
linear_attention_step.mistake(
    "only the key is made positive",
    edits=[("F.elu(query) + 1", "query")],
    observed="A negative query still gives negative weights.",
    change="Both: `F.elu(query) + 1` and `F.elu(key) + 1`.",
)
linear_attention_step.mistake(
    "ReLU makes the features, and may leave nothing",
    edits=[("F.elu(query) + 1, F.elu(key) + 1", "query.relu(), key.relu()")],
    observed="Where all features of a query are 0, you divide 0 by 0.",
    change="Use `F.elu(x) + 1`, which is never 0.",
)
linear_attention_step.mistake(
    "the output is not divided by the weights' sum",
    edits=[("gathered / (query * total).sum(dim=-1, keepdim=True)", "gathered")],
    observed="The outputs grow with the number of tokens.",
    change="Divide by `(query * total).sum(dim=-1, keepdim=True)`.",
)
linear_attention_step.mistake(
    "the keys are not added to their sum",
    edits=[("total = total + key", "total = key")],
    observed="The first step is right; then you divide by the newest weight alone.",
    change="Add: `total = total + key`.",
)
linear_attention_step.mistake(
    "the memory holds the newest token alone",
    edits=[("memory = memory + key[", "memory = key[")],
    observed="The first step is right; then earlier tokens are forgotten.",
    change="Add to the memory: `memory = memory + ...`.",
)
linear_attention_step.mistake(
    "nothing is remembered: every token is the first one",
    edits=[("memory = memory + key[", "memory = key["), ("total = total + key", "total = key")],
    observed="Each output is the token's own value.",
    change="Add to what `state` holds.",
)
linear_attention_step.mistake(
    "the newest token does not see itself",
    edits=[
        ("gathered = (query[:, None, :] @ memory)", "gathered = (query[:, None, :] @ state[0])"),
        ("(query * total)", "(query * state[1])"),
    ],
    observed="The first output is 0 divided by 0; each later one misses the newest token.",
    change="Add the newest token first, then ask.",
)
linear_attention_step.mistake(
    "the old state is returned",
    edits=[("keepdim=True), (memory, total)", "keepdim=True), state")],
    observed="Each token is the first one: the state stays empty.",
    change="Return the new sums: `(memory, total)`.",
)
linear_attention_step.mistake(
    "memory and sum of keys are returned in the other order",
    edits=[("(memory, total)", "(total, memory)")],
    observed="The first output is right; then the shapes do not fit.",
    change="Return `output, (memory, total)`.",
)
linear_attention_step.mistake(
    "key and value have changed places in the memory",
    edits=[("key[:, :, None] * value[:, None, :]", "value[:, :, None] * key[:, None, :]")],
    observed="With d_k and d_v equal the outputs are wrong; else the shapes do not fit.",
    change="Keys down, values across: `key[:, :, None] * value[:, None, :]`.",
)
linear_attention_step.mistake(
    "the division uses the sum over all features, not the query's",
    edits=[("(query * total).sum", "total.sum")],
    observed="The weights do not sum to 1: with values of 1 the output should be 1.",
    change="Divide by the dot product of query and `total`.",
)
linear_attention_step.mistake(
    "the division uses the sum of the keys before the newest one",
    edits=[("(query * total).sum", "(query * state[1]).sum")],
    observed="The first output is divided by 0, and all weights together exceed 1.",
    change="Divide by the sum with the newest key in it.",
)
linear_attention_step.mistake(
    "the features are a softmax",
    edits=[
        ("F.elu(query) + 1, F.elu(key) + 1", "query.softmax(dim=-1), key.softmax(dim=-1)"),
    ],
    observed="All features are positive, but they are not those of the statement.",
    change="Use `F.elu(x) + 1`.",
)
linear_attention_step.mistake(
    "the features are exponentials",
    edits=[("F.elu(query) + 1, F.elu(key) + 1", "query.exp(), key.exp()")],
    observed="Negative features are right, positive ones are too large.",
    change="Use `F.elu(x) + 1`.",
)
linear_attention_step.mistake(
    "the state passes no gradient",
    edits=[("(memory, total)", "(memory.detach(), total.detach())")],
    observed="The numbers are right, but no token learns from what comes after it.",
    change="Leave out `torch.no_grad()`, `.detach()` and `.item()`.",
)
linear_attention_step.mistake(
    "the 1 is added before elu, so features may be negative",
    edits=[("F.elu(query) + 1, F.elu(key) + 1", "F.elu(query + 1), F.elu(key + 1)")],
    observed="Positive numbers are right; those below -1 give negative features.",
    change="Add 1 to what elu returns: `F.elu(x) + 1`.",
)
linear_attention_step.mistake(
    "the sum of the keys is made of the keys themselves",
    edits=[
        ("    query, key = F.elu", "    raw = key\n    query, key = F.elu"),
        ("total = total + key", "total = total + raw"),
    ],
    observed="The weights do not sum to 1: with values of 1 the output should be 1.",
    change="Add the features of the key, `F.elu(key) + 1`, to both sums.",
)
linear_attention_step.mistake(
    "keys and values are summed over the batch",
    edits=[("key[:, :, None] * value[:, None, :]", "key.T @ value")],
    observed="One sentence alone is right; with more, each one's memory holds those of all others.",
    change="One product for each sentence: `key[:, :, None] * value[:, None, :]`.",
)
linear_attention_step.mistake(
    "the query is divided by the root of d_k",
    edits=[("F.elu(query) + 1", "F.elu(query / query.shape[-1] ** 0.5) + 1")],
    observed="The state is right, the outputs are not: there are no scores to scale here.",
    change="Use the query as it is: `F.elu(query) + 1`.",
)
linear_attention_step.mistake(
    "the division uses the newest key alone",
    edits=[("(query * total).sum", "(query * key).sum")],
    observed="The state is right, and the first output; then the weights sum to more than 1.",
    change="Divide by the dot product of query and `total`.",
)
linear_attention_step.mistake(
    "the values are made positive as well",
    edits=[("value[:, None, :]", "(F.elu(value) + 1)[:, None, :]")],
    observed="No number of your outputs is negative.",
    change="Only queries and keys need positive features; use the values as they are.",
)
linear_attention_step.mistake(
    "the weights' sum has lost its axis",
    edits=[("sum(dim=-1, keepdim=True)", "sum(dim=-1)")],
    observed="One sentence alone is right; with more, the shapes fit by chance or not at all.",
    change="Give `keepdim=True` to `sum`.",
)
linear_attention_step.mistake(
    "the state is returned first",
    edits=[
        ("return gathered", "return (memory, total), gathered"),
        ("keepdim=True), (memory, total)", "keepdim=True)"),
    ],
    observed="What should be the output is the state, and the other way round.",
    change="Return `output, (memory, total)`.",
)
linear_attention_step.mistake(
    "ReLU takes the place of elu",
    edits=[("F.elu(query) + 1, F.elu(key) + 1", "query.relu() + 1, key.relu() + 1")],
    observed="Positive numbers are right; all negative ones become 1.",
    change="Use `F.elu(x) + 1`, which falls towards 0.",
)
linear_attention_step.mistake(
    "ReLU makes the features, and something small is added to the weights' sum",
    edits=[
        ("F.elu(query) + 1, F.elu(key) + 1", "query.relu(), key.relu()"),
        ("keepdim=True)", "keepdim=True).add(1e-6)"),
    ],
    observed="All features below 0 are lost; where all of a query's are, your output is 0.",
    change="Use `F.elu(x) + 1`, which is never 0, and divide by the sum as it is.",
)
linear_attention_step.mistake(
    "the output is divided by the root of d_k, not by the weights' sum",
    edits=[("(query * total).sum(dim=-1, keepdim=True)", "query.shape[-1] ** 0.5")],
    observed="The outputs grow with the number of tokens.",
    change="Divide by `(query * total).sum(dim=-1, keepdim=True)`; here there is no root.",
)
linear_attention_step.mistake(
    "what is gathered misses the newest token, the weights' sum does not",
    edits=[("(query[:, None, :] @ memory)", "(query[:, None, :] @ state[0])")],
    observed="The first output is 0: you ask the memory before the newest token is in it.",
    change="Add the newest token to both sums first, then ask.",
)
linear_attention_step.mistake(
    "the sum of the keys comes back as it was",
    edits=[("(memory, total)", "(memory, state[1])")],
    observed="The first output is right; then each one is divided by the newest weight alone.",
    change="Return both new sums: `(memory, total)`.",
)
linear_attention_step.mistake(
    "the memory comes back as it was",
    edits=[("(memory, total)", "(state[0], total)")],
    observed="The first output is right; then only the newest token is gathered.",
    change="Return both new sums: `(memory, total)`.",
)
linear_attention_step.mistake(
    "the memory is made of the keys themselves",
    edits=[
        ("    query, key = F.elu", "    raw = key\n    query, key = F.elu"),
        ("key[:, :, None] * value", "raw[:, :, None] * value"),
    ],
    observed="Weights may be negative, and do not belong to the sum that you divide by.",
    change="Add the features of the key, `F.elu(key) + 1`, to both sums.",
)
linear_attention_step.mistake(
    "the queries are added up, not the keys",
    edits=[("total + key", "total + query")],
    observed="Even the first output is wrong: one weight alone should be divided by itself.",
    change="Add the key's features: `total = total + key`.",
)
linear_attention_step.mistake(
    "the features are a softplus",
    edits=[("F.elu(query) + 1, F.elu(key) + 1", "F.softplus(query), F.softplus(key)")],
    observed="All features are positive, but they are not those of the statement.",
    change="Use `F.elu(x) + 1`.",
)
linear_attention_step.mistake(
    "the features are a sigmoid",
    edits=[("F.elu(query) + 1, F.elu(key) + 1", "query.sigmoid(), key.sigmoid()")],
    observed="All features lie between 0 and 1, while those of the statement have no upper bound.",
    change="Use `F.elu(x) + 1`.",
)
linear_attention_step.mistake(
    "query and key are divided by the root of d_k",
    edits=[
        ("F.elu(query) + 1", "F.elu(query / query.shape[-1] ** 0.5) + 1"),
        ("F.elu(key) + 1", "F.elu(key / key.shape[-1] ** 0.5) + 1"),
    ],
    observed="Even the state is not right: there are no scores to scale here.",
    change="Use both as they are: `F.elu(query) + 1` and `F.elu(key) + 1`.",
)
