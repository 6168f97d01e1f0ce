"""Single slips: every function that differs from a correct one in one place of its syntax tree, each with its words.

A correct solution, a "base", is changed where people slip: a factor is left out, a sign is turned, a mean runs over
another axis. A comment that begins with "the", as in `dvar = ...  # the slope of the variance`, becomes the place in
the sentence, "in the slope of the variance a factor is missing". No code is shown.
"""

import ast
import copy
import inspect
import io
import re
import tokenize
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import combinations
from textwrap import dedent

from .edits import compiled

# What stands in a solution, what a slip makes of it, and the words; A to E stand for anything, eps also for epsilon,
# | between alternatives. Where two slips give the same, the words that stand higher are said.
REWRITES = """
np.sqrt(A + eps) -> np.sqrt(A) + eps           # epsilon is outside the square root
np.sqrt(A + eps) -> np.sqrt(A**2 + eps)        # a square is too many under the root
np.sqrt(A + eps) -> np.sqrt(np.sqrt(A) + eps)  # the square root is taken twice
np.sqrt(A + eps) -> A                          # square root and epsilon are missing
np.sqrt(np.mean(A**2)) -> np.mean(np.abs(A))   # absolute values are averaged instead of squares
A / np.sqrt(B + eps) -> A / B + eps            # the square root is missing, and epsilon is added after the division
(A - B) / np.sqrt(C + eps) -> A - B / np.sqrt(C + eps)  # parentheses are missing, so that only the last term is divided
(A + eps) ** B -> A**B + eps                   # epsilon is outside the root
A / np.sqrt(B + eps) -> A / np.sqrt(B) + eps   # epsilon is added after the division
A + eps -> A                                   # epsilon is left out
A + eps -> A + 1e-5                            # the argument eps is ignored
A + eps -> A + eps**2                          # epsilon is squared
A + eps -> A - eps                             # epsilon is subtracted
np.sqrt(A) | A**0.5 -> A                       # the square root is missing
A**-0.5 -> 1 / A                               # the square root is missing
A**-0.5 -> A**0.5                              # the power has the wrong sign
A**2 -> A                                      # a square is missing
A**2 -> np.abs(A)                              # the absolute value is taken instead of the square
np.sqrt(A) | A**0.5 -> A**1 / 2                # ** 1 / 2 is half of the number: a power is computed before a quotient
A**0.5 -> A ** (1 // 2)                        # 1 // 2 is 0
A**0.25 -> A**1 / 4                            # ** 1 / 4 is a quarter of the number: a power is computed first
A**-0.25 -> A**-1 / 4                          # ** -1 / 4 divides by 4: a power is computed first
A**0.25 -> A ** (1 // 4)                       # 1 // 4 is 0
(A * B) ** C -> A * B**C                       # parentheses are missing, so that only the last factor has the power
A**B -> A                                      # a power is missing
A * B + C -> B + A * C                         # the last term is multiplied, not the first
A * B + C -> B * A * C                         # it is multiplied instead of added
A * B + C -> B * (A + C)                       # two terms are added first and then multiplied
A * (B - C) / D + E -> A * B - C / D + E       # parentheses are missing around a difference
A * (B - C) / D + E -> B + A * E - C           # a division is missing, and the last term is multiplied
A * (B - C) / D + E -> (A * B - C) / D + E     # parentheses are missing, so that only the first term is multiplied
A * (B - C) / np.sqrt(D + eps) + E -> A * (B - C) / np.sqrt(D) + eps + E  # epsilon is added after the division
A * (B - C) / D + E -> (B - C) / D + A * E     # the last term is multiplied, not the first
A * (B - C) / D + E -> (B - C) / D * (A + E)   # two terms are added first and then multiplied
A * (B - C) / D + E -> A * ((B - C) / D + E)   # the sum is multiplied, not only its first term
A * (B - C) / D + E -> (B - C) / D             # a factor and a term are missing
A * B + C -> A * (B + C)                       # the sum is multiplied, not only its first term
A * B + C -> C * B + A                         # factor and summand have changed places
A * B + C -> B                                 # a factor and a term are missing
(A - B) / C -> A - B / C                       # parentheses are missing, so that only the last term is divided
(A + B) / C -> A + B / C                       # parentheses are missing, so that only the last term is divided
A * (B - C) -> A * B - C                       # parentheses are missing, so that only the first term is multiplied
A * (B + C) -> A * B + C                       # parentheses are missing, so that only the first term is multiplied
A / B -> A                                     # a division is missing
A / B -> A * B                                 # it is multiplied instead of divided
A / B -> B / A                                 # the quotient is upside down
A / B -> A // B                                # // rounds down, / does not
A / B -> A / B**2                              # the divisor is squared
A * B -> A | B                                 # a factor is missing
A * B -> B / A | A / B                         # it is divided instead of multiplied
A * B -> A + B                                 # it is added instead of multiplied
A @ B -> B @ A                                 # the two sides of @ have changed places
A @ B -> A.T @ B | A @ B.T                     # a transposition is too many
A @ B -> A * B                                 # * stands instead of @
A + B(C(A)) -> C(A + B(A))                     # the inner function is applied after the sum
A + B(C(A)) -> C(A + B(C(A)))                  # the inner function is applied to the sum, too
A + B(C(A)) -> A + C(B(C(A)))                  # the inner function is applied twice
A + B(C(A)) -> C(A) + B(C(A))                  # the inner function is applied to both terms
A(B(C)) -> A(C)                                # a function is not applied
A + B -> A | B                                 # a term is missing
A + B -> A - B                                 # a term has the wrong sign
A - B -> A | -B                                # a term is missing
A - B -> A + B                                 # a term has the wrong sign
A - B -> B - A                                 # the difference has the wrong sign
-A -> A                                        # the sign is wrong
A[..., None] | A[:, None] -> A                 # an axis of size 1 is missing
A[:, None] -> A[None, :]                       # the new axis stands on the wrong side
A[:, None, None] -> A                          # axes of size 1 are missing
A.T -> A                                       # a transposition is missing
abs(A) | np.abs(A) -> A                        # the absolute value is missing
len(A) -> A.shape[-1]                          # the count is that of another axis
len(A) -> A.size                               # the count is that of all entries
A.shape[B] -> A.shape[0] | A.shape[1] | A.shape[-1]  # the count is that of another axis
range(A) -> range(A - 1)                       # there is one round too few
range(A) -> range(A + 1)                       # there is one round too many
A if B else C -> A | C                         # the condition is ignored
A if B else C -> C if B else A                 # the two cases of a condition have changed places
A < B -> A <= B                                # the limit itself is counted in
A < B -> A > B                                 # the comparison is the wrong way round
A <= B -> A < B                                # the limit itself is not counted in
A <= B -> A >= B                               # the comparison is the wrong way round
A > B -> A >= B                                # the limit itself is counted in
A > B -> A < B                                 # the comparison is the wrong way round
A >= B -> A > B                                # the limit itself is not counted in
A >= B -> A <= B                               # the comparison is the wrong way round
A == B -> A != B                               # a condition is inverted
A and B -> A or B                              # or stands instead of and
A and B -> A | B                               # a condition is missing
A or B -> A and B                              # and stands instead of or
not A -> A                                     # a condition is inverted
~A -> A                                        # a mask is inverted
A(B(C)) -> B(A(C))                             # two functions are applied in the other order
"""
# A function or method of NumPy: {the one that is taken instead: words}; "" is none at all.
RENAMED = {
    "mean": {"sum": "the sum is taken instead of the mean", "": "the mean is not taken"},
    "sum": {"mean": "the mean is taken instead of the sum", "": "the sum is not taken"},
    "var": {"std": "the standard deviation is taken instead of the variance"},
    "std": {"var": "the variance is taken instead of the standard deviation"},
    "max": {"min": "the smallest is taken instead of the largest"},
    "min": {"max": "the largest is taken instead of the smallest"},
    "maximum": {"minimum": "the smaller is taken instead of the larger"},
    "minimum": {"maximum": "the larger is taken instead of the smaller"},
    "all": {"any": "any stands instead of all"},
    "any": {"all": "all stands instead of any"},
    "zeros": {"ones": "ones stand instead of zeros"},
    "ones": {"zeros": "zeros stand instead of ones"},
}
# For var and mean: words, what it is taken of, and what is computed instead; ... stands for axis and keepdims.
SPREADS = {
    "var": [
        ("the mean of the squares is taken, without subtracting the mean", ("A", "np.mean(A**2, ...)")),
        ("the absolute distances are averaged", ("A", "np.mean(np.abs(A - np.mean(A, ...)), ...) ** 2")),
        ("the largest distance is taken", ("A", "np.max(np.abs(A - np.mean(A, ...)), ...) ** 2")),
        ("the squared distances are not averaged", ("A", "(A - np.mean(A, ...)) ** 2")),
        ("the sum is taken instead of the mean", ("A", "np.sum((A - np.mean(A, ...)) ** 2, ...)")),
    ],
    "mean": [
        ("the mean is squared, not the values", ("A**2", "np.mean(A, ...) ** 2")),
        ("absolute values are averaged instead of squares", ("A**2", "np.mean(np.abs(A), ...) ** 2")),
        ("the largest is taken", ("A**2", "np.max(np.abs(A), ...) ** 2")),
        ("the mean is subtracted too", ("A**2", "np.var(A, ...)")),
        ("the median is taken", ("A", "np.median(A, ...)")),
        ("it is divided by n - 1 instead of n", ("A", "np.sum(A, ...) / (np.sum(0 * A + 1, ...) - 1)")),
    ],
}
VAGUE = ("a wrong variable is used", "a number is wrong")  # words that need a case beside them
PAIRS = 3000  # so many are tried
REDUCTIONS = ("mean", "sum", "var", "std", "max", "min", "any", "all", "norm")
SETTINGS = ("axis", "keepdims", "ddof")
AXES = ("0", "1", "-1", "-2", "2", "(0, 1)", "(0, 2)", "(1, 2)", "(2, 3)", "(0, 2, 3)", "(1, 2, 3)")


