"""The stack of encoder layers."""

from torch import Tensor, nn

from transformer_course import model
from transformer_course.checker.cases import Case, gradients, vectors
from transformer_course.checker.exercise import exercise
from transformer_course.exercises import own
from transformer_course.exercises.layers.inputs import (
    ALL_DROPPED,
    Trained,
    source_mask,
    what_padding_changes,
)
from transformer_course.exercises.start_here.softmax import softmax


class _TrainedEncoder(Trained, model.Encoder):
    pass


@exercise(
    reference=_TrainedEncoder,
    cases=[
        Case((vectors(2, 3, 4),), construct=(2, 4, 2, 4, 0.1, False)),
        Case((vectors(3, 5, 8), source_mask(5)), construct=(3, 8, 2, 20, 0.1, False)),
        Case((vectors(3, 4, 8), source_mask(4)), construct=(2, 8, 4, 12, 0.1, True)),
        Case(
            (vectors(3, 5, 8), source_mask(5)),
            construct=(2, 8, 2, 20, 0.1, False),
            observe=what_padding_changes,
            looks_at="which positions change when only the padding changes",
        ),
        Case(
            (vectors(1, 3, 4),),
            construct=(2, 4, 2, 8, 0.1, False),
            observe=gradients,
            looks_at="the gradients of `x` and of all parameters",
        ),
        Case(
            (vectors(2, 3, 4),),
            construct=(2, 4, 2, 8, 1.0, False),
            looks_at=ALL_DROPPED,
            training=True,
        ),
    ],
    hints=[
        "Each layer needs weights of its own, and PyTorch must know of them: which container "
        "registers a list of modules? In `forward`, each layer reads what the one before "
        "returned.",
        "Build with `nn.ModuleList(own.EncoderLayer(...) for _ in range(layers))`; dropout and "
        "norm_first go on to every layer. If `norm_first`, set `self.norm` too.",
        "`self.norm = own.LayerNorm(d_model) if norm_first else nn.Identity()`; in `forward`, "
        "`for layer in self.layers: x = layer(x, source_mask)`, then `return self.norm(x)`.",
    ],
)
class Encoder(nn.Module):
    """A stack of encoder layers; with norm_first a final norm follows."""

    def __init__(self, layers, d_model, heads, d_ff, dropout=0.1, norm_first=False) -> None:
        super().__init__()
        self.layers = nn.ModuleList(
            own.EncoderLayer(d_model, heads, d_ff, dropout, norm_first) for _ in range(layers)
        )
        self.norm = own.LayerNorm(d_model) if norm_first else nn.Identity()

    def forward(self, x: Tensor, source_mask: Tensor | None = None) -> Tensor:
        """Return a tensor of the shape of x, (batch, source, d_model)."""
        for layer in self.layers:
            x = layer(x, source_mask)
        return self.norm(x)


Encoder.mistake(
    "every layer is the same layer",
    edits=[
        ("own.EncoderLayer(", "[own.EncoderLayer("),
        (" for _ in range(layers)", "] * (layers)"),
    ],
    observed="Your module has the parameters of a single layer, however many it should have: one "
    "layer is made, and used every time.",
    change="Call `own.EncoderLayer(...)` once for each layer, inside the loop or comprehension: "
    "neither `[layer] * layers` nor `append(layer)` makes a copy.",
)
Encoder.mistake(
    "the layers are in a Python list",
    edits=[("self.layers = nn.ModuleList(", "self.layers = list(")],
    observed="Your module has no parameters in `layers`: an optimizer would not train them, "
    "and `.to(device)` and `.eval()` do not reach them.",
    change="Wrap the list: `self.layers = nn.ModuleList(...)`.",
)

