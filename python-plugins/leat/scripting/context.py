# SPDX-License-Identifier: Apache-2.0
"""What a script can do besides looking: the second argument of its functions."""
import math
import numbers
import threading

import numpy as np

from ..names import did_you_mean
from ..vtk.wish import Wish
from . import (
    outputs,  # noqa: F401  what stores results is loaded before a script runs
    reductions,
)
from .declare import node_of

_MOST_SENT = 1 << 24  # pixels of a picture
_MOST_NAME = 200  # bytes: with the iteration, the node and an ending it is a file's name still
_KINDS = {"int": numbers.Integral, "double": numbers.Real, "string": str}


class Context:
    """One call of a script's functions for one iteration.

    iteration   number of the iteration
    parameters  {name: value} of the XML's parameters, as the first rank of the node had them at the end of the iteration
    events      what happens in this iteration, as <actions> has it, in order: objects with name, rank (None: not of one) and times
    state       a dict that survives edits of the script and restarts of its process; it is pickled after each call
    servers     number of servers of the run; server: which of them this is, from 0 on; is_first: it is the lowest that lives
    from_node   on a staging node: the lowest rank of the node whose products these are; None: of one made here, or of the whole run
    servers_missing  how many servers gave nothing to the last reduce() or gather() of this call
    """

    def __init__(self, script, iteration, services):
        self.iteration = iteration.number
        self.parameters, self.events = dict(iteration.parameters), list(iteration.events)
        self._script, self._iteration, self._services = script, iteration, services
        self._function = self._ds = None
        self.scalars, self.arrays = {}, {}  # what the script has made
        self._pictures = set()
        self.traceback = ""  # all of it, where its functions failed
        self.servers_missing = 0
        self.from_node = next((node for node in map(node_of, iteration.products) if node is not None), None)
        self._thread = threading.get_ident()

    @property
    def state(self):
        return self._script.state

    @state.setter
    def state(self, value):
        self._script.state = value

    def scalar(self, name, value):
        """A number per iteration: a column of <output>/<script>.csv, and /scripts/<script>/<name> in the output file."""
        good_name("scalar", name)
        number = np.asarray(value)
        if number.shape != () or number.dtype.kind not in "biufc":
            raise TypeError(f'ctx.scalar("{name}", ...): a number is expected, not {_kind_of(value)}')
        self._expect_free(name)
        self.scalars[name] = number[()]

    def store(self, name, array, dims=None, units=None):
        """An array per iteration: /scripts/<script>/<name> (iteration, dims...) in the output file. array: a NumPy array or an
        xarray.DataArray, of numbers; copied before the call returns. dims: names of its dimensions."""
        good_name("store", name)
        values = np.asarray(array)
        if values.dtype.kind not in "biufc":
            raise TypeError(f'ctx.store("{name}", ...): an array of numbers is expected, not {_kind_of(array)}')
        dims = dims or getattr(array, "dims", None) or [f"{name}_{i}" for i in range(values.ndim)]
        if len(dims) != values.ndim:
            raise ValueError(f'ctx.store("{name}", ...): {len(dims)} names for {values.ndim} dimensions')
        if values.ndim > 7:
            raise ValueError(f'ctx.store("{name}", ...): 7 dimensions at most, not {values.ndim}')
        self._expect_free(name)
        units = units if units is not None else getattr(array, "attrs", {}).get("units", "")
        self.arrays[name] = (np.array(values, order="C"), [str(dim) for dim in dims], str(units))

    def image(self, name, picture):
        """<output>/<script>/<name>-<iteration>.png, and a link latest-<name>.png to the newest. picture: a matplotlib figure, a 2-D
        array, or bytes of shape (height, width, 3 or 4). Returns the path."""
        good_name("image", name)
        return self._services.image(self._script.name, name, self.iteration, picture)

    def picture(self, kind, variable, *, name=None, axis="z", at=None, values=None, color_by=None, range=None, colors="viridis",
                camera=None, size=(800, 600), edges=False, radius=None, scope="node"):
        """<output>/<script>/<name>-<iteration>.png: the variable on its mesh, drawn by VTK from what this server has of it. Returns the
        path; None where there is nothing of it here.

        scope "run": one picture of what all servers of the run have, in the output of the first one, which has the path; the others
        have None. Each server draws its part, and sends pixels. All make the call in each iteration, as with reduce(). No "volume".

        kind "slice": a plane across `axis` at the place `at` (the middle); of a flat mesh all of it. "contour": where the variable has
        these `values` (five between its least and greatest). "volume": rays through it; what is great is dense. "particles": the points of
        its mesh as balls of `radius`.
        name: "<variable>-<kind>" when it is not given. color_by: another variable of the mesh. range: (least, greatest) of the colours,
        those of this iteration when it is not given. colors: a map of matplotlib. camera: the direction (x, y, z) from which one looks.
        size: pixels. edges: also the borders of blocks, which are the patches of an amr mesh."""
        self._expect_node("ctx.picture")
        if self._iteration is None:
            raise RuntimeError("ctx.picture after the function that ctx was given to has returned: what it would draw is gone")
        name = f"{variable}-{kind}".replace("/", "_") if name is None else name
        good_name("picture", name)
        if name in self._pictures:
            raise ValueError(f'ctx.picture: "{name}" was drawn already in iteration {self.iteration}: say name="..."')
        wish = Wish(kind, variable, axis, at, values, color_by, range, colors, camera, size, edges, radius, name)
        wish.check()
        if scope not in ("node", "run"):
            raise ValueError(f'ctx.picture(scope={scope!r}): "node" or "run" is expected')
        if scope == "run" and kind == "volume":
            raise ValueError('ctx.picture("volume", scope="run"): what is seen through cannot be put together of pixels; draw a "contour"')
        if scope == "run" and wish.size[0] * wish.size[1] > _MOST_SENT:
            raise ValueError(f'size={size!r} with scope="run": servers send each other {_MOST_SENT // 2**20} Mi pixels at most')
        if scope == "run":
            self._expect_call("picture(..., scope=\"run\")")
            png = self._services.draw_of_run(wish, self._iteration, self.gather, self._services.place())
        else:
            png = self._services.draw(wish, self._iteration)
        if png is None:
            return None
        self._pictures.add(name)
        return self._services.image(self._script.name, name, self.iteration, png)

    def set(self, parameter, value, scope="run"):
        """Steers the simulation: leat_get_* of all ranks return `value` from one and the same iteration on, a few after this one.
        Does not wait. Only parameters on which no layout depends, and finite numbers only.

        In a run with several servers (several nodes, or servers="2") these agree on that iteration; of several values that are set
        for it the last server's holds. With scope="node" the ranks of this server alone are steered."""
        if scope not in ("run", "node"):
            raise ValueError(f'ctx.set("{parameter}", ..., scope={scope!r}): scope is "run" or "node"')
        kinds = self._services.model.parameters
        if parameter not in kinds:
            raise LookupError(f'there is no parameter "{parameter}" in {self._services.model.source}{did_you_mean(parameter, kinds)}')
        if isinstance(value, np.generic):
            value = value.item()
        kind = kinds[parameter]
        if isinstance(value, bool) or not isinstance(value, _KINDS[kind]):
            raise TypeError(f'ctx.set("{parameter}", {value!r}): the parameter is of type {kind}')
        if isinstance(value, float) and not math.isfinite(value):
            raise ValueError(f'ctx.set("{parameter}", {value!r}): not a finite number')
        self._services.set(parameter, float(value) if kind == "double" else value, scope)

    def signal(self, event):
        """An <event> of the XML happens once, in the next iteration that is not complete yet, whatever its scope: its stores take that
        iteration, and its scripts and plugins are told. Does not wait.

        In a run with several servers an event with scope="run" happens on all of them, once for each call: let one of them call, by
        `if ctx.is_first`, or a function with scope="run". LookupError, with the nearest name, where the XML has none of this name."""
        self._services.signal(self._services.model.event(event))

    def reduce(self, value, op, bins=None, range=None):
        """What all servers of the run make of `value` together: the same on each of them, bit for bit the same for any number of
        servers. Waits for the others; all have to make the same calls in an iteration, in the same order.

        op "sum", "min", "max": element by element, for a number or an array that has the same shape on all servers; whole numbers
        stay whole (int64), others are float64. Of the name of a variable, of a list of blocks, like ctx.blocks(name), or of arrays: one
        number, of all elements.
        "mean": of all elements of all servers, one number. "hist": (counts, edges) of all elements, as numpy.histogram has them;
        bins: how many (10), or their edges; range: (least, greatest), found over all servers where it is not given."""
        self._expect_call(f'reduce(..., "{op}")')
        if isinstance(value, str):
            value = self._values_of(value)
        try:
            return reductions.Reduction(self._ask).of(value, op, bins, range)
        except reductions.DoesNotFit as why:
            raise ValueError(f'ctx.reduce(..., "{op}"): {why}') from None

    def _values_of(self, name):
        """A function of all variables is called too where ranks of other servers alone have written this one: there it has none."""
        asks_for_all = self._function is not None and self._function.variables is None
        return self._iteration.no_values(name) if asks_for_all and name not in self._iteration.names() else self._iteration.own_values(name)

    def gather(self, value):
        """A list of what each server of the run has given, in their order; a server that is missing has no entry. value: a NumPy
        array, or what JSON can say; 1 MiB at most."""
        self._expect_call("gather(...)")
        try:
            data = reductions.packed(value)
        except (reductions.DoesNotFit, TypeError, ValueError) as why:
            raise ValueError(f"ctx.gather(...) of {_kind_of(value)}: {why}") from None
        said = self._ask(["gather"], [reductions.Said(data)])["columns"][0]
        return [reductions.unpacked(said[server]) for server in sorted(said)]

    @property
    def servers(self):
        return self._services.servers()

    @property
    def server(self):
        return self._services.place().server

    @property
    def is_first(self):
        """True on one server of the run: for printing, and for writing one file."""
        return self._services.place().is_first

    def log(self, *words):
        """A line in the server's log, like print."""
        self._services.log("info", " ".join(str(word) for word in words))

    def window(self, n):
        """The datasets of the last n calls of this function, oldest first, this one last; fewer at the start. Copies, at most n:
        memory for n iterations."""
        if n < 1:
            raise ValueError(f"ctx.window({n}): at least 1")
        self._expect_node("ctx.window")
        return self._function.remember(self.iteration, self._ds, n)

    def blocks(self, variable, include_ghosts=False):
        """The raw blocks: list of objects with rank, block, position, extent, ghosts, data; by rank and block. Read-only, and they
        end with the call. Not in a function of the whole run."""
        self._expect_node("ctx.blocks")
        return self._iteration.blocks(variable, include_ghosts)

    def _ask(self, what, columns, meanwhile=None):
        name = self._function.declaration.name
        outcome = self._services.reduce(name, reductions.signature_of([name, *what]), columns, meanwhile)
        self.servers_missing = self._services.servers() - outcome["gave"]
        if self.servers_missing and not self._script.said_missing:
            self._script.said_missing = True
            self._services.log("warning", f"ctx.reduce and ctx.gather in iteration {self.iteration}: {self.servers_missing} of "
                               f"{self._services.servers()} servers gave nothing; ctx.servers_missing tells each time, this is "
                               "said once")
        return outcome

    def _expect_node(self, call):
        if self._function is not None and self._function.declaration.scope == "run":
            raise RuntimeError(f"{call} is not of functions of the whole run: those are called on one server alone, and ds has the "
                               "data of all")

    def _expect_call(self, call):
        self._expect_node(f"ctx.{call}")
        if self._function is None:
            raise RuntimeError(f"ctx.{call} after the function that ctx was given to has returned: the other servers do not wait for it "
                               "any more")
        if threading.get_ident() != self._thread:
            raise RuntimeError(f"ctx.{call} in another thread than the function that ctx was given to: servers reduce in the order of "
                               "the calls of one thread. Let it return the value, and reduce that")

    def _begin(self, function, ds):
        self._function, self._ds = function, ds

    def _end(self):
        self._function = self._ds = self._iteration = None

    def _expect_free(self, name):
        declaration = self._function.declaration
        for other in self._script.functions:
            if other is not self._function and name in other.declaration.publishes:
                raise ValueError(f'"{name}" is what {other.declaration.name} of this script publishes: take another name')
        if declaration.products and name not in declaration.publishes:
            raise ValueError(f'"{name}" is not in publishes=... of {declaration.place}: a function that takes products says there '
                             f'what it makes of them, like @leat.on_iteration(products=..., publishes=["{name}"])')
        if name == "iteration":
            raise ValueError('"iteration" is no name for a result: it is the column beside all results')
        if name in self.scalars or name in self.arrays:
            raise ValueError(f'"{name}" was given twice in iteration {self.iteration}')


def good_name(verb, name):
    """Raises where a file or a path in HDF5 could not hold the name, or where it would mean another place."""
    call = f"ctx.{verb}({name!r:.60}, ...)"
    if not isinstance(name, str):
        raise TypeError(f"{call}: the name of a result is a text, not {_kind_of(name)}")
    why = ("it is empty" if not name else "it begins with a dot" if name.startswith(".") else "it has a slash" if "/" in name
           else "it has a character that cannot be printed" if not name.isprintable()
           else f"it has more than {_MOST_NAME} bytes" if len(name.encode()) > _MOST_NAME else "")
    if why:
        raise ValueError(f"{call} is no name for a result: {why}. Letters, digits, \"_\", \"-\" and \".\" inside are good")


def _kind_of(value):
    shape = getattr(value, "shape", None)
    return type(value).__name__ + (f" of {value.dtype}, shape {shape}" if hasattr(value, "dtype") else f" {value!r:.40}")