@dataclass(frozen=True, eq=False)
class Base:
    """A correct solution as text, and what it needs besides `np`, {name: thing}."""

    text: str
    names: dict
    results: tuple = ()

    @cached_property
    def tree(self):
        return ast.parse(self.text)

    @cached_property
    def slips(self):
        """Every Slip of this base; nothing is compiled before it is asked for."""
        return list(_slips(self))

    @cached_property
    def repeated(self):
        """Each thought at all of its places, then at two of them."""
        groups = {}
        for slip in self.slips:
            groups.setdefault((slip.kind, slip.thought), []).append(slip)
        groups = [group for group in groups.values() if group[0].thought is not None and len(group) > 1]
        twice = [Several(list(pair), False) for g in groups if 2 < len(g) < 9 for pair in combinations(g, 2)]
        return [Several(group, True) for group in groups] + twice

    @cached_property
    def pairs(self):
        """Two common slips in different lines, the commoner first; no number or variable is changed in these."""
        common = {}
        for slip in self.slips:
            if slip.common:
                common.setdefault((slip.line, slip.kind, slip.thought), slip)
        pairs = list(combinations(enumerate(common.values()), 2))
        pairs.sort(key=lambda pair: pair[0][0] + pair[1][0])
        return [Several([a, b], False) for (_, a), (_, b) in pairs if a.kind != b.kind][:PAIRS]


