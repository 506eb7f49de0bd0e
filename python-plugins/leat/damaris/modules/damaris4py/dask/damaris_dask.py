# SPDX-License-Identifier: Apache-2.0
"""damaris4py.dask.damaris_dask: shorthands for DamarisData, and its blocks as one array of Dask."""
import numpy as np

__all__ = ["return_scheduler_filename", "return_iteration", "return_magic_number", "return_scalar_from_position",
           "return_numpy_array", "return_dask_array"]


def return_scheduler_filename(DamarisData):
    """The file by which the scheduler is found; "" where there is none."""
    return DamarisData["dask_env"]["dask_scheduler_file"]


def return_iteration(DamarisData):
    return DamarisData["iteration_data"]["iteration"]


def return_magic_number(DamarisData):
    """A text that no other run has."""
    return DamarisData["damaris_env"]["simulation_magic_number"]


def return_numpy_array(DamarisData, varname, client_rank=0, block_number=0):
    """A block; None where that rank has not written it."""
    found = DamarisData["iteration_data"].get(varname)
    return found["numpy_data"].get(f"P{client_rank}_B{block_number}") if found else None


def return_scalar_from_position(DamarisData, varname, pos=(0), client_rank=0, block_number=0):
    """One value of a block; None where there is none."""
    array = return_numpy_array(DamarisData, varname, client_rank, block_number)
    try:
        return None if array is None else array[pos]
    except IndexError as error:
        print("damaris4py: IndexError:", error)
        return None


def return_dask_array(DamarisData, client, varname, server_comm, print_array_component=False):
    """All blocks of a variable as one dask.array, by their places. They are published too, as the dataset that sort_list names,
    with copies: the memory of blocks ends with the iteration."""
    found = DamarisData["iteration_data"].get(varname)
    if found is None or not found["numpy_data"]:
        print(f'damaris4py: there is nothing of "{varname}" in this iteration')
        return None
    from .damaris_stats import publish
    arrays = {key: np.array(array) for key, array in found["numpy_data"].items()}
    publish(client, found["sort_list"][0][0], arrays)
    places = {tuple(place): arrays[key] for _, key, place in found["sort_list"]}
    array = _array_of(places, varname)
    if print_array_component:
        print(f"{varname}: {array}")
    return array


def _array_of(places, varname):
    """Of {first index: array}, which have to fill a grid."""
    import dask.array
    steps = [sorted(set(axis)) for axis in zip(*places)]
    if int(np.prod([len(axis) for axis in steps])) != len(places):
        raise ValueError(f'the {len(places)} blocks of "{varname}" fill no grid: set their places with damaris_set_position')

    def nested(begin, rest):
        if not rest:
            array = places[begin]
            return dask.array.from_array(array, chunks=array.shape)
        return [nested((*begin, place), rest[1:]) for place in rest[0]]
    return dask.array.block(nested((), steps))
