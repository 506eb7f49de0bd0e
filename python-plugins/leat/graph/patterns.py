# SPDX-License-Identifier: Apache-2.0
"""What one builds graphs of again and again: many to one, one to many, in turns, in shares, in a tree."""
import sys

from .assemble import connect, module
from .parts import Output, Variable, here, refuse
from .policies import every


def gather(sources, target):
    """All of them at one port: a message has the arrays of all, in this order."""
    connect(list(sources), target)


def scatter(source, targets):
    """Of the blocks of a variable each target has its share: of n targets the i-th has those whose place in the order of ranks and blocks
    gives i when divided by n."""
    if not isinstance(source, Variable):
        refuse(f"scatter() takes a variable, whose blocks it gives away; of {source} there is one array: redistribute() cuts that")
    _share(source, targets, "blocks")


def redistribute(source, targets, axis=0, ghosts=0):
    """The array is cut along an axis into as many boxes as there are targets, whatever blocks it is of: leat.module.get() gives the
    target's box, with so many cells of its neighbours on both sides, where there are neighbours; leat.module.box() says which it is."""
    if axis < 0 or ghosts < 0:
        refuse(f"redistribute(axis={axis}, ghosts={ghosts}): both are from 0 on")
    _share(source, targets, "box", axis=axis, ghosts=ghosts)


def _share(source, targets, how, **more):
    for i, target in enumerate(targets):
        connect(source, target)
        target.share = {"how": how, "share": i, "shares": len(targets), **more}


def round_robin(source, targets):
    """One after the other has an iteration: of n targets the i-th has those that give i when divided by n."""
    for i, target in enumerate(targets):
        connect(source, every(len(targets), i), target)


def in_order(sources, target):
    """What round_robin() has given away comes together again: each message of any of them is one for the target, by iteration."""
    connect(list(sources), target)
    target.any = True


def reduce(sources, op="sum", over="node", arity=0, name=None):
    """One array of many of the same shape, element by element: of the blocks of a variable, or of outputs of several modules. op: "sum",
    "min", "max". over: "node", or "run" for all nodes. arity: with that many at most a module has, so that a tree of them is made; 0: one
    module has all. Sums are exact before they are rounded once: the result has the same bits whatever the tree, and wherever it runs.
    Returns the output."""
    if op not in ("sum", "min", "max"):
        refuse(f'reduce(op="{op}"): there are "sum", "min" and "max"')
    if over not in ("node", "run"):
        refuse(f'reduce(over="{over}"): there are "node" and "run"')
    if arity == 1 or arity < 0:
        refuse(f"reduce(arity={arity}): a module of the tree takes at least two")
    every_source = list(sources) if isinstance(sources, (list, tuple)) else [sources]
    if not every_source or not all(isinstance(each, (Output, Variable)) for each in every_source):
        refuse("reduce() takes a variable, or outputs of modules")
    name = name or f"{op}_{every_source[0].name}"
    return _level(every_source, op, over, arity or max(2, len(every_source)), name, here())


def _level(sources, op, over, arity, name, place):
    parts = [sources[i:i + arity] for i in range(0, len(sources), arity)]
    is_last = len(parts) == 1
    made = []
    for i, part in enumerate(parts):
        each = module(name if is_last else f"{name}.{len(parts)}_{i}", [sys.executable, "-m", "leat.graph.reduce"], ["parts"],
                      ["all"], options={"op": op, "over": over if is_last else "node", "last": is_last})
        each.place = place
        gather(part, each.parts)
        made.append(each.all)
    return made[0] if is_last else _level(made, op, over, arity, name, place)
