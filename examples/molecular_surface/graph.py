# SPDX-License-Identifier: Apache-2.0
"""The surface of a molecule while LAMMPS moves it: density grids of the atoms of each rank, their sum, its isosurface, a picture a second.

    leat graph graph.py -- mpirun -n 2 leat_lammps --every 5 surface.xml in.peptide
    leat ctl SESSION set isovalue=0.05
"""
import leat.graph as g

sim = g.simulation("surface.xml")
grid = {"cells": [36, 36, 54], "box": [[34.0, 55.0], [43.0, 64.0], [26.5, 58.0]], "water": [13, 14]}

grids = g.copies(2, "grid", run="python3 density.py", inputs={"x": "angstrom", "type": ""}, outputs=["density"], options=grid)
g.scatter(sim.x, [each.x for each in grids])
g.scatter(sim.type, [each.type for each in grids])

whole = g.reduce([each.density for each in grids], op="sum", over="run", name="whole")
surface = g.module("surface", run="python3 surface.py", inputs=["density"], outputs=["area"], options=grid)
g.connect(whole, g.latest(rate="1 Hz"), surface.density)
g.run()