# The wrong numbers begin at one place, so that no two of them are taken for a pair.
Encoder.mistake(
    "one layer too few",
    edits=[("range(layers)", "range(-1 + layers)")],
    observed="With layers=2 your module has one layer.",
    change="`range(layers)` counts from 0 and gives `layers` numbers; leave out `- 1` and `1,`.",
)
Encoder.mistake(
    "one layer too many",
    edits=[("range(layers)", "range(1 + layers)")],
    observed="With layers=2 your module has three layers.",
    change="`range(layers)` gives `layers` numbers already; leave out `+ 1`.",
)
Encoder.mistake(
    "there is only one layer",
    edits=[("range(layers)", "range(1)")],
    observed="Your module has one layer, whatever `layers` says.",
    change="Construct one for each number of `range(layers)`.",
)
Encoder.mistake(
    "dropout is not passed on",
    edits=[("d_ff, dropout, norm_first)", "d_ff, norm_first=norm_first)")],
    observed="The layers drop 0.1, their default, whatever `dropout` says.",
    change="Pass it to every layer: `own.EncoderLayer(d_model, heads, d_ff, dropout, ...)`.",
)
Encoder.mistake(
    "norm_first is not passed on",
    edits=[("d_ff, dropout, norm_first)", "d_ff, dropout)")],
    observed="The layers stay post-norm with norm_first=True; only the final norm obeys.",
    change="Pass it to every layer: `own.EncoderLayer(..., dropout, norm_first)`.",
)
Encoder.mistake(
    "neither dropout nor norm_first is passed on",
    edits=[("d_ff, dropout, norm_first)", "d_ff)")],
    observed="The layers drop 0.1 and stay post-norm, which are their defaults.",
    change="Pass both on: `own.EncoderLayer(d_model, heads, d_ff, dropout, norm_first)`.",
)
Encoder.mistake(
    "heads and d_ff are swapped",
    edits=[("heads, d_ff, dropout, norm", "d_ff, heads, dropout, norm")],
    observed="d_ff is used as the number of heads, by which d_model must be divisible.",
    change="Keep the order: `own.EncoderLayer(d_model, heads, d_ff, ...)`.",
)
Encoder.mistake(
    "dropout and norm_first are swapped",
    edits=[("d_ff, dropout, norm_first)", "d_ff, norm_first, dropout)")],
    observed="The layers take norm_first for their dropout, and a dropout that is not 0 makes them "
    "pre-norm.",
    change="Keep the order: `own.EncoderLayer(d_model, heads, d_ff, dropout, norm_first)`.",
)
Encoder.mistake(
    "there is no final norm",
    edits=[("own.LayerNorm(d_model) if norm_first else nn.Identity()", "nn.Identity()")],
    observed="With norm_first=True the parameters `norm.gain` and `norm.bias` are missing: "
    "the sum of all layers comes out as it is, and it grows with each layer.",
    change="Set `self.norm = own.LayerNorm(d_model)` if `norm_first`, and apply it last.",
)
Encoder.mistake(
    "there is always a final norm",
    edits=[("own.LayerNorm(d_model) if norm_first else nn.Identity()", "own.LayerNorm(d_model)")],
    observed="With norm_first=False the last layer has normalised already, and your `norm` "
    "follows it.",
    change="Let it depend on norm_first: `own.LayerNorm(d_model) if norm_first else "
    "nn.Identity()`.",
)
Encoder.mistake(
    "the final norm is built even where it is not used",
    edits=[
        (" if norm_first else nn.Identity()", "\n        self.norm_first = norm_first"),
        ("return self.norm(x)", "return x if not self.norm_first else self.norm(x)"),
    ],
    observed="The values are right, but with norm_first=False the parameters `norm.gain` and "
    "`norm.bias` should not be there: they would never be trained.",
    change="Build it only if `norm_first`: `own.LayerNorm(d_model) if norm_first else "
    "nn.Identity()`.",
)
Encoder.mistake(
    "the final norm belongs to post-norm",
    edits=[("if norm_first else", "if not norm_first else")],
    observed="With norm_first=False there is a `norm`, with norm_first=True there is none.",
    change="The other way round: `own.LayerNorm(d_model) if norm_first else nn.Identity()`.",
)
Encoder.mistake(
    "the final norm is not applied",
    edits=[("return self.norm(x)", "return x")],
    observed="With norm_first=True your module has a `norm`, but its gain and bias have no "
    "influence.",
    change="Return `self.norm(x)` after the loop.",
)
Encoder.mistake(
    "the final norm comes after every layer",
    edits=[
        ("layer(x, source_mask)", "layer(x, source_mask)\n            x = self.norm(x)"),
        ("return self.norm(x)", "return x"),
    ],
    observed="With norm_first=True the residual stream is normalised between the layers.",
    change="Move it after the loop: one norm, after the last layer.",
)
Encoder.mistake(
    "the final norm comes before the first layer",
    edits=[
        ("for layer in", "x = self.norm(x)\n        for layer in"),
        ("return self.norm(x)", "return x"),
    ],
    observed="With norm_first=True what comes out of the last layer is not normalised.",
    change="Apply it last: norm_first is about the norms inside the layers.",
)
Encoder.mistake(
    "no layer gets the mask",
    edits=[("layer(x, source_mask)", "layer(x)")],
    observed="The real words change when only the padding changes.",
    change="Pass it on: `layer(x, source_mask)`. `nn.Sequential` cannot, so write a loop.",
)
Encoder.mistake(
    "the final norm comes after every layer and at the end again",
    edits=[("layer(x, source_mask)", "self.norm(layer(x, source_mask))")],
    observed="With norm_first=True the residual stream is normalised between the layers, and at "
    "the end twice.",
    change="One norm, after the last layer: leave out the one inside the loop.",
)
Encoder.mistake(
    "the mask is turned round",
    edits=[("(x, source_mask)", "(x, None if source_mask is None else ~source_mask)")],
    observed="The real words change when only the padding changes, because you hide them and show "
    "the padding.",
    change="True means visible in this course: hand `source_mask` over as it is.",
)
Encoder.mistake(
    "only the first layer gets the mask",
    edits=[
        ("for layer in self.layers", "for number, layer in enumerate(self.layers)"),
        ("layer(x, source_mask)", "layer(x, source_mask if number == 0 else None)"),
    ],
    observed="The real words change when only the padding changes: from the second layer on "
    "they look at it.",
    change="Pass it to every layer: `layer(x, source_mask)`.",
)
Encoder.mistake(
    "every layer reads the first x",
    edits=[
        ("x = layer(", "output = layer("),
        ("return self.norm", "x = output\n        return self.norm"),
    ],
    observed="Only the last layer has an influence on the result.",
    change="Feed each layer what the one before returned: `x = layer(x, source_mask)`.",
)
Encoder.mistake(
    "the loop ends after the first layer",
    edits=[("\n        return self.norm", "\n            return self.norm")],
    observed="Only the first layer has an influence on the result: `return` is inside the loop.",
    change="Indent `return` like `for`, so that it comes after the loop.",
)
Encoder.mistake(
    "the last layer is left out",
    edits=[("for layer in self.layers", "for layer in self.layers[:-1]")],
    observed="The last layer is built, but has no influence on the result.",
    change="Go through all of them: `for layer in self.layers`.",
)
Encoder.mistake(
    "the first layer is left out",
    edits=[("for layer in self.layers", "for layer in self.layers[1:]")],
    observed="The first layer is built, but has no influence on the result.",
    change="Go through all of them, from number 0: `for layer in self.layers`.",
)
Encoder.mistake(
    "the layers are called from the last to the first",
    edits=[("for layer in self.layers", "for layer in reversed(self.layers)")],
    observed="All layers are used, but in the wrong order: `x` meets the last one first.",
    change="Go through them in their order: `for layer in self.layers`.",
)
Encoder.mistake(
    "the first layer is called every time",
    edits=[("x = layer(", "x = self.layers[0](")],
    observed="The other layers are built, but have no influence on the result.",
    change="Call the layer that the loop has reached: `for layer in self.layers: x = layer(...)`.",
)
Encoder.mistake(
    "the layers have no effect",
    edits=[("x = layer(", "layer(")],
    observed="No layer has an influence on the result: what they return is not used.",
    change="Assign it inside the loop: `x = layer(x, source_mask)`.",
)
Encoder.mistake(
    "x is added once more around each layer",
    edits=[("x = layer(", "x = x + layer(")],
    observed="Your sum holds `x` twice for each layer, because the layer adds it itself.",
    change="Write `x = layer(x, source_mask)` without `x +`.",
)
Encoder.mistake(
    "the ModuleList is called like a layer",
    edits=[("x = layer(", "x = self.layers(")],
    observed="An `nn.ModuleList` keeps modules and has no `forward` of its own.",
    change="Call the layers in a loop: `for layer in self.layers: x = layer(x, source_mask)`.",
)
Encoder.mistake(
    "nn.Sequential is called with a mask",
    edits=[
        ("nn.ModuleList(", "nn.Sequential(*("),
        ("range(layers)\n        )", "range(layers)\n        ))"),
        ("x = layer(", "x = self.layers("),
    ],
    observed="`nn.Sequential` hands on one argument, so a mask cannot reach the layers.",
    change="Call the layers in a loop: `for layer in self.layers: x = layer(x, source_mask)`.",
)
Encoder.mistake(
    "the input is dropped as well",
    edits=[
        ("self.norm = own", "self.dropout = nn.Dropout(dropout)\n        self.norm = own"),
        ("for layer in", "x = self.dropout(x)\n        for layer in"),
    ],
    observed="In eval mode everything is right, but in training mode a dropout acts on `x` before "
    "the first layer.",
    change="Leave it out: the layers drop what their sub-layers return, and the embeddings have a "
    "dropout of their own.",
)
Encoder.mistake(
    "the result is dropped as well",
    edits=[
        ("self.norm = own", "self.dropout = nn.Dropout(dropout)\n        self.norm = own"),
        ("return self.norm(x)", "return self.dropout(self.norm(x))"),
    ],
    observed="In eval mode everything is right, but in training mode a dropout acts on the result.",
    change="Leave it out: the layers drop what their sub-layers return.",
)
Encoder.shares(
    softmax,
    "no gradient passes",
    edits=[("return self.norm(x)", "return self.norm(x).detach()")],
)
Encoder.mistake(
    "norm_first is in the place of dropout",
    edits=[("d_ff, dropout, norm_first)", "d_ff, norm_first)")],
    observed="The fourth argument of `own.EncoderLayer` is its dropout: with norm_first=True the "
    "layers stay post-norm, and in training mode nothing is dropped or everything.",
    change="Pass both on, in this order: `own.EncoderLayer(d_model, heads, d_ff, dropout, "
    "norm_first)`.",
)