@dataclass(frozen=True, eq=False)
class Slip:
    """A base with one place changed: `new` stands where `old` was, in a field of `parent` or at an index of it."""

    base: Base
    kind: str
    place: str
    line: int
    parent: ast.AST
    field: str
    index: int | None
    new: object
    thought: object = None  # what is the same where one thought is made at several places
    common: bool = False

    @property
    def sentence(self):
        return f"one slip from right: {f'in {self.place} ' if self.place else ''}{self.kind}"

    @cached_property
    def function(self):
        """The wrong function, or None where the slip is no code, such as a default that cannot be computed."""
        return _made(self.base, [self])


@dataclass(frozen=True, eq=False)
class Several:
    """Slips of one base that are made together: one thought at several places, or two thoughts."""

    slips: list
    whole: bool  # whether one thought is made at every place where it fits
    place = "several lines"

    @property
    def line(self):
        return self.slips[0].line

    @property
    def sentence(self):
        kinds = list(dict.fromkeys(slip.kind for slip in self.slips))
        if self.whole:
            return f"one slip from right, made throughout: {kinds[0]}"
        places = list(dict.fromkeys(f"in {slip.place}" for slip in self.slips if slip.place))
        if len(kinds) == 1:
            return f"one slip from right, made twice: {' and '.join(places)} {kinds[0]}".replace("  ", " ")
        said = [f"in {slip.place} {slip.kind}" if slip.place else slip.kind for slip in self.slips]
        return f"two slips from right: {'; '.join(said)}"

    @cached_property
    def function(self):
        return _made(self.slips[0].base, self.slips)


