# SPDX-License-Identifier: Apache-2.0
"""deisa.dask for analyses that Leat runs: Deisa, whose arrays come from Leat's servers. deisa.core is that of deisa-core."""
import contextlib

from deisa.core import IDeisa
from leat.deisa.analysis import Analysis
from leat.deisa.callbacks import Callback, log_exception

__version__ = "leat"
__all__ = ["Bridge", "Deisa", "get_connection_info"]


class Deisa(IDeisa):
    """Arguments, as for a connection, are ignored: there is one cluster, that of the run."""

    def __init__(self, feedback_queue_size=1024, *args, **kwargs):
        self.feedback_queue_size = feedback_queue_size
        self._analysis = Analysis.current()

    @property
    def client(self):
        """Dask's, while an iteration is there."""
        return self._analysis.client

    def register(self, *callback_args, exception_handler=log_exception, when="AND"):
        """Decorator: as register_callback()."""
        return lambda callback: self.register_callback(callback, *callback_args, exception_handler=exception_handler, when=when)

    def register_callback(self, callback, *callback_args, exception_handler=log_exception, when="AND"):
        """Calls callback(window, ...) with a list of the last arrays of each of callback_args: a name, or Window(name, size)."""
        number = self._analysis.register(Callback(callback, callback_args, exception_handler, when))
        with contextlib.suppress(AttributeError):  # of a method, for example
            callback.callback_id = number
        return callback

    def unregister_callback(self, callback_id):
        """callback_id: also the callback itself."""
        self._analysis.unregister(getattr(callback_id, "callback_id", callback_id))

    def execute_callbacks(self):
        """Returns when the simulation has ended."""
        self._analysis.execute()

    def set(self, key, value, timestep=None):
        """Sets the parameter `key` of the simulation: all ranks have it from one and the same iteration on, a few after this one."""
        self._analysis.set(key, value)


class Bridge:
    """Where the simulation would speak to Deisa: it speaks to Leat."""

    def __init__(self, *args, **kwargs):
        raise RuntimeError("deisa.dask.Bridge: under Leat the simulation hands over its arrays with leat_write")


def get_connection_info(*args, **kwargs):
    """Nothing is to be known: see Deisa."""
