# SPDX-License-Identifier: Apache-2.0
"""The dictionary DamarisData, by which scripts of Damaris 1.7 get all that they know.

    damaris_env     of the run: is_dedicated_node, is_dedicated_core, servers_per_node, clients_per_node, ranks_per_node,
                    cores_per_node, number_of_nodes, simulation_name, simulation_magic_number
    dask_env        dask_scheduler_file ("": there is none), dask_workers_name, dask_nworkers, dask_threads_per_worker
    iteration_data  iteration, and for each variable that the XML exposes to the script:
        numpy_data  {"P<rank>_B<block>": its array, with ghosts, read-only}
        sort_list   [["S<server>_I<iteration>_<magic number>", "P<rank>_B<block>", [first index in each dimension]]]
        type_string "_int", "_double", ...

A server of Leat stands for one of Damaris' dedicated cores: there is one on each node, with the number 0.
"""
import zlib

import numpy as np

SERVER = 0
# By the kinds of types that layouts of Damaris have; of others there is no name there.
_TYPES = {"i2": "_short", "i4": "_int", "i8": "_longint", "f4": "_float", "f8": "_double", "S1": "_char"}


def magic_number(run_id):
    """A number, as a text, that no other run has, nor this one on another node."""
    name = run_id.encode()
    return str(zlib.crc32(name) << 32 | zlib.crc32(name[::-1]))


def environment(setup):
    """damaris_env of the run that a worker was set up for."""
    clients = setup["node_ranks"]
    return {"is_dedicated_node": False, "is_dedicated_core": True, "servers_per_node": 1, "clients_per_node": clients,
            "ranks_per_node": clients + 1, "cores_per_node": clients + 1, "number_of_nodes": -(-setup["ranks"] // clients),
            "simulation_name": setup["simulation"], "simulation_magic_number": magic_number(setup["run_id"])}


def iteration_data(iteration, variables, magic):
    """Of these variables (model.Variable); one that does not vary in time is there in iteration 0 only."""
    data = {"iteration": iteration.number}
    here = set(iteration.names())
    for variable in variables:
        if variable.time_varying or iteration.number == 0:
            blocks = iteration.blocks(variable.name, include_ghosts=True) if variable.name in here else []
            data[variable.name] = _described(variable, blocks, f"S{SERVER}_I{iteration.number}_{magic}")
    return data


def _described(variable, blocks, published):
    arrays, places = {}, []
    for block in blocks:
        key = f"P{block.rank}_B{block.block}"
        arrays[key] = array = _as_numbers(block.data)
        places.append([published, key, list(block.position or (0,) * array.ndim)])
    return {"numpy_data": arrays, "sort_list": places, "type_string": _TYPES.get(variable.dtype.str[1:], "")}


def _as_numbers(array):
    """Damaris knows no scalars, and characters as numbers."""
    array = array.reshape(array.shape or (1,))
    return array.view(np.int8) if array.dtype.kind == "S" else array


def ranks_in(data):
    """Those that have written some variable of iteration_data, ascending."""
    keys = [key for name, each in data.items() if name != "iteration" for key in each["numpy_data"]]
    return sorted({int(key[1:key.index("_")]) for key in keys})
