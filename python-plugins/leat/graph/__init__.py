# SPDX-License-Identifier: Apache-2.0
"""Dataflow graphs: programs that are connected to a simulation, and to each other, from one description in Python.

    import leat.graph as g

    sim = g.simulation("heat.xml")
    stats = g.module("stats", run="./stats", inputs=["u"], outputs={"profile": "K"})
    view = g.module("view", run="./viewer", inputs=["u", "profile"], outputs=["camera"])
    g.connect(sim.u, stats.u)
    g.connect(sim.u, g.latest(rate="30 Hz"), view.u)
    g.connect(stats.profile, view.profile)
    g.connect(view.camera, sim.parameter("camera"))
    g.run()

Such a file makes a plan, which the servers of a run carry out; nothing is compiled again. `leat graph` checks it,
draws it, and runs a simulation with it. What the programs do in their turns is said in `leat.module`.

An input that nothing is connected to takes the output or variable of its name, where there is one. Mistakes are told with the
line of the file, all at once, when the plan is made.
"""
from .assemble import connect, copies, module, run, simulation
from .parts import GraphError, port
from .patterns import gather, in_order, redistribute, reduce, round_robin, scatter
from .policies import every, fifo, greedy, latest, rate, sample, tokens, when

__all__ = ["simulation", "module", "copies", "connect", "port", "run", "GraphError",
           "fifo", "latest", "greedy", "rate", "every", "sample", "when", "tokens",
           "reduce", "gather", "scatter", "round_robin", "in_order", "redistribute"]
