# SPDX-License-Identifier: Apache-2.0
"""One run as its servers write it: the same blocks given to a plugin on one node, and to plugins on several."""
import subprocess

import h5py
from leat_plugin import Plugin
from leat_run import BUILD


class Nodes:
    """nodes: lists of ranks. each: Plugin arguments. wrappers: of each, Plugin's. The parts and the view are in `folder`."""

    def __init__(self, folder, variables, nodes, session="s1", wrappers=None, **each):
        folder.mkdir(exist_ok=True)
        self.folder, self.nodes = folder, nodes
        ranks = sum(len(node) for node in nodes)
        self.plugins = [Plugin(folder, variables, ranks=ranks, node_ranks=len(node), first_rank=min(node), session=session,
                               wrapper=wrapper, begin=False, **each)
                        for node, wrapper in zip(nodes, wrappers or [()] * len(nodes))]
        for plugin in self.plugins:
            plugin.begin()
        for plugin in self.plugins:
            plugin.opened = plugin.answer()
        assert not any(plugin.opened for plugin in self.plugins), [plugin.opened for plugin in self.plugins]

    def block(self, *arguments, **more):
        return self.plugins[0].block(*arguments, **more)

    def must(self, number, *blocks, but=(), **more):
        """Each server gets the blocks of its ranks. but: places of servers that miss the iteration."""
        for place, (node, plugin) in enumerate(zip(self.nodes, self.plugins)):
            own = [block for block in blocks if block["rank"] in node]
            if own and place not in but:
                plugin.must(number, *own, **more)

    def finish(self, but=()):
        return "".join(plugin.finish() for place, plugin in enumerate(self.plugins) if place not in but)


def leat(*words, cwd=None):
    return subprocess.run([BUILD / "bin/leat", *map(str, words)], capture_output=True, text=True, cwd=cwd, timeout=120)


def values(path, skip=("parts", "VTKHDF")):
    """{dataset: (type, shape, bytes, attributes, names of dimensions)}: what h5py's users see.

    Not /VTKHDF: it has no data of its own, its arrays are virtual with room for 2^31 iterations, which nobody reads as a whole,
    and what VTK reads of them is compared in test_vtkhdf_views.py."""
    seen = {}

    def note(name, found):
        if name in skip:
            return
        if isinstance(found, h5py.Group):  # not visititems(): that shows an object under one of its names only
            for inner in found:
                note(f"{name}/{inner}".lstrip("/"), found[inner])
            return
        if found.attrs.get("CLASS") == b"DIMENSION_SCALE" and found.attrs["NAME"].startswith(b"This is a netCDF"):
            return
        attributes = {k: v.tobytes() if hasattr(v, "tobytes") else v for k, v in found.attrs.items()
                      if k not in ("DIMENSION_LIST", "REFERENCE_LIST", "DIMENSION_LABELS")}
        names = [(dim.label, [scale.name for scale in dim.values()]) for dim in found.dims]
        seen[name] = (found.dtype, found.shape, found[()].tobytes(), attributes, names)

    with h5py.File(path) as file:
        note("", file)
        seen["/"] = {k: v for k, v in file.attrs.items() if k not in ("leat_parts", "session", "history")}
    return seen


def expect_same_values(got, wanted):
    got, wanted = values(got), values(wanted)
    assert sorted(got) == sorted(wanted)
    for name in wanted:
        assert got[name] == wanted[name], name
