# SPDX-License-Identifier: Apache-2.0
"""Which things in a file are what."""
import math

from h5py import h5d, h5g, h5i, h5l, h5o

from .ls_datasets import opened, says, text_of

NO_COORDINATES = "This is a netCDF dimension but not a netCDF variable"
DEEPEST = 32  # groups in groups


class Contents:
    """Names of datasets, as paths without the first "/", each in the order of the alphabet.

    variables, parameters: of the run, as their attributes say. results: {"scripts/x" or "products/y": datasets}. others: neither these,
    nor what belongs to them. iterations, complete, ledger: "" when the file has none. written: {variable: what says in which iterations
    it was}. names: {address: name} of all but those for VTK. In a file that Leat has not made all are `others`."""

    def __init__(self, file, made_by_leat):
        self._file, self._roles, self._visited, self._vtkhdf, self.names = file, {}, set(), [], {}
        self.variables, self.parameters, self.results, self.others, self.written = [], [], {}, [], {}
        self.iterations = self.complete = self.ledger = ""
        self._belonging, self._tables = set(), set()
        self._walk(h5g.open(file, b"/"), "", 0)
        if made_by_leat:
            self._sort()
        else:
            self.others = list(self._roles)

    def has(self, name):
        return name in self._roles

    def is_scale(self, name):
        return self._roles[name] == "scale"

    def _walk(self, group, prefix, depth):
        """All datasets under their first names; groups for VTK are not entered."""
        for name in names_in(group):
            thing = h5o.open(group, name.encode("utf-8", "surrogateescape"))
            if isinstance(thing, h5d.DatasetID):
                self._roles[prefix + name] = _role_of(thing)
                self.names.setdefault(h5o.get_info(thing).addr, prefix + name)
            elif h5i.get_type(thing) == h5i.GROUP:
                self._enter(thing, prefix, name, depth)

    def _enter(self, group, prefix, name, depth):
        if not prefix and name.startswith("VTKHDF"):
            self._vtkhdf.append(name)
            return
        address = h5o.get_info(group).addr
        if depth < DEEPEST and address not in self._visited:
            self._visited.add(address)
            self._walk(group, f"{prefix}{name}/", depth + 1)

    def _sort(self):
        for name, role in self._roles.items():
            if role == "variable":
                self._take_variable(name)
            elif role == "parameter":
                self.parameters.append(name)
            elif role == "ledger":
                self.ledger = name
        self.iterations = self._companion("iteration", "scale") or self._companion("iteration", "plain")
        self.complete = self._own("iteration_complete")
        for name, role in self._roles.items():
            if role in ("plain", "scale") and name not in self._belonging:
                self._take_rest(name, role)

    def _companion(self, name, role="plain"):
        """A name that a variable had already has "_" behind it."""
        while name in self._roles:
            if self._roles[name] == role:
                self._belonging.add(name)
                return name
            name += "_"
        return ""

    def _own(self, name):
        """One of the store's own tables, which lie in a group."""
        return next(filter(None, (self._companion(group + name) for group in ("leat/", "leat_/", "leat__/"))), "")

    def _take_variable(self, name):
        self.variables.append(name)
        for suffix in ("_count", "_extent", "_stored"):
            self._companion(name + suffix)
        table = text_of(opened(self._file, name), b"leat_blocks")
        if table and table not in self._tables:
            self._tables.add(table)
            for suffix in ("_rank", "_number", "_iteration", "_count", "_level", "_lo"):
                self._companion(table + suffix)
        for suffix in ("_global", "_region"):
            self._own(name + suffix)
        written = self._own(name + "_written")
        if written:
            self.written[name] = written

    def _take_rest(self, name, role):
        parts = name.split("/")
        if parts[0] not in ("scripts", "products") or len(parts) < 3:
            self.others.append(name)
        elif role == "plain":
            self.results.setdefault("/".join(parts[:2]), []).append(name)

    def vtkhdf_facts(self):
        groups = []
        for name in self._vtkhdf:
            group = h5g.open(self._file, name.encode("utf-8", "surrogateescape"))
            inner = names_in(group)
            first = "Level0" if "Level0" in inner else ""  # an amr mesh: all levels have the same
            arrays = _arrays_in(h5g.open(group, b"Level0") if first else group)
            for mesh in inner:  # a collection has a group for each mesh
                thing = h5o.open(group, mesh.encode("utf-8", "surrogateescape"))
                if h5i.get_type(thing) == h5i.GROUP and says(thing, b"Type"):
                    arrays += [f"{mesh}/{array}" for array in _arrays_in(thing)]
            groups.append({"name": name, "type": text_of(group, b"Type"), "arrays": arrays})
        return groups

    def space(self, size, structures):
        """Of the file's bytes each is counted once. Chunks have room behind the last row; what is compressed fills its own. structures:
        bytes of those, None where HDF5 cannot say."""
        if structures is None:
            return None
        users = {*self.variables, *self.parameters, *self.others, *(name for of_one in self.results.values() for name in of_one)}
        space = {"values": 0, "tables": 0, "room": 0, "structures": structures}

        def count(name):
            thing = h5o.open(self._file, name)
            creation = thing.get_create_plist() if isinstance(thing, h5d.DatasetID) else None
            if creation is None or creation.get_layout() == h5d.VIRTUAL:
                return
            stored, is_filtered = thing.get_storage_size(), creation.get_nfilters() > 0
            filled = stored if is_filtered else min(stored, math.prod(thing.shape) * thing.get_type().get_size())
            space["room"] += stored - filled
            space["values" if self.names.get(h5o.get_info(thing).addr) in users else "tables"] += filled

        h5o.visit(self._file, count)
        return {**space, "rest": max(0, size - sum(space.values()))}


def names_in(group):
    """Of things that are in the file itself, in the order of the alphabet."""
    found = []
    group.links.iterate(lambda name, about: found.append(name) if about.type == h5l.TYPE_HARD else None, info=True)
    return sorted(name.decode("utf-8", "surrogateescape") for name in found)


def _role_of(dataset):
    for attribute, role in ((b"leat_layout", "variable"), (b"leat_parameter", "parameter"), (b"leat_ledger", "ledger")):
        if says(dataset, attribute):
            return role
    if text_of(dataset, b"CLASS") != "DIMENSION_SCALE":
        return "plain"
    return "dimension" if text_of(dataset, b"NAME").startswith(NO_COORDINATES) else "scale"


def _arrays_in(group):
    kinds = [kind for kind in ("PointData", "CellData", "FieldData") if kind in names_in(group)]
    return [name for kind in kinds for name in names_in(h5g.open(group, kind.encode()))]
