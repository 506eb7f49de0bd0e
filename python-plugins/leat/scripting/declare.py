# SPDX-License-Identifier: Apache-2.0
"""How a script says which functions are to be called, and with what."""
import fnmatch
import inspect
import re
from dataclasses import dataclass

_declared = []  # by the script that is being loaded
_OF_NODE = re.compile(r"@(\d+)(?=/)")  # "stats@4/profile"


def node_of(product):
    """Lowest rank of the node that made it, where staging nodes have it from several; else None."""
    found = _OF_NODE.search(product)
    return int(found[1]) if found else None


def without_node(product):
    return _OF_NODE.sub("", product, count=1)


@dataclass
class Declaration:
    """One function of a script. variables: names, or None for all. every: calls at iterations that this divides. products: patterns
    of what it takes that stores and other scripts have made; publishes: names of what it makes of that. events: names; some: called
    only where one of them happens. scope: "node", or "run": once for all servers; incomplete: also where one gave nothing; chunks: of
    its arrays, "node" or "block"."""
    function: object
    variables: list = None
    every: int = 1
    arrays: str = None
    products: tuple = ()
    publishes: tuple = ()
    events: tuple = ()
    scope: str = "node"
    incomplete: bool = False
    chunks: str = "node"

    @property
    def name(self):
        return getattr(self.function, "__name__", type(self.function).__name__)

    @property
    def line(self):
        """Of its decorator, if it has one; 0 where it is none of Python's functions."""
        code = getattr(self.function, "__code__", None)
        return code.co_firstlineno if code else 0

    @property
    def place(self):
        code = getattr(self.function, "__code__", None)
        return f"{code.co_filename}:{code.co_firstlineno}" if code else self.name

    def takes(self, product):
        """Whether it takes this one, "<source>/<name>", with or without the node of its source."""
        return any(fnmatch.fnmatchcase(name, pattern) for pattern in self.products for name in (product, without_node(product)))

    def name_of(self, product):
        """What it is called where it is taken: without the node, unless patterns have that."""
        plain = without_node(product)
        return plain if any(fnmatch.fnmatchcase(plain, pattern) for pattern in self.products) else product

    def wrong_arguments(self):
        """"" or why Leat cannot call it."""
        signature = inspect.signature(self.function)
        try:
            signature.bind("ds", "ctx")
            return ""
        except TypeError:
            return f"{self.name}{signature} must take the data and the context: def {self.name}(ds, ctx)"


def on_iteration(function=None, *, variables=None, every=1, arrays=None, products=None, publishes=None, scope="node",
                 incomplete=False, chunks="node"):
    """Decorator: calls `function(ds, ctx)` at each iteration that `every` divides and in which all `variables` were written.

    variables: names as in the XML, groups in front ("fields/temperature"); None: whatever there is.
    arrays: "xarray" for an xarray.Dataset, "numpy" for a mapping of NumPy arrays; None: xarray where it is installed. "dask": with
    scope="run".
    scope: "node": each server calls it, with the blocks of its own ranks. "run": it is called on one server, with Dask arrays over
    all servers of the run, whose chunks lie where they were written; other servers wait, no rank does. Each iteration is waited
    for, as with when-slow="wait".
    incomplete: with scope="run": it is called also where a server gave nothing, because it has died; then ds has fill values.
    chunks: with scope="run": "node": one chunk is what a server has of a variable, a copy where that is several blocks; "block": each
    block is a chunk, as it lies in the simulation's memory, and a task of Dask.
    products: what it takes that plugins of stores and other scripts make of an iteration: "<source>/<name>" with the wildcards of
    a shell, or a list of such; on staging nodes "stats/*" is of all nodes, "stats@4/*" of one. Then it is called when that is there,
    ds has it under that name, and variables=None is none. What other scripts make, or nodes send to staging nodes, comes by itself:
    a function that also asks for variables does not get it.
    publishes: names of what it gives to ctx.scalar and ctx.store; with `products` it may give nothing else.
    `ds` holds global arrays without ghosts. They are read-only and end with the call: copy what is to be kept.
    """
    variables, products, publishes = (None if each is None else [each] if isinstance(each, str) else list(each)
                                      for each in (variables, products, publishes))
    if products and variables is None:
        variables = []
    if isinstance(every, bool) or not isinstance(every, int) or every < 1:
        raise ValueError(f"on_iteration(every={every!r}): a whole number from 1 is expected")
    of_run = _expect_scope("on_iteration", arrays, scope, incomplete, chunks)
    if scope == "run" and products:
        raise ValueError('on_iteration(scope="run", products=...): what is made of an iteration comes at different times on different '
                         "servers; ask for variables")

    def declare(declared):
        _declared.append(Declaration(declared, variables, every, arrays, tuple(products or ()), tuple(publishes or ()), **of_run))
        return declared
    return declare if function is None else declare(function)


def _expect_scope(call, arrays, scope, incomplete, chunks):
    """What a Declaration has of it. ValueError for what does not go together."""
    if arrays not in (None, "xarray", "numpy", "dask"):
        raise ValueError(f'{call}(arrays={arrays!r}): "xarray", "numpy" or "dask" is expected')
    if scope not in ("node", "run"):
        raise ValueError(f'{call}(scope={scope!r}): "node" or "run" is expected')
    if (arrays == "dask") != (scope == "run"):
        raise ValueError(f'{call}: scope="run" and arrays="dask" go together: data of all servers are Dask arrays, and those of one '
                         "need none")
    if chunks not in ("node", "block"):
        raise ValueError(f'{call}(chunks={chunks!r}): "node" or "block" is expected')
    if scope == "node" and (incomplete or chunks != "node"):
        raise ValueError(f'{call}: incomplete and chunks are of functions with scope="run"')
    return {"scope": scope, "incomplete": incomplete, "chunks": chunks}


def on_event(*events, variables=None, arrays=None, scope="node", incomplete=False, chunks="node"):
    """Decorator: calls `function(ds, ctx)` with each iteration in which one of these events of the XML happens, once; ctx.events has
    which, by which rank and how often. Such an iteration is never left out for a newer one.

    variables, arrays: as with on_iteration; None: whatever there is, be it nothing.
    scope, incomplete, chunks: as with on_iteration. scope="run" is for events that the XML gives scope="run": those happen in the
    same iteration on all servers.
    """
    if not events or not all(isinstance(event, str) for event in events):
        raise ValueError(f"on_event{events!r}: names of events are expected, like @leat.on_event(\"snapshot\")")
    variables = None if variables is None else [variables] if isinstance(variables, str) else list(variables)
    of_run = _expect_scope("on_event", arrays, scope, incomplete, chunks)

    def declare(declared):
        _declared.append(Declaration(declared, variables, 1, arrays, events=tuple(events), **of_run))
        return declared
    return declare


def declarations_of(run, namespace):
    """What `run()`, which executes a script into `namespace`, declares; a bare process(ds, ctx) counts when nothing is."""
    _declared.clear()
    try:
        run()
        found = list(_declared)
    finally:
        _declared.clear()
    if not found and inspect.isfunction(namespace.get("process")):
        found = [Declaration(namespace["process"])]
    return found
