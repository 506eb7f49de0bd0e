# SPDX-License-Identifier: Apache-2.0
"""A run that the hdf5 store has written, or writes: what leat.open() gives."""
import numbers
import os

from .facts import NotThere, facts_of, is_begin_of
from .follow import Following
from .iteration import Iteration
from .labelled import array_over_iterations
from .show import screen_of_run
from .source import source_of
from .writer import is_run_going_on


class Run:
    """A stored run. What is in it is what was stored when it was opened, or when refresh() was called last; arrays are read when they are
    asked for. Threads may use it at the same time: one of them reads.

        run[20]                 iteration 20: an Iteration; run[-1] is the last one
        run[20]["T"]            values of a variable in it: an array, or Blocks of ranks
        run["T"]                a variable over all iterations: an xarray.DataArray, which reads what is asked for
        for it in run           all iterations, in order
        for it in run.follow()  and those to come

    file: its path. simulation, session: names of the run. ranks: how many it has, on all nodes. lost: number of writes that were not
    stored; None as long as the run is not over. is_view: the file shows those of several servers, or pieces."""

    def __init__(self, path):
        self.file = path
        self._source = source_of(path)
        self._facts = self._source.read(facts_of, is_begin_of)

    simulation = property(lambda self: self._facts.simulation)
    session = property(lambda self: self._facts.session)
    ranks = property(lambda self: self._facts.ranks)
    lost = property(lambda self: self._facts.lost)
    is_view = property(lambda self: self._facts.is_view)

    @property
    def iterations(self):
        """Numbers of the iterations that are stored, as the simulation counts them, in order: a list."""
        return list(self._facts.iterations)

    @property
    def incomplete(self):
        """Numbers of those that lack something: a rank had died, or something could not be stored."""
        return self._facts.incomplete

    @property
    def variables(self):
        """{name: what is known of it}, in the order of the XML: see leat.reader.facts.Described."""
        return dict(self._facts.variables)

    @property
    def meshes(self):
        """{name: mesh}, as the XML has them: kind, dims, unit, origin and spacing (x, y, z) of each."""
        return {mesh.name: mesh for mesh in self._facts.model.meshes}

    @property
    def parameters(self):
        """{name: array}: values of the XML's parameters at the end of each iteration, in the order of `iterations`: int64, float64 or text.
        One that had no value is the least integer, NaN, ""."""
        return {name: values.copy() for name, values in self._facts.parameters.items()}

    @property
    def times(self):
        """The simulation's time of each iteration, in the unit of <time>, float64; None where it says none."""
        return None if self._facts.times is None else self._facts.times.copy()

    @property
    def attributes(self):
        """{name: text or number}: those of the file: title, history, ranks, leat_version, ..."""
        return dict(self._facts.attributes)

    @property
    def xml(self):
        """The XML of the run, as text."""
        return self._facts.xml

    @property
    def state(self):
        """ "running": a server writes it, or ranks of it live on this node. "ended": all is stored. "unfinished": its writer was killed, or
        the file is a copy that was made meanwhile. It is looked at anew each time."""
        if self._facts.is_closed:
            return "ended"
        folder = self._facts.parts_folder
        parts = os.path.join(os.path.dirname(os.path.abspath(self.file)), folder) if folder else ""
        return "running" if is_run_going_on(self.file, self.session, parts) else "unfinished"

    def __getitem__(self, key):
        """run[number]: an Iteration. run["name"]: an xarray.DataArray of the variable over all iterations, with its coordinates and units.
        Of a variable with a global shape (iteration, dims...), fill values where nobody wrote; of another one its blocks, or their
        elements, one behind the other, with whose each is beside: "block_rank", "block_iteration". KeyError with what there is."""
        if isinstance(key, str):
            return array_over_iterations(self._source, self._facts, self._facts.variable(key, self.file), self.file)
        if not isinstance(key, numbers.Integral) or isinstance(key, bool):
            raise TypeError(f"run[{key!r}]: the number of an iteration, or the name of a variable")
        number = int(key)
        if number < 0:
            if -number > len(self._facts.iterations):
                raise NotThere(f"run[{number}]: {self.file} has {len(self._facts.iterations)} iterations")
            number = self._facts.iterations[number]
        self._facts.row_of(number, self.file)
        return Iteration(self, self._facts, self._source, number)

    def __contains__(self, key):
        return key in self._facts.variables or key in self._facts.rows

    def __iter__(self):
        return (self[number] for number in self.iterations)

    def __len__(self):
        return len(self._facts.iterations)

    def _ipython_key_completions_(self):
        return list(self._facts.variables)

    def refresh(self):
        """Looks at what has been stored since: returns the numbers of iterations that are new. Those that were read stay as they are."""
        before = set(self._facts.iterations)
        self._source.close()
        self._source.expect_unshared()
        self._facts = self._source.read(facts_of, is_begin_of)
        return [number for number in self._facts.iterations if number not in before]

    def follow(self, timeout=600.0, after=None):
        """Gives all iterations that are stored, one after the other, then those to come, each as soon as it is stored, and ends when the
        run has: also when that was killed, some seconds later. Of a run of several servers an iteration comes when all have stored it, or a
        later one. after: only iterations with greater numbers. timeout: TimeoutError when nothing comes for so many seconds, though the run
        is not over. The run is refreshed all along."""
        return Following(self, timeout, after).go()

    def close(self):
        """Lets go of the file. What is read later opens it again."""
        self._source.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def __repr__(self):
        return screen_of_run(self, self._facts)
