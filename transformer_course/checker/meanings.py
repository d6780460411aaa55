"""What an exception usually means, in a sentence."""

import re

OUT_OF_MEMORY = "That is more memory than there is: print the shapes of what goes in."

# The type, a pattern of its message, and the meaning; the first that fits counts.
MEANINGS = (
    (RecursionError, "", "The function never stops calling itself."),
    (Exception, r"bitwise_xor|for \^", "`^` is not a power in Python: write `**`."),
    (
        RuntimeError,
        "modified by an inplace operation",
        "A tensor that the gradient needs was changed in place: `x = x + 1` instead of `x += 1`.",
    ),
    (
        AssertionError,
        "",
        "One of your `assert`s does not hold; where an answer is wanted, `return` it.",
    ),
    (
        Exception,
        r"'bool' object (has no attribute|is not subscriptable)",
        "There is one True or False where a tensor is wanted: `==` and `!=` compare element by "
        "element, `is` and `not` do not.",
    ),
    (
        TypeError,
        "tuple of ints.*float|'float' object cannot be interpreted",
        "A whole number is wanted: `//` gives one, `/` gives a float.",
    ),
    (
        Exception,
        "builtin_function_or_method|'method'|not method",
        "A method is used here without being called: its brackets are missing, as in `x.numel()`.",
    ),
    (
        TypeError,
        "unary ~: 'NoneType'",
        "The mask is None here: ask `if mask is not None` first.",
    ),
    (
        RuntimeError,
        "same dtype.*Bool",
        "There is a boolean mask where vectors are wanted: compare the order of the arguments.",
    ),
    (
        RuntimeError,
        "not have been used in the graph",
        "What you differentiate had no part in the result: ids are whole numbers, and `.long()` "
        "cuts the graph.",
    ),
    (
        UnboundLocalError,
        "",
        "This name gets its value only inside a loop or an `if` that did not run.",
    ),
    (
        AttributeError,
        r"'(float|int)' object has no",
        "This is a plain number, not a tensor: it has neither shape nor methods. Where it was one "
        "before, call `.item()` or `float` last.",
    ),
    (
        AttributeError,
        "'tuple' object has no",
        "There are several values here: take them apart, `a, b = f(...)`, or take one, "
        "`f(...)[0]`.",
    ),
    (
        AttributeError,
        r"'(list|dict|str)' object has no",
        "The value is of another type than this line expects.",
    ),
    (
        TypeError,
        "expected Tensor as element",
        "There is a list where tensors are wanted: a star unpacks it, `f(*tensors)`.",
    ),
    (TypeError, "must be Tensor, not range", "Make it a tensor first: `torch.arange(n)`."),
    (
        RuntimeError,
        "expects a non-empty TensorList",
        "The list is empty: there is nothing to join.",
    ),
    (
        ValueError,
        r"(max|min)\(\).* empty",
        "What `max` or `min` looks through is empty: does everything fit, or is something left out "
        "beforehand?",
    ),
    (
        RuntimeError,
        "the number of sizes provided",
        "What is written has more axes than the place it is written to: reduce it over the others.",
    ),
    (
        TypeError,
        "must be Tensor, not list",
        "Make it one tensor first: `torch.tensor` of numbers, `torch.cat` or `stack` of tensors.",
    ),
    (
        AttributeError,
        "'generator' object has no attribute",
        "A generator hands out one thing after another: ask each, `sum(f(p) for p in ...)`.",
    ),
    (
        TypeError,
        r"unsupported operand.*'(function|Tanh|Linear|LayerNorm|Sequential|Dropout)'",
        "A function or layer is used here without being called: its brackets are missing, `f(x)`.",
    ),
    (
        RuntimeError,
        "cannot be broadcast to indexing result",
        "An index tensor in square brackets picks whole rows; `gather` and `scatter` pick within "
        "each row.",
    ),
    (
        RuntimeError,
        "scalar types: Long, Int",
        "An embedding looks up whole numbers, not floating-point numbers.",
    ),
    (
        RuntimeError,
        "leaf Variable that requires grad",
        "Change the initial values of a parameter within `with torch.no_grad():`.",
    ),
    (
        TypeError,
        r"layer_norm\(\).*must be Tensor, not int",
        "A norm that has been made is called with a tensor, not a width: `norm(x)`.",
    ),
    (
        TypeError,
        r"must be Tensor, not (float|int)",
        "Functions of torch take tensors: for a plain number use those of `math`, or `**`.",
    ),
    (
        RuntimeError,
        "self.dtype to be equal to src.dtype",
        "What is written into a tensor must have its type: convert it first, such as by "
        "`.to(x.dtype)`.",
    ),
    (
        Exception,
        r"'(Embedding|Linear|Parameter|LayerNorm)' object "
        r"(is not subscriptable|has no attribute '\w+_')",
        "A module is not a tensor: its numbers are in `.weight`.",
    ),
    (
        TypeError,
        "(?<!'NoneType' )object is not subscriptable",
        "Square brackets find nothing here: a function is called, `f(x)`, and an attribute has a "
        "dot, `config.d_model`.",
    ),
    (
        TypeError,
        "invalid combination of arguments",
        "This function of torch does not take such arguments: `help(...)` lists what it takes.",
    ),
    (
        TypeError,
        "unhashable type",
        "A list cannot be counted, and cannot be a key: make it a `tuple`, or take its elements.",
    ),
    (
        TypeError,
        "can only concatenate list",
        "`+` joins two lists, such as `row + [pad] * n`; `[x] + row` where there is one value.",
    ),
    (TypeError, r"object of type '(int|float)' has no len", "This is a number, not a list."),
    (TypeError, "takes .* positional argument", "The call gives the wrong number of arguments."),
    (
        TypeError,
        "'Tensor' object is not callable",
        "There is a tensor where a function is wanted: hand over the function, such as `lambda y: "
        "f(y)`, not what it returns.",
    ),
    (TypeError, "is not callable", "Brackets call a function, and this is not one."),
    (
        KeyError,
        "already exists",
        "The module has an attribute of this name already: leave that assignment out.",
    ),
    (
        IndexError,
        "shape of the mask",
        "A boolean index needs the shape of the axes that it picks from.",
    ),
    (
        KeyError,
        "",
        "The dictionary has no such key: is it misspelt, or not there yet? To count from 0, "
        "take `.get(key, 0)` or a `Counter`.",
    ),
    (
        RuntimeError,
        "can't be cast to the desired output type",
        "A tensor of whole numbers cannot hold fractions: make it `.float()` first.",
    ),
    (
        RuntimeError,
        "Subtraction, the .* with a bool tensor",
        "True and False cannot be subtracted: `~mask` turns a mask round.",
    ),
    (
        RuntimeError,
        "same number of dimensions as input",
        "`gather` and `scatter` need an index with as many axes as the tensor: `index[:, None]`.",
    ),
    (
        Exception,
        "Expected target size|Expected input batch_size",
        "`cross_entropy` takes logits (tokens, words) and targets (tokens): flatten both.",
    ),
    (
        ValueError,
        "expected sequence of length",
        "All rows of a tensor have the same length: fill the short ones up first.",
    ),
    (
        ValueError,
        "values to unpack",
        "There are more names than values, or fewer: how many axes has this `.shape`?",
    ),
    (
        RuntimeError,
        "view size is not compatible",
        "`view` needs numbers that lie in order, which they do not after `transpose`: use "
        "`reshape`.",
    ),
    (
        NameError,
        "'F'",
        "This name has no value yet: run `import torch.nn.functional as F`, or use methods such as "
        "`x.softmax(dim=-1)`.",
    ),
    (
        NameError,
        "",
        "This name has no value yet: misspelt, not imported in this lesson, or defined in a cell "
        "that was not run?",
    ),
    (AttributeError, "Module.__init__", "`super().__init__()` must come first in `__init__`."),
    (
        Exception,
        "'?NoneType",
        "A value is None here: an argument that may be None, a function without `return`, or a "
        "method such as `list.sort()`, which changes its object and returns nothing?",
    ),
    (AttributeError, "", "The object has no such name: misspelt, or never assigned?"),
    (
        IndexError,
        "Dimension out of range",
        "A tensor has fewer axes than expected: a mask, `x[mask]`, gives one flat list; `x[:, i]` "
        "drops an axis, `x[:, [i]]` keeps it.",
    ),
    (IndexError, "", "An index lies beyond the end: print the `.shape` just before this line."),
    (
        RuntimeError,
        "expanded size",
        "Two shapes do not fit: the first size in the message is that of the place you write to, "
        "the second that of what you put there.",
    ),
    (
        RuntimeError,
        "must match|cannot be multiplied|size mismatch",
        "Two shapes do not fit: print the `.shape` of both tensors just before this line.",
    ),
    (
        RuntimeError,
        "Boolean value of Tensor",
        "`if`, `and`, `or` and `not` want one True or False, a tensor holds many: ask "
        "`is not None`, and combine masks with `&`, `|` and `~`.",
    ),
    (
        Exception,
        "converted to Python scalars|converted to Scalar",
        "`float`, `.item()` and the functions of `math` take one number: for a tensor use those of "
        "torch, such as `x.exp()`.",
    ),
    (
        RuntimeError,
        r"numpy\(\) on Tensor that requires grad",
        "NumPy does not know gradients, and training needs them: use the functions of torch.",
    ),
    (
        Exception,
        "return_types",
        "With `dim`, torch returns two tensors, the largest values and their places: use `.values` "
        "or `amax`.",
    ),
    (
        RuntimeError,
        "bitwise_.*not implemented",
        "`&`, `|` and `~` take booleans: make the tensor boolean first, with `.bool()`.",
    ),
    (
        RuntimeError,
        r"t\(\) expects",
        "`.t()` transposes matrices only: `.transpose(-2, -1)` swaps the last two axes of any "
        "tensor.",
    ),
    (RuntimeError, "can't allocate memory|Invalid buffer size", OUT_OF_MEMORY),
    (MemoryError, "", OUT_OF_MEMORY),
    (
        RuntimeError,
        "is invalid for input of size",
        "The numbers do not fill this shape: print the `.shape` just before this line.",
    ),
    (ZeroDivisionError, "", "Something is divided by zero."),
    (SystemExit, "", "This ends Python: use `return` to end a function."),
)


def meaning(kind: type[BaseException], message: str) -> str | None:
    """Return what an exception of this type and message usually means, if that is known."""
    fitting = (
        words
        for of, pattern, words in MEANINGS
        if issubclass(kind, of) and re.search(pattern, message)
    )
    return next(fitting, None)
