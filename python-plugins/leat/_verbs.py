# SPDX-License-Identifier: Apache-2.0
"""What one may ask of a running session, a method each; docs/reference/leat-ctl.md says what each answer has.

Made by lib/control/generate_verbs.py of verbs.def: change that."""


class Verbs:
    """A fact is asked for with _ask, an order is given with _order."""

    def describe(self):
        """What the XML says, as JSON. Variables, parameters, meshes and stores, as the XML declares them."""
        return self._ask("describe")

    def drain(self):
        """Take nothing more, store what is there, end. The simulation goes on without Leat; what it writes from now on is not
        stored."""
        return self._order("drain")

    def graph(self):
        """The modules of graphs, and how they do. What each takes from whom, its turns, what was left out and what failed."""
        return self._ask("graph")

    def graph_add(self, file):
        """Add the modules of a plan to the graph of the run. Those that are there already are replaced. The plan of the run is
        written anew; all its servers follow it."""
        return self._order("graph-add", file=file)

    def graph_remove(self, module):
        """Take a module out of the graph of the run. It ends after its turn. Modules that take what it makes have no turns any
        more."""
        return self._order("graph-remove", module=module)

    def ledger(self):
        """What became of everything written, as JSON. As <simulation>.ledger.json has it, at most two seconds old."""
        return self._ask("ledger")

    def metrics(self):
        """Rates, memory, stores and scripts."""
        return self._ask("metrics")

    def parameters(self):
        """Values that parameters have now. As this server's first rank has them in its iteration: from the XML, set by the
        simulation, or steered."""
        return self._ask("parameters")

    def reload_scripts(self):
        """Load all scripts anew. Also those that were given up."""
        return self._order("reload-scripts")

    def run(self):
        """How all servers of the run do. What each said when it was last asked, age_seconds ago; this request asks them
        anew."""
        return self._ask("run")

    def set(self, parameter, value, scope=None):
        """Give a parameter a value. All ranks of the run have it from the same iteration on, which the event "steered" tells.
        With scope "node" the ranks of this server have it, whatever the others do."""
        return self._order("set", parameter=parameter, value=value, scope=scope)

    def signal(self, signal):
        """Let an event happen. Once, in the next iteration, whatever its scope; the event "signalled" tells in which."""
        return self._order("signal", signal=signal)

    def status(self):
        """How far the run is. Ranks, buffer, stores, iterations."""
        return self._ask("status")

    def stop(self):
        """End as at SIGTERM. What ranks write within half of the grace is taken, then everything is stored and the server
        ends."""
        return self._order("stop")
