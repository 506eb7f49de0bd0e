# SPDX-License-Identifier: Apache-2.0
"""One execution of an analysis file: in a thread of its own, which waits in execute_callbacks() until the simulation has ended. Callbacks
are called by the thread that an iteration comes to, meanwhile."""
import itertools
import threading

from ..names import did_you_mean

_of_thread = threading.local()


class Analysis:
    """execute(): the file. model: Model; names: of the variables that it finds. log(text): warnings."""

    def __init__(self, execute, model, names, log):
        self._execute, self._model, self._names, self._log = execute, model, names, log
        self._callbacks, self._ids = {}, map("deisa_cb_{}".format, itertools.count(1))  # {id: Callback}
        self._waits, self._simulation_ended, self._said_timestep = threading.Event(), threading.Event(), False
        self._context = self._home = self._error = None
        self._client = None
        self._thread = threading.Thread(target=self._run, daemon=True, name="deisa")

    @staticmethod
    def current():
        """That of the file that this thread executes."""
        found = getattr(_of_thread, "analysis", None)
        if found is None:
            raise RuntimeError('Deisa(): make it in the thread that executes the file; its <script> has form="deisa"')
        return found

    # ---- for the file ----

    @property
    def client(self):
        if self._client is None:
            raise RuntimeError("deisa.client: there is one in callbacks, and before execute_callbacks(); not after the simulation")
        return self._client

    def register(self, callback):
        for name in callback.windows:
            if name not in self._names:
                raise ValueError(f'unknown array name: "{name}" is no variable that this script gets{did_you_mean(name, self._names)}')
        number = next(self._ids)
        self._callbacks[number] = callback
        return number

    def unregister(self, number):
        self._callbacks.pop(number, None)

    def execute(self):
        self._waits.set()
        self._simulation_ended.wait()

    def set(self, key, value):
        context = self._context
        if context is None:
            raise RuntimeError(f"deisa.set({key!r}, ...) when no iteration is there: the simulation may have ended")
        if not self._said_timestep:
            self._said_timestep = True
            self._log("deisa.set: ranks get a value in one of the next iterations, by leat_get_...; timestep is not looked at")
        context.set(key, value)

    # ---- for the script ----

    @property
    def has_failed(self):
        return self._error is not None

    def deliver(self, whole, context):
        """Calls what is due in an iteration of the run. Raises what the file has raised before it waited."""
        self._context, self._client = context, whole.home[0]
        try:
            self._start()
            self._begin_anew_elsewhere(whole.home)
            for name in whole.names():  # one comes after the other
                self._take(name, whole)
            for callback in self._callbacks.values():
                callback.forget(lasting=False)
        except BaseException:
            self._forget()  # what is not whole may be in windows
            raise
        finally:
            self._context = self._client = None

    def end(self):
        """The simulation has ended: what stands behind execute_callbacks() is done. Raises what that raises."""
        self._simulation_ended.set()
        if self._thread.ident:
            self._thread.join()
            self._raise()

    def _take(self, name, whole):
        for number, callback in list(self._callbacks.items()):
            if name not in callback.windows or number not in self._callbacks:
                continue
            callback.take(name, whole)
            if callback.is_due(whole.number) and not callback.call():
                self._log(f"{number}: its exception handler raised an exception too; it is not called any more")
                self.unregister(number)

    def _start(self):
        if not self._thread.ident:
            self._thread.start()
        self._waits.wait()
        self._raise()
        if not self._thread.is_alive():
            raise RuntimeError("the file has ended without execute_callbacks(): no callback is called")

    def _raise(self):
        if self._error is not None:
            raise self._error

    def _run(self):
        _of_thread.analysis = self
        try:
            self._execute()
        except BaseException as error:  # it may even call sys.exit
            if not (isinstance(error, SystemExit) and not error.code):
                self._error = error
        finally:
            self._waits.set()

    def _begin_anew_elsewhere(self, home):
        before, self._home = self._home, home
        if before not in (None, home) and any(callback.remembers() for callback in self._callbacks.values()):
            self._log("windows begin anew: the process of a server that had some of their arrays has ended")
            self._forget()

    def _forget(self):
        for callback in self._callbacks.values():
            callback.forget()
