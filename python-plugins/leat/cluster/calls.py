# SPDX-License-Identifier: Apache-2.0
"""A call of a function of the whole run: all servers lend their blocks of an iteration, the first one of them calls the function, and
each gets its memory back when that has returned, or when the first one is gone."""
import functools
import json
import threading
import time
import traceback
import uuid

from ..scripting import reductions
from . import node

_MEETINGS = 4            # until all are workers of one scheduler: one of them may have been started anew meanwhile
_LOOK_SECONDS = 0.1      # for workers that are gone
_RELEASE_SECONDS = 2     # for the cluster to forget chunks
_PREFIX, _KEPT = "leat-chunk-", "leat-kept-"


class RunCall:
    """script: of this process, with its `cluster` or None. iteration: LiveIteration."""

    def __init__(self, script, function, iteration, context, services):
        self._script, self._function, self._iteration = script, function, iteration
        self._context, self._services = context, services
        self._token = f"{uuid.uuid4().hex[:8]}-{iteration.number}"
        self._first = None  # FirstServer, where it is made before all have met

    def __call__(self):
        """Raises what the function raises, on the first server alone."""
        cluster, is_whole = self._cluster(), False
        node.lend(self._token, self._iteration)
        try:
            said = self._meet(cluster)
            first = min(said)
            try:
                if said[first]["server_token"] == self._token:
                    self._expect_all(said)
                    with cluster.functions_by_value(self._script.module):
                        self._first_server(cluster, said).call()
            finally:
                is_whole = self._await_end(first)
        finally:
            node.end(self._token)
            if is_whole:
                self._await_release(cluster, said[first]["server_token"])
            else:
                cluster.leave()  # the one that has its scheduler is gone, or computes for too long

    def _cluster(self):
        if self._script.cluster is None:
            try:
                from .members import Cluster
            except ImportError as error:
                raise ImportError(f'arrays="dask": {error.name} is not installed in this Python: pip install "dask[distributed]"') from None
            self._script.cluster = Cluster(self._script.name, self._services.contact(), lambda text: self._services.log("info", text),
                                           self._script.dask)
        return self._script.cluster

    def _meet(self, cluster):
        """{server: what it says}: all are workers of the scheduler of the first. All servers decide the same, since all have the same."""
        from .arrays import said_of
        from .members import VERSIONS
        own = {"server_token": self._token, "versions": VERSIONS,
               "blocks": said_of(self._iteration, wanted(self._function, self._iteration)),
               "complete": bool(self._iteration.complete) and not self._is_cut_off()}
        why = ""
        for _ in range(_MEETINGS):
            own.update(scheduler=cluster.scheduler_card(), worker=cluster.worker_card(), why=why)
            said = self._gather("meet", own, lambda: self._expect_as_before(cluster, own))
            _expect_same_versions(said)
            first = said[min(said)]
            card = first["scheduler"]
            if card and card["why_none"]:
                raise ConnectionError(card["why_none"])
            if card is None:
                if first["server_token"] == self._token:
                    cluster.start_scheduler()
                continue
            if all(each["worker"] and each["worker"]["of"] == card["id"] for each in said.values()):
                return said
            try:
                cluster.join(card)
                why = ""
            except ConnectionError as error:
                why = str(error)
        lacking = {server: each["why"] or "it is not there" for server, each in said.items() if not each["worker"]}
        raise ConnectionError("the servers of the run are no cluster: " + "; ".join(f"server {s}: {text}" for s, text in lacking.items()))

    def _expect_as_before(self, cluster, own):
        """What the function is given is made while others say whether they have the same blocks as last time, and are where they were."""
        before = cluster.met.get(self._function.declaration.name)
        if before is None or own["worker"] is None or own["scheduler"] is None:
            return
        expected = {server: {**each, "complete": True} for server, each in before.items()}
        expected[min(before)] = own
        try:
            self._first = FirstServer(self._function, self._iteration, self._context, cluster, expected)
            self._first.prepare()
        except Exception:  # it comes again where it matters
            self._first = None

    def _first_server(self, cluster, said):
        first, self._first = self._first, None
        if first is None or not first.was_right(said):
            first = FirstServer(self._function, self._iteration, self._context, cluster, said)
        cluster.met[self._function.declaration.name] = said
        return first

    def _await_end(self, first):
        """The first server has called the function; False: it is gone."""
        try:
            return first in self._gather("end", "")
        except TimeoutError:
            raise TimeoutError(f"{self._function.declaration.name}, which server {first} calls, has not returned in time; this server "
                               "takes its memory back") from None

    def _expect_all(self, said):
        """Else what is missing would be taken for data."""
        missing = [str(server) for server in range(self._services.servers()) if server not in said]
        who = f"server {', '.join(missing)}" if missing else ""
        if self._is_cut_off():
            who = "the other servers of the run, without which this one goes on,"
        if who and not self._function.declaration.incomplete:
            raise RuntimeError(f"{who} gave nothing of iteration {self._iteration.number}: "
                               f"{self._function.declaration.name} is not called.{self._function.when_missing}")

    def _is_cut_off(self):
        """It has not met the others, and is all servers that it knows of."""
        return self._services.servers() == 1 and not self._services.has_all_ranks

    def _gather(self, what, words, meanwhile=None):
        """{server: what it said}"""
        data = reductions.packed(words)
        said = self._context._ask(["of run", what], [reductions.Said(data)], meanwhile)["columns"][0]
        return {server: json.loads(text[1:]) for server, text in said.items()}

    def _await_release(self, cluster, token):
        """The scheduler tells workers to forget what nobody refers to; views that are left then become copies."""
        until, prefix = time.monotonic() + _RELEASE_SECONDS, _prefix(token)
        while cluster.holds(prefix) and time.monotonic() < until:
            time.sleep(0.001)