def _made(base, slips):
    """The function that a base becomes with these slips, or None."""
    undo = []
    wholes = [getattr(slip.parent, slip.field) for slip in slips]
    old = [whole if slip.index is None else whole[slip.index] for slip, whole in zip(slips, wholes, strict=True)]
    # One slip may keep what another changes.
    inner = {id(node): slip.new for node, slip in zip(old, slips, strict=True)}
    try:
        for slip, whole in zip(slips, wholes, strict=True):
            new = inner.get(id(slip.new), slip.new)
            if slip.index is None:
                undo.append((setattr, slip.parent, slip.field, whole))
                setattr(slip.parent, slip.field, new)
            else:
                undo.append((list.__setitem__, whole, slip.index, whole[slip.index]))
                whole[slip.index] = new
        return compiled(base.tree, base.names, base.tree.body[-1].name)
    except Exception:
        return None
    finally:
        for put_back, *where in reversed(undo):
            put_back(*where)


@cache
def bases(exercise):
    """The solution and those variants of an exercise whose text says it all."""
    texts = [(exercise.solution, {})] + [(v.text, {}) for v in exercise.variants if hasattr(v, "text")]
    for variant in exercise.variants:
        is_plain = getattr(variant, "__closure__", True) is None and "<" not in variant.__name__
        if is_plain and not hasattr(variant, "text"):
            texts.append((dedent(inspect.getsource(variant)), vars(inspect.getmodule(variant))))
    return [Base(text, names | exercise.names, exercise.results) for text, names in texts]


def _slips(base):
    comments = _comments(base.text)
    spots = list(_spots(base.tree.body[-1]))
    variables = sorted({node.id for *_, node, _ in spots if isinstance(node, ast.Name)} & _own_names(base.tree))
    ranked = []
    for parent, field, index, node, statement in spots:
        place = comments.get(node.lineno) or comments.get(_last_line(statement), "")
        if isinstance(statement, ast.Return) and isinstance(statement.value, ast.Tuple):
            named = zip(statement.value.elts, base.results, strict=False)
            place = next((name for item, name in named if any(node is part for part in ast.walk(item))), "")
            place = place if place.startswith("the ") or len(place) < 3 else f"the {place}"
        for rank, kind, new in _changes(node, parent, field, variables):
            if not hasattr(new, "lineno"):
                new = ast.fix_missing_locations(ast.copy_location(new, node))
            thought, common = _thought(node, new, rank), rank <= len(_rules())
            slip = Slip(base, kind, place, node.lineno, parent, field, index, new, thought, common)
            ranked.append((rank, slip))
    ranked += [(len(_rules()), slip) for slip in _first_lines(base)]
    return [slip for _, slip in sorted(ranked, key=lambda pair: pair[0])]


def _thought(node, new, rank):
    """What two slips of the same kind have in common: the same names, numbers, or arguments that are new."""
    if isinstance(node, ast.Name) and isinstance(new, ast.Name):
        return node.id, new.id
    if isinstance(node, ast.Constant):
        return node.value, new.value
    if isinstance(node, ast.Call) and isinstance(new, ast.Call) and rank == len(_rules()):
        before, after = ({ast.unparse(part) for part in [*call.args, *call.keywords]} for call in (node, new))
        return frozenset(after - before) if ast.dump(node) != ast.dump(new) else None
    return rank


def _comments(text):
    """{line: its comment}, where the comment begins with "the"."""
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    found = {token.start[0]: token.string.lstrip("# ") for token in tokens if token.type == tokenize.COMMENT}
    return {line: comment.partition(":")[0] for line, comment in found.items() if comment.startswith("the ")}


def _last_line(statement):
    """Where the comment of a statement stands: behind it, or behind the head of a block."""
    body = getattr(statement, "body", None)
    return body[0].lineno - 1 if body else statement.end_lineno


def _own_names(tree):
    """The parameters and variables of a function."""
    nodes = list(ast.walk(tree))
    parameters = {node.arg for node in nodes if isinstance(node, ast.arg)}
    return parameters | {n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}


