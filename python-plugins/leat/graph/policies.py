# SPDX-License-Identifier: Apache-2.0
"""What becomes of messages on their way through a connection. Several may be given: g.connect(sim.u, g.every(10), g.latest(), view.u)."""
import re
from dataclasses import dataclass, replace

from .parts import refuse

DEPTH = 4
_RATE = re.compile(r"\s*([0-9.]+(?:[eE][+-]?[0-9]+)?)\s*(?:Hz)?\s*")


@dataclass(frozen=True)
class Policy:
    depth: int = 0  # none is said
    latest: bool = False
    greedy: bool = False
    rate: float = 0.0
    every: int = 1
    offset: int = 0
    sample: float = 1.0
    when: str = ""
    tokens: int = 0

    def with_(self, other):
        """Both together: what the other says goes before."""
        usual = Policy()
        said = {name: value for name, value in vars(other).items() if value != getattr(usual, name)}
        return replace(self, **said)


def fifo(n=DEPTH):
    """Nothing is left out. At most n messages wait; then their source waits for its next turn. What the simulation writes waits in the
    buffer. This is how a connection is where nothing else is said."""
    if n < 1:
        refuse(f"fifo({n}): one message has to have room")
    return Policy(depth=n)


def latest(rate=None):
    """Of what comes while the module is busy the newest is kept, and takes the place of the one before. rate: as rate()."""
    return Policy(latest=True, rate=0.0 if rate is None else _per_second(rate))


def rate(per_second):
    """At most so many a second: 30, or "30 Hz". What comes between is left out."""
    return Policy(rate=_per_second(per_second))


def greedy():
    """The port never waits: it has the newest message that its source has made, of whatever iteration, or none. Another port of the
    module says when it has its turn."""
    return Policy(greedy=True)


def every(k, offset=0):
    """Iterations that give `offset` when divided by k."""
    if k < 1 or not 0 <= offset < k:
        refuse(f"every({k}, offset={offset}): k is at least 1, and the offset is below it")
    return Policy(every=k, offset=offset)


def sample(share):
    """This share of all iterations, spread evenly, and the same ones in each run."""
    if not 0 < share <= 1:
        refuse(f"sample({share}): a share is above 0, and 1 is all")
    return Policy(sample=share)


def when(condition):
    """Messages of which the condition is true. It may name `iteration`, `time`, parameters of the simulation, and stamps that the source
    declares (see port()), as in
    "time > 0.5 && iteration % 10 == 0"; see https://beltoforion.de/en/muparser/features.php for what else there is."""
    return Policy(when=condition)


def tokens(n=1):
    """The port has the message of n iterations before, and none in the first n: what a loop needs. Where its source has made none of
    that iteration, it has the last one before."""
    if n < 1:
        refuse(f"tokens({n}): a loop needs at least one")
    return Policy(tokens=n)


def _per_second(told):
    found = _RATE.fullmatch(str(told))
    value = float(found[1]) if found else 0
    if value <= 0:
        refuse(f'a rate is a number above 0 of messages a second, like "30 Hz"; not "{told}"')
    return value


def together(policies):
    policy = Policy()
    for each in policies:
        policy = policy.with_(each)
    return policy