class FirstServer:
    """Calls the function, with arrays over all servers. cluster: with client(), workers() and close_client(), plans of RunIteration, and
    has_leat: the scheduler can import it. said: {server: {"server_token", "blocks", "worker": {"address"}, "complete"}}."""

    def __init__(self, function, iteration, context, cluster, said):
        self._function, self._iteration, self._context = function, iteration, context
        self._cluster, self._said = cluster, said
        self._client = cluster.client()
        self._whole = self._given = None
        self._has_met = True  # all servers lend what is theirs
        self._futures, self._kept, self._lost, self._over = [], [], set(), threading.Event()
        self._watch = None
        self._began = time.monotonic()

    def prepare(self):
        """Makes what the function is given, which asks nobody for anything."""
        self._has_met = False
        whole, model = self._iteration_of_run(), self._iteration.model
        needed = model.coordinate_variables.union(model.variables[number].name for mesh in model.meshes for number in mesh.coordinates)
        if needed.isdisjoint(whole.names()):  # values of those are coordinates
            self._whole, self._given = whole, self._function.given(whole)

    def was_right(self, said):
        """What was expected is what they say: then it counts."""
        expected, self._said, self._has_met = self._said, said, True
        return not self._context.servers_missing and self._whole is not None and _essence(expected) == _essence(said)

    def _iteration_of_run(self):
        from .arrays import RunIteration
        whole = RunIteration(self._iteration, {server: each["blocks"] for server, each in self._said.items()}, self._submit,
                             (self._client, frozenset(self._workers())), self._name, self._cluster.plans,
                             self._function.declaration.chunks)
        whole.complete = all(each["complete"] for each in self._said.values())
        return whole

    def call(self):
        import distributed
        try:
            whole = self._whole
            if whole is None:
                whole = self._iteration_of_run()
                whole.complete = whole.complete and not self._context.servers_missing
            with self._client.as_current():
                self._function.call_with(whole, self._context, self._take_given())
                if self._futures or self._kept:
                    distributed.wait(self._futures + self._kept)  # later there is nothing to make them of
        except BaseException as error:
            if self._lost:
                raise ConnectionError(self._why_lost()) from None
            traceback.clear_frames(error.__traceback__)
            raise
        finally:
            self._over.set()
            if self._watch:
                self._watch.join()
            self._release()

    def _take_given(self):
        """So that the function has the only one."""
        given, self._given = self._given, None
        return given

    def _name(self, is_kept):
        """What names of arrays begin with."""
        return _KEPT if is_kept else _prefix(self._said[min(self._said)]["server_token"])

    def _submit(self, tasks, is_kept):
        """{key: future} of {key: (server, name, part)}: one graph, each task bound to its worker: as it stands, since graphs that are made
        better lose who is to have what. After the call it is {key: a task that is an error}."""
        from dask.highlevelgraph import HighLevelGraph, MaterializedLayer
        if not self._has_met:
            raise RuntimeError("chunks are asked for before all servers lend them")
        chunk = node.chunk if self._cluster.has_leat else _found_where_it_runs()
        if self._over.is_set():  # of no lease: who computes it gets an ExpiredError
            return {key: (functools.partial(chunk, "", name, part, is_kept),) for key, (_, name, part) in tasks.items()}
        graph, workers = {}, {}
        for key, (server, name, part) in tasks.items():
            graph[key] = (functools.partial(chunk, self._said[server]["server_token"], name, part, is_kept),)
            workers[key] = [self._said[server]["worker"]["address"]]
        layer = MaterializedLayer(graph, {"workers": workers.__getitem__, "allow_other_workers": False, "retries": 0})
        made = self._client.get(HighLevelGraph({_PREFIX: layer}, {_PREFIX: set()}), list(tasks), sync=False)
        (self._kept if is_kept else self._futures).extend(made)
        if self._watch is None:
            self._watch = threading.Thread(target=self._look_for_lost, daemon=True)
            self._watch.start()
        return dict(zip(tasks, made))

    def _workers(self):
        return {each["worker"]["address"] for each in self._said.values()}

    def _look_for_lost(self):
        """A task of a worker that is gone would wait for it for ever."""
        wanted = self._workers()
        while not self._over.wait(_LOOK_SECONDS):
            self._lost = wanted - self._cluster.workers()
            if self._lost:
                self._cluster.close_client()
                return

    def _why_lost(self):
        servers = [str(server) for server, each in self._said.items() if each["worker"]["address"] in self._lost]
        return (f"the worker of server {', '.join(servers)} was lost {time.monotonic() - self._began:.1f} s after the call began: it was "
                "killed, its node cannot be reached, or the call has taken longer than its timeout")

    def _release(self):
        self._kept = []  # whoever keeps the array has them
        futures, self._futures = self._futures, []
        for future in futures:
            future.release()


def wanted(function, iteration):
    """Names of what the iteration has for a function, and of what says where that lies."""
    there = iteration.names()
    if function.variables is None:
        return there
    return [v.name for v in (*function.variables, *function.beside) if v.name in there]


def _prefix(token):
    """Of the names of a call's arrays. token: of the first server."""
    return f"{_PREFIX}{token}-"


def _found_where_it_runs():
    """node.chunk for the scheduler of a user, which has no Leat: it goes by value."""
    def chunk(*words):
        from leat.cluster import node
        return node.chunk(*words)
    return chunk


def _essence(said):
    """What matters for what a function is given."""
    return {server: (each["blocks"], each["complete"], each["worker"]) for server, each in said.items()}


def _expect_same_versions(said):
    first = said[min(said)]["versions"]
    for server, each in said.items():
        if each["versions"] != first:
            raise RuntimeError(f"server {server} has {_text(each['versions'])}, server {min(said)} has {_text(first)}: workers of a "
                               "cluster have to be the same; <scripts interpreter=\"...\"> names one for all")


def _text(versions):
    return ", ".join(f"{name} {version}" for name, version in versions.items())