def _spots(node, statement=None):
    """(parent, field, index, node, statement) of every place that a slip may change."""
    statement = node if isinstance(node, ast.stmt) else statement
    for field, value in ast.iter_fields(node):
        for index, child in enumerate(value) if isinstance(value, list) else [(None, value)]:
            # a loop might never end; the call stays as it is; _calls changes an axis
            if isinstance(child, (ast.While, ast.arguments)) or getattr(child, "arg", "") in SETTINGS:
                continue
            if isinstance(child, (ast.expr, ast.stmt)):
                yield node, field, index, child, child if isinstance(child, ast.stmt) else statement
            if isinstance(child, ast.AST):
                yield from _spots(child, statement)


def _changes(node, parent, field, variables):
    """(rank, words, what stands there instead) for one place; the lower the rank, the more the words say."""
    for rank, (pattern, words, new) in enumerate(_rules()):
        found = {}
        if type(pattern) is type(node) and _fits(pattern, node, found):
            changed = _filled(new, found)
            if ".T.T" not in ast.unparse(changed):
                yield rank, words, changed
    last = len(_rules())
    if isinstance(node, ast.Call):
        yield from ((last, *change) for change in _calls(node))
    elif isinstance(node, ast.Constant) and type(node.value) in (int, float) and field != "args":
        power = isinstance(getattr(parent, "op", None), ast.Pow) and field == "right"
        near = (node.value + 1, node.value - 1) if isinstance(node.value, int) else (node.value / 2, 1 - node.value)
        for value in near:
            yield last + 1, "the power is wrong" if power else "a number is wrong", ast.Constant(value)
    elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id in variables:
        for other in variables:
            if other != node.id and getattr(parent, "attr", "") != "append":  # to what a loop runs over: endless
                yield last + 2, "a wrong variable is used", ast.Name(other, ast.Load())
    elif isinstance(node, ast.Tuple) and isinstance(parent, ast.Return):
        yield from ((last, *change) for change in _results(node))
    elif isinstance(node, ast.If):
        for words, test in (("always", ast.Constant(True)), ("never", ast.Constant(False))):
            yield last, f"a condition is {words} met", ast.If(test, node.body, node.orelse)
        yield last, "a condition is inverted", ast.If(ast.UnaryOp(ast.Not(), node.test), node.body, node.orelse)
    elif isinstance(node, ast.AugAssign):
        yield last, "a term is missing", ast.Pass()
        target = ast.Name(node.target.id, ast.Store()) if isinstance(node.target, ast.Name) else node.target
        yield last, "what was there is replaced instead of changed", ast.Assign([target], node.value)
        if isinstance(node.op, (ast.Add, ast.Sub)):
            op = ast.Sub() if isinstance(node.op, ast.Add) else ast.Add()
            yield last, "a term has the wrong sign", ast.AugAssign(node.target, op, node.value)
    elif isinstance(node, ast.Assign):
        yield last, "a step is left out", ast.Pass()
        yield last, "the sign is wrong", ast.Assign(node.targets, ast.UnaryOp(ast.USub(), node.value))


def _calls(node):
    """Slips in a call: another function, axis or n, arguments lost or swapped."""
    name = getattr(node.func, "attr", "")
    in_numpy = isinstance(getattr(node.func, "value", None), ast.Name) and node.func.value.id == "np"
    keywords = {keyword.arg: keyword for keyword in node.keywords}

    def with_keywords(**changed):
        kept = [k for k in node.keywords if k.arg not in changed]
        new = [ast.keyword(key, _expression(value)) for key, value in changed.items() if value]
        return ast.Call(node.func, node.args, kept + new)

    for other, words in RENAMED.get(name, {}).items():
        if other:
            yield words, ast.Call(ast.Attribute(node.func.value, other, ast.Load()), node.args, node.keywords)
        elif node.args or not in_numpy:
            yield words, node.args[0] if in_numpy else node.func.value
    if name in ("var", "std"):
        changed = (None, "n instead of n - 1") if "ddof" in keywords else ("1", "n - 1 instead of n")
        yield f"it is divided by {changed[1]}", with_keywords(ddof=changed[0])
    if name in REDUCTIONS:
        where = in_numpy or name == "norm"  # the place of the axis among the arguments
        if "keepdims" in keywords:
            yield "keepdims is missing, so the shapes no longer line up", with_keywords(keepdims=None)
        if "axis" in keywords:
            yield "all entries are taken at once", with_keywords(axis=None)
            for axis in AXES:
                if axis == ast.unparse(keywords["axis"].value):
                    continue
                yield "another axis is taken", with_keywords(axis=axis)
                if "keepdims" in keywords:
                    yield "another axis is taken, and it is lost", with_keywords(axis=axis, keepdims=None)
                elif axis in ("1", "-1"):
                    yield "another axis is taken", with_keywords(axis=axis, keepdims="True")
        elif len(node.args) == 1 + where:
            for axis in AXES:
                new = ast.Call(node.func, node.args[:-1] + [_expression(axis)], node.keywords)
                yield "another axis is taken", new
        if "axis" in keywords and "keepdims" not in keywords:
            yield "an axis of size 1 is kept", with_keywords(keepdims="True")
    values = node.args[0] if in_numpy and node.args else getattr(node.func, "value", None)
    if name in ("var", "mean") and values is not None and not node.args[in_numpy:]:
        texts = ", ".join(ast.unparse(keyword) for keyword in node.keywords if keyword.arg != "ddof")
        for words, pattern in SPREADS[name]:
            found = {}
            if _fits(_expression(pattern[0]), values, found):
                yield words, _filled(_expression(pattern[1].replace("...", texts)), found)
    for i in range(len(node.args) - 1):
        swapped = node.args[:i] + [node.args[i + 1], node.args[i]] + node.args[i + 2 :]
        yield "two arguments have changed places", ast.Call(node.func, swapped, node.keywords)


