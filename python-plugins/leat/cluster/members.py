# SPDX-License-Identifier: Apache-2.0
"""This process in the cluster of a script: a worker of it; on the first server of the run its scheduler and its client too."""
import asyncio
import contextlib
import logging
import os
import shutil
import socket
import sys
import tempfile
import threading
import uuid

import dask
import distributed

from . import users_scheduler

# A worker that hangs is taken out by then; what is computed has the script's own time limit. Dask's profiler and its ticks take some per
# cent of a core in each process, also while nothing is computed.
_SETTINGS = {"distributed.scheduler.worker-ttl": "30 s", "distributed.comm.timeouts.connect": "10 s",
             "distributed.worker.daemon": True, "distributed.admin.tick.limit": "1 hour", "distributed.admin.tick.interval": "500 ms",
             "distributed.worker.profile.enabled": False}
_CONNECT_SECONDS = 5
VERSIONS = {"Python": ".".join(map(str, sys.version_info[:2])), "dask": dask.__version__, "distributed": distributed.__version__}


class Cluster:
    """contact: with authority, certificate and key (PEM), and addresses of this node. log(text): for people. users: of the user's own
    scheduler, or None: {"scheduler_file", "threads", "timeout"}."""

    def __init__(self, name, contact, log, users=None):
        self.name, self._contact, self._log, self._users = name, contact, log, users
        dask.config.set(_SETTINGS)
        logging.getLogger("distributed").setLevel(logging.ERROR)
        logging.getLogger("distributed.diskutils").setLevel(logging.CRITICAL)  # see join()
        own = {f"tls_{role}_{kind}": value for role in ("client", "worker", "scheduler")
               for kind, value in (("cert", contact.certificate), ("key", contact.key))}
        self._security = distributed.Security() if users else distributed.Security(tls_ca_file=contact.authority,
                                                                                    require_encryption=True, **own)
        self._threads = users["threads"] if users else len(os.sched_getaffinity(0))
        self._loop = asyncio.new_event_loop()
        threading.Thread(target=self._loop.run_forever, daemon=True, name="leat-cluster").start()
        self._scheduler = self._worker = self._client = None
        self.has_leat, self.plans = users is None, {}  # of FirstServer
        self.met = {}  # of RunCall: {name of a function that this process has called: what servers have said}
        self._card = self._of = None  # of the own scheduler; the id of the one that the worker is of

    def scheduler_card(self):
        """Where the scheduler is, for the others: {"id", "protocol", "addresses", "port", "why_none": "" or why there is none that can
        be used, which is told once}. None: it has yet to be started."""
        card = self._card
        if card and (card["why_none"] or (self._users and (self._client is None or self._client.status != "running"))):
            self._card = None
            return card if card["why_none"] else None
        return card

    def worker_card(self):
        """{"of": id of its scheduler, "address"}, or None."""
        return {"of": self._of, "address": self._worker.address} if self._is_connected() else None

    def start_scheduler(self):
        """Or finds that of the user."""
        if self._users:
            self.close_client()
            try:
                self._card, self._client = users_scheduler.found(self._users, self._security, VERSIONS)
            except users_scheduler.CannotBeUsed as why:
                self._card = {"id": "", "why_none": str(why)}
            return
        addresses = self._contact.addresses or ["127.0.0.1"]
        host = addresses[0] if len(addresses) == 1 else None
        self._scheduler = self._started(lambda: distributed.Scheduler(
            host=host, port=0, protocol="tls", security=self._security, dashboard=_has_dashboard(), dashboard_address="127.0.0.1:0"))
        self._card = {"id": uuid.uuid4().hex, "protocol": "tls", "addresses": addresses,
                      "port": int(self._scheduler.address.rpartition(":")[2]), "why_none": ""}
        self._say_dashboard()

    def _say_dashboard(self):
        port = getattr(self._scheduler, "services", {}).get("dashboard")
        if port is not None:
            host = socket.gethostname()
            self._log(f"Dask's dashboard: http://127.0.0.1:{port.port} on {host}; from elsewhere: ssh -L {port.port}:127.0.0.1:{port.port} "
                      f"{host}")

    def join(self, card):
        """Makes this process a worker of that scheduler. ConnectionError when it cannot be reached."""
        if self._of == card["id"] and self._is_connected():
            return
        self.leave()
        address, own = reached(card)
        folder = tempfile.mkdtemp(prefix="leat-dask-")
        try:
            self._worker = self._started(lambda: distributed.Worker(
                f"{card['protocol']}://{bracketed(address)}:{card['port']}", host=own, nthreads=self._threads, memory_limit=0,
                local_directory=folder, security=self._security, dashboard=False, name=f"{self.name}-{uuid.uuid4().hex[:6]}",
                death_timeout=_CONNECT_SECONDS))
        except Exception as error:
            raise ConnectionError(f"the scheduler at {address}, port {card['port']}, does not take it: {error}") from None
        finally:
            shutil.rmtree(folder, ignore_errors=True)  # nothing is ever written there, and a process that is killed leaves none
        self._of = card["id"]

    def client(self):
        """Of the scheduler, on the first server."""
        if self._client is None:
            self._client = distributed.Client(self._scheduler.address, security=self._security, timeout=_CONNECT_SECONDS)
        return self._client

    def workers(self):
        """Addresses of those that the scheduler has now."""
        if self._users:
            return users_scheduler.workers_of(self._client)
        return set(self._scheduler.workers)

    @contextlib.contextmanager
    def functions_by_value(self, module):
        """The scheduler of a user, and other workers of it, have no module of that name: what pickle finds in none goes by value."""
        hidden = sys.modules.pop(module, None) if self._users else None
        try:
            yield
        finally:
            if hidden is not None:
                sys.modules[module] = hidden

    def holds(self, prefix):
        """The own worker has chunks of arrays with such names yet."""
        return self._worker is not None and any(str(key).startswith(f"('{prefix}") for key in list(self._worker.data))

    def close_client(self):
        """Whoever waits for it, in whatever thread, waits in vain no longer: CancelledError."""
        client, self._client = self._client, None
        if client is not None:
            client.close(timeout=1)

    def leave(self):
        """At once: what the worker holds it forgets, and the rest does not wait."""
        worker, self._worker, self._of = self._worker, None, None
        if worker is not None:
            with contextlib.suppress(TimeoutError):
                asyncio.run_coroutine_threadsafe(_forget(worker), self._loop).result(0.2)
            asyncio.run_coroutine_threadsafe(_closed(worker), self._loop)

    def close(self):
        self.close_client()
        for each in (self._worker, self._scheduler):
            if each is not None:
                self._run(_closed(each))
        self._loop.call_soon_threadsafe(self._loop.stop)

    def _is_connected(self):
        return self._worker is not None and self._worker.status.name == "running"

    def _started(self, make):
        """make(): a server of Dask, which wants to be made in the loop."""
        async def started():
            return await make()
        return self._run(started())

    def _run(self, coroutine):
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result()


async def _forget(worker):
    """The connection ends first: tasks fail that miss what is gone, and that is no error of who computes them."""
    comm = worker.batched_stream.comm
    if comm is not None:
        comm.abort()
    worker.data.clear()


async def _closed(server):
    try:
        await asyncio.wait_for(server.close(), 2)
    except Exception:  # it may be gone, and so may be the other end
        pass


def reached(card):
    """(address of the scheduler that can be reached, address of this node on the way there)."""
    why = []
    for address in card["addresses"]:
        try:
            with socket.create_connection((address, card["port"]), _CONNECT_SECONDS) as there:
                return address, there.getsockname()[0]
        except OSError as error:
            why.append(f"{address}: {error.strerror or error}")
    raise ConnectionError(f"the cluster's scheduler cannot be reached at port {card['port']}: {'; '.join(why)}. `leat check --network` "
                          "says what is closed")


def bracketed(address):
    """For a URL."""
    return f"[{address}]" if ":" in address else address


def _has_dashboard():
    try:
        import bokeh  # noqa: F401
        return True
    except ImportError:
        return False
