# SPDX-License-Identifier: Apache-2.0
"""A run of some ranks that write u and v, parts of global arrays along x with a layer of ghosts, and what NumPy makes of them."""
import h5py
import numpy as np
from arrays_run import write_arrays
from leat_run import xml

NY, NX = 7, 12
DATA = f"""<parameter name="t" type="double"/><parameter name="k" type="double" value="2.5"/>
<parameter name="width" type="int"/>
<layout name="cells" type="double" dimensions="{NY},{{width}}" global="{NY},{NX}" ghosts="0:0,1:1" names="y,x"/>
<layout name="rows" type="float" dimensions="{NY}" names="y"/>
<layout name="counts" type="int32" dimensions="{NY},{{width}}" global="{NY},{NX}" ghosts="0:0,1:1" names="y,x"/>
<layout name="one" type="double" dimensions=""/>
<variable name="u" layout="cells" unit="m/s" store="out"/><variable name="v" layout="cells" store="out"/>
<variable name="n" layout="counts" store="out"/><variable name="depth" layout="rows" time-varying="false" store="out"/>
<variable name="dt" layout="one" store="out"/>"""


def fields(iterations, seed=1):
    """{name: array over (iteration, y, x)}"""
    random = np.random.default_rng(seed)
    shape = (iterations, NY, NX)
    return {"u": random.normal(size=shape), "v": random.normal(size=shape) * 1e3, "n": random.integers(-9, 9, shape).astype("i4")}


def by_rank(whole, ranks, times=None, more=()):
    """What write_arrays() takes. Ghosts are other numbers than what is in the array. more: ((variable, iteration), array) of each rank."""
    own = NX // ranks
    all_ranks = []
    for rank in range(ranks):
        arrays = {}
        for name, array in whole.items():
            arrays[name, "position"] = np.array([0, rank * own])
            for i, values in enumerate(array):
                arrays[name, i] = np.pad(values[:, rank * own:(rank + 1) * own], ((0, 0), (1, 1)), constant_values=77)
        for i, time in enumerate(times if times is not None else ()):
            arrays["=t", i] = np.array(time)
        arrays.update(more)
        all_ranks.append(arrays)
    return all_ranks


def text(derived, ranks, time=False, sync=False, **more):
    """sync: ranks wait for the stores in each iteration, so that a server that is killed has a successor in the next one."""
    data = DATA.replace("{width}", str(NX // ranks + 2)) + derived + ('<time parameter="t" unit="s"/>' if time else "")
    made = xml(data, **more)
    return made.replace("<dedicated", '<dedicated mode="sync"') if sync else made


def run(folder, derived, whole, ranks=2, times=None, more=(), after=None, **settings):
    return write_arrays(folder, text(derived, ranks, times is not None, **settings), by_rank(whole, ranks, times, more), after)


def stored(folder, name, file="run.h5"):
    with h5py.File(folder / file) as opened:
        return opened[name][:]
