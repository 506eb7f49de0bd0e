# SPDX-License-Identifier: Apache-2.0
"""The module of leat.graph.reduce(): one array of many, element by element. What one of them that is not the last of a tree makes of
a sum has one more dimension in front, of doubles whose exact sum each element is."""
import numpy as np

from .. import module
from . import exact

_TERMS = "exact terms"  # the name of that dimension


def main():
    options = module.options()
    while module.wait():
        parts = module.parts("parts")
        if not parts:
            continue
        made, dims = _reduced(parts, options["op"], options["last"], options["over"] == "run")
        module.put("all", made, dims=dims, unit=parts[0].unit)


def _reduced(parts, op, is_last, of_run):
    """(array, names of its dimensions)"""
    dims = tuple(name for name in parts[0].dims if name != _TERMS)
    terms = []  # arrays of the shape that the result has
    for part in parts:
        terms += list(part.data) if _TERMS in part.dims else [part.data]
    shapes = {term.shape for term in terms}
    if len(shapes) > 1:
        raise ValueError(f"arrays of one shape are expected, not of {' and '.join(map(str, sorted(shapes)))}")
    if op != "sum" or terms[0].dtype.kind in "iub":
        return _elementwise(terms, op, of_run), dims
    sums = []
    for term in terms:
        sums = exact.add(sums, term)
    if not is_last:
        return np.stack(sums), (_TERMS, *dims)
    return (_over_run(sums) if of_run else exact.rounded(sums)), dims


def _elementwise(arrays, op, of_run):
    function = {"sum": np.add, "min": np.minimum, "max": np.maximum}[op]
    whole = arrays[0].dtype.kind in "iub"
    made = np.array(arrays[0], "i8" if whole else "f8")
    for each in arrays[1:]:
        made = function(made, each)
    if not of_run:
        return made.astype(arrays[0].dtype) if op != "sum" else made
    from ..scripting.reductions import Numbers
    return _asked(made.shape, op, [made.reshape(-1)], lambda columns: Numbers(op, columns[0]))


def _over_run(sums):
    from ..scripting.reductions import Sums
    return _asked(sums[0].shape, "sum", [each.reshape(-1) for each in sums], lambda columns: Sums(np.stack(columns, axis=1)))


def _asked(shape, op, arrays, column_of):
    """Of all servers, as many numbers at a time as leatd takes."""
    from ..scripting.reductions import MOST_NUMBERS, outcome_of, signature_of
    count, step = arrays[0].size, max(1, MOST_NUMBERS // len(arrays))
    made = np.empty(count, "f8" if arrays[0].dtype.kind == "f" else "i8")
    for begin in range(0, max(1, count), step):
        column = column_of([each[begin:begin + step] for each in arrays])
        told, data = column.words()
        answer, data = module.ask_server({"kind": "reduce", "function": "reduce", "signature": signature_of([op, list(shape), begin]),
                                          "columns": [told]}, data)
        made[begin:begin + step] = outcome_of(answer, data, [column])["columns"][0]
    return made.reshape(shape)


if __name__ == "__main__":
    main()