def _results(node):
    """Slips in the results of a function: swapped, or one left out."""
    items = node.elts
    for i in range(len(items)):
        left = items[:i] + items[i + 1 :]
        yield "one is missing", left[0] if len(left) == 1 else ast.Tuple(left, ast.Load())
        if i and len(items) > 2:
            yield "the results stand in another order", ast.Tuple(items[i:] + items[:i], ast.Load())
        for j in range(i):
            swapped = list(items)
            swapped[i], swapped[j] = items[j], items[i]
            yield "two results have changed places", ast.Tuple(swapped, ast.Load())


def _first_lines(base):
    """One line more at the start: an argument rounded to float32, or replaced by a default."""
    function = base.tree.body[-1]
    for argument in function.args.args if isinstance(function, ast.FunctionDef) else ():
        name = argument.arg
        rounded = f"np.float32({name}) if np.asarray({name}).dtype == float else {name}"
        lines = {rounded: "it is computed in float32, which keeps 7 digits only"}
        if name in ("eps", "epsilon"):
            lines |= dict.fromkeys(("1e-5", "1e-6", "1e-8"), f"the argument {name} is ignored")
            lines["0"] = "epsilon is left out"
        if name == "momentum":
            lines |= dict.fromkeys(("0.1", "0.9", "0.5"), "the argument momentum is ignored")
        for line, kind in lines.items():
            body = ast.parse(f"{name} = {line}").body + function.body
            yield Slip(base, kind, "", function.lineno, function, "body", None, body)


@cache
def _expression(text):
    return ast.parse(text, mode="eval").body


@cache
def _rules():
    """[(pattern, words, what takes its place)] of the table above."""
    rows = [re.split(" -> | +# ", row) for row in REWRITES.strip().splitlines()]
    each = [(old, words, new) for olds, news, words in rows for old in olds.split(" | ") for new in news.split(" | ")]
    return [(_expression(old), words, _expression(new)) for old, words, new in each]


def _fits(pattern, node, found):
    """Whether a node is what a pattern says; `found` then has what stands for its letters."""
    if isinstance(pattern, ast.Name) and pattern.id in ("A", "B", "C", "D", "E"):
        return ast.dump(found.setdefault(pattern.id, node)) == ast.dump(node)
    if isinstance(pattern, ast.Name) and pattern.id == "eps":
        found["eps"] = node
        return isinstance(node, ast.Name) and node.id in ("eps", "epsilon")
    if isinstance(pattern, list):
        same = isinstance(node, list) and len(pattern) == len(node)
        return same and all(_fits(old, new, found) for old, new in zip(pattern, node, strict=True))
    if not isinstance(pattern, ast.AST):
        return pattern == node
    return type(pattern) is type(node) and all(
        _fits(getattr(pattern, name), getattr(node, name), found) for name in pattern._fields if name != "ctx"
    )


def _filled(pattern, found):
    """The pattern with what its letters stand for."""

    class Fill(ast.NodeTransformer):
        def visit_Name(self, node):
            return found.get(node.id, node)

    return Fill().visit(copy.deepcopy(pattern))
