# SPDX-License-Identifier: Apache-2.0
"""The scripts that come with Leat, loaded without Leat, and a ctx that keeps what they give."""
import importlib.util
import pathlib
import sys
import types

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "python-plugins"))
from leat.scripting.reductions import OneServer, Reduction, packed, unpacked  # noqa: E402

EXAMPLES = pathlib.Path(__file__).parents[2] / "examples"


class Context:
    """What a script sees of Leat. Call next() before each further iteration; `state` stays."""

    def __init__(self, iteration=0):
        self.state, self.parameters, self.log_lines, self.was_set = {}, {}, [], {}
        self.past = []  # datasets, the oldest first
        self.next(iteration)

    def next(self, iteration):
        self.iteration, self.scalars, self.images, self.stored, self.units = iteration, {}, {}, {}, {}

    def scalar(self, name, value):
        self.scalars[name] = value

    def image(self, name, picture):
        self.images[name] = picture

    def store(self, name, array, dims=None, units=None):
        assert dims is None or len(dims) == array.ndim
        self.stored[name], self.units[name] = array, units

    is_first, servers, server, servers_missing = True, 1, 0, 0

    def reduce(self, value, op, bins=None, range=None):
        """Of a run of one server; the dataset is the last of `past`."""
        values = [self.past[-1][value].values] if isinstance(value, str) else value
        ask = lambda what, columns: OneServer().reduce("", 0, columns)  # noqa: E731
        return Reduction(ask).of(values, op, bins, range)

    def gather(self, value):
        return [unpacked(packed(value))]

    def log(self, text):
        self.log_lines.append(text)

    def set(self, parameter, value):
        self.was_set[parameter] = value

    def window(self, n):
        return self.past[-n:]


def load(path):
    """A script of the examples as a module; its `leat` has the decorator only, which notes what was asked for."""
    def on_iteration(variables=None, every=1, arrays=None, products=None, publishes=None, scope="node"):
        def mark(function):
            function.variables, function.every = variables, every
            return function
        return mark

    name = pathlib.Path(path).stem
    spec = importlib.util.spec_from_file_location(f"shipped_{name}", EXAMPLES / path)
    module = importlib.util.module_from_spec(spec)
    own = sys.modules.get("leat")
    sys.modules["leat"] = types.SimpleNamespace(on_iteration=on_iteration)
    try:
        spec.loader.exec_module(module)
    finally:
        if own is None:
            del sys.modules["leat"]
        else:
            sys.modules["leat"] = own
    return module
