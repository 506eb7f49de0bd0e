# SPDX-License-Identifier: Apache-2.0
"""Running sessions, watched: each by a thread that asks its server some times a second, and by one that hears what happens. Nothing here
makes a run wait, and no wait is longer than some seconds."""
import contextlib
import math
import threading
import time
from collections import deque

from .. import control
from ..names import did_you_mean
from .outputs import Outputs

_PERIOD, _RETRY, _ANSWER = 0.35, 1.0, 3.0  # seconds: between questions, after a failure, for an answer
_MOST_RUNS, _HISTORY, _NEWS = 16, 240, 60
_SLOW = 6  # questions of which each costs more are asked every so many times
_TOLD = ("failed", "dropped", "steered", "signalled", "closing")  # and the end, of which all are told


class NoOrder(Exception):
    """What was asked for is none; the text says why."""


class Runs:
    """Those that are named, or all of this node."""

    def __init__(self, names=()):
        self._names, self._all, self._lock, self._ended = list(names), {}, threading.Lock(), threading.Event()
        self._others = set()  # sessions that have said that they are none of those
        self._look()
        threading.Thread(target=self._look_again, daemon=True).start()

    def all(self):
        with self._lock:
            return list(self._all.values())

    def get(self, session):
        with self._lock:
            return self._all.get(session)

    def end(self):
        self._ended.set()
        for each in self.all():
            each.end()

    def _look_again(self):
        while not self._ended.wait(_RETRY):
            self._look()

    def _look(self):
        sessions = control.sessions()
        self._others.intersection_update(sessions)  # another run may have the name of one that has ended
        for session in sessions:
            with self._lock:
                if session in self._all or session in self._others or len(self._all) >= _MOST_RUNS:
                    continue
            if self._is_wanted(session):
                with self._lock:
                    self._all[session] = Watched(session)

    def _is_wanted(self, session):
        if not self._names or session in self._names:
            return True
        with contextlib.suppress(control.Error), control.Connection(session, _ANSWER) as connection:
            if connection.status().get("simulation") in self._names:
                return True
            self._others.add(session)
        return False


class Watched:
    """One session."""

    def __init__(self, session):
        self.session, self.outputs = session, Outputs()
        self._lock, self._ended = threading.Lock(), threading.Event()
        self._state = {"session": session, "connection": "asking"}
        self._history, self._news = deque(maxlen=_HISTORY), deque(maxlen=_NEWS)
        self._asked, self._times = {}, 0
        for work in (self._watch, self._hear):
            threading.Thread(target=work, daemon=True).start()

    def end(self):
        self._ended.set()

    def state(self):
        """All that the page shows but curves and pictures; a new dict each time."""
        with self._lock:
            return {**self._state, "history": list(self._history), "news": list(self._news)}

    def scalars(self, most):
        with self._lock:
            return self.outputs.scalars(most)

    def picture(self, title, number):
        with self._lock:
            return self.outputs.picture(title, number)

    # ---- orders, each once, over a connection of its own ----

    def set(self, name, text):
        """text: as it was typed. What the page says of it: the server tells by an event from which iteration on it holds."""
        known = {each["name"]: each for each in self.state().get("parameters", [])}
        if name not in known:
            raise NoOrder(f'there is no parameter "{name}"{did_you_mean(name, known)}')
        value = _value_of(text, known[name]["type"])
        with control.Connection(self.session, _ANSWER) as connection:
            connection.set(name, value)
        return f"{name} = {value}: accepted"

    def signal(self, event):
        with control.Connection(self.session, _ANSWER) as connection:
            connection.signal(event)
        return f"{event}: accepted"

    # ---- its threads ----

    def _watch(self):
        with control.Connection(self.session, _ANSWER) as connection:
            while not self._ended.wait(_PERIOD):
                try:
                    self._ask(connection)
                except control.Error as why:
                    self._lose(str(why))
                    self._ended.wait(_RETRY)

    def _ask(self, connection):
        asked = {**self._asked, "status": connection.status(), "metrics": connection.metrics()}
        if self._times % _SLOW == 0:
            asked.update(run=connection.run(), parameters=connection.parameters()["parameters"])
        if "describe" not in asked:
            asked["describe"] = connection.describe()
        self._times, self._asked = self._times + 1, asked
        status, metrics = asked["status"], asked["metrics"]
        with self._lock:
            self.outputs.look(status["open_files"])
            iteration = max((each["iteration"] for each in status["clients"]), default=status["iteration_done"])
            self._history.append([round(time.time(), 2), iteration, metrics["rates"]["iterations_per_second"],
                                  metrics["memory"]["used_bytes"], metrics["queue"]])
            self._state = {**asked, "session": self.session, "connection": "there", "time": time.time(), "iteration": iteration,
                           "pictures": self.outputs.listed_pictures(), "files": self.outputs.files}

    def _lose(self, why):
        """What was known is still shown."""
        is_there = self.session in control.sessions()
        with self._lock:
            has_ended = any(each["event"] == "ended" for each in self._news)
            self.outputs.look([])
            self._state = {**self._state, "connection": "ended" if has_ended or not is_there else "lost", "why": why,
                           "pictures": self.outputs.listed_pictures()}

    def _hear(self):
        while not self._ended.is_set():
            with contextlib.suppress(control.Error), control.Connection(self.session, _ANSWER) as connection:
                for event in connection.subscribe(*_TOLD, follow=False):
                    with self._lock:
                        self._news.append(event)
                    if self._ended.is_set():
                        return
            self._ended.wait(_RETRY)


def _value_of(text, kind):
    """As the parameter has it."""
    if kind == "string":
        return text
    try:
        value = int(text) if kind == "int" else float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value) or (kind == "int" and not -2**63 <= value < 2**63):
        raise NoOrder(f'"{text:.60}" is no {"whole number of 64 bits" if kind == "int" else "finite number"}')
    return value
