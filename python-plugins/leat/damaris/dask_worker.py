# SPDX-License-Identifier: Apache-2.0
"""The Dask worker beside a script for Damaris: started when the scheduler is there, retired when the script ends."""
import os
import pathlib
import subprocess
import sys
import threading

_MODULES = str(pathlib.Path(__file__).parent / "modules")
_PAUSE_SECONDS = 1  # from its death to the next one
_RETIRE_SECONDS = 3  # leatd waits 5 s for the process of the script to end


class DaskWorker:
    """plan: {"scheduler_file", "threads", "timeout"}, or None. name: unique. log(text): for what went wrong."""

    def __init__(self, plan, name, log):
        self.name, self._process, self._closing = name, None, threading.Event()
        self._file = plan["scheduler_file"] if plan else ""
        self._threads = plan["threads"] if plan else 1
        if plan and not self._reaches(plan["timeout"], log):
            self._file = ""
        if self._file:
            self._start()
            threading.Thread(target=self._watch, daemon=True).start()

    @property
    def environment(self):
        """dask_env of DamarisData."""
        return {"dask_scheduler_file": self._file, "dask_workers_name": self.name, "dask_nworkers": 1,
                "dask_threads_per_worker": self._threads}

    def _reaches(self, seconds, log):
        if not os.path.exists(self._file):
            log(f"there is no Dask scheduler: {self._file} does not exist")
            return False
        try:
            from dask.distributed import Client
            Client(scheduler_file=self._file, timeout=f"{seconds}s").close()
            return True
        except Exception as error:  # whatever it is, the script runs without
            log(f"there is no Dask scheduler by {self._file}: {type(error).__name__}: {error}")
            return False

    def _watch(self):
        """Starts it again when it has died: a script may be waiting for it. One of the same name may not quite have gone when it came."""
        while True:
            self._process.wait()
            if self._closing.wait(_PAUSE_SECONDS):
                return
            self._start()

    def _start(self):
        words = ["-m", "distributed.cli.dask_worker", "--scheduler-file", self._file, "--name", self.name, "--nthreads",
                 str(self._threads), "--no-nanny", "--no-dashboard"]
        path = os.pathsep.join(filter(None, [_MODULES, os.environ.get("PYTHONPATH")]))
        self._process = subprocess.Popen([sys.executable, *words], env={**os.environ, "PYTHONPATH": path},
                                         stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)

    def close(self):
        """What it has in memory goes to other workers of the scheduler, if there is time and one of them."""
        if self._process is None:
            return
        self._closing.set()
        retire = threading.Thread(target=self._retire, daemon=True)
        retire.start()
        retire.join(_RETIRE_SECONDS)
        self._process.terminate()
        try:
            self._process.wait(1)
        except subprocess.TimeoutExpired:
            self._process.kill()

    def _retire(self):
        try:
            from dask.distributed import Client
            with Client(scheduler_file=self._file, timeout=f"{_RETIRE_SECONDS}s") as client:
                known = client.scheduler_info()["workers"]
                client.retire_workers([address for address, worker in known.items() if worker["id"] == self.name])
        except Exception:  # the scheduler may be gone; so is then all that it knew
            return
