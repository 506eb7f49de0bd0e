# SPDX-License-Identifier: Apache-2.0
"""What can be said of one file, as docs/reference/leat-ls.md has it."""
import os

import h5py

from . import reading
from .ls_contents import Contents
from .ls_datasets import (
    facts_of_dataset,
    integers_in,
    is_list_of_texts,
    number_of,
    opened,
    says,
    text_of,
    type_name,
    value_in,
)

MOST_SECONDS = 10   # of processor time for a file, and then for each thousand variables; some hundredths are usual
MOST_LISTED = 1000  # iterations that are not complete


class FileFacts:
    """An open file. It is sorted out which of its datasets are what: names are paths without the first "/"."""

    def __init__(self, path):
        try:
            self._file = h5py.h5f.open(os.fsencode(path), h5py.h5f.ACC_RDONLY)
        except OSError as error:
            raise OSError(f"HDF5 cannot open it: {error}") from None
        self._root = h5py.h5g.open(self._file, b"/")
        self._text = lambda name: text_of(self._root, name)
        self._number = lambda name, otherwise=0: number_of(self._root, name, otherwise)
        self.made_by_leat = says(self._root, b"leat_version")
        self.lost = self._number(b"lost") if says(self._root, b"lost") else None
        self.layout = "damaris" if self._text(b"leat_layout") == "damaris" else "leat" if self.made_by_leat else ""
        self._contents = Contents(self._file, self.made_by_leat)
        self._rows = 0

    def state_without_writer(self):
        """The last thing that a store writes is the ledger, or that others come behind this one; a file of one iteration is whole since it
        has its name."""
        is_closed = self.lost is not None or self._number(b"leat_finished") == 1
        return "closed" if not self.made_by_leat or self.layout == "damaris" or is_closed else "unclosed"

    def brief(self):
        return {"made_by_leat": self.made_by_leat, "layout": self.layout, "simulation": self._text(b"simulation"),
                "split": self._text(b"leat_split"), "session": self._text(b"session"),
                "ranks": self._number(b"ranks"), "leat_version": self._text(b"leat_version"),
                "lost": self.lost, "iterations": self._iterations(), "variable_count": self._variable_count()}

    def details(self, size, inside):
        of = self._contents
        variables = [self._variable(name) for name in self._with_time(of.variables)]
        others = [{**self._dataset(name), "is_coordinate": self.made_by_leat and of.is_scale(name)} for name in self._with_time(of.others)]
        return {"variables": sorted(variables, key=lambda each: each["number"]), "others": others, "scripts": self._made_in("scripts"),
                "products": self._made_in("products"), "parameters": [self._parameter(name) for name in of.parameters],
                "vtkhdf": of.vtkhdf_facts(), "space": of.space(size, inside.get("structures")), "ledger": self._ledger()}

    @staticmethod
    def _with_time(names):
        for number, name in enumerate(names):
            if number % 1000 == 0:
                reading.expect_life(MOST_SECONDS)
            yield name

    def _open(self, name):
        return opened(self._file, name)

    def _dataset(self, name):
        return facts_of_dataset(self._file, name, self._contents.names)

    def _variable_count(self):
        """In a file of a single iteration a variable has a dataset for each block."""
        if self.layout != "damaris":
            return len(self._contents.variables)
        return len({number_of(self._open(name), b"leat_number") for name in self._contents.variables})

    def _iterations(self):
        of = self._contents
        if self.layout == "damaris":
            numbers, complete = [self._number(b"iteration")], [self._number(b"iteration_complete", 1)]
        elif not of.iterations:
            return None
        else:
            numbers = integers_in(self._open(of.iterations)).tolist()
            complete = integers_in(self._open(of.complete), len(numbers)).tolist() if of.complete else []
        self._rows = len(numbers)
        incomplete = [number for number, whole in zip(numbers, complete) if not whole]
        steps = {after - number for number, after in zip(numbers, numbers[1:])}
        return {"count": len(numbers), "first": min(numbers, default=None), "last": max(numbers, default=None),
                "step": steps.pop() if len(steps) == 1 else None, "incomplete_count": len(incomplete),
                "incomplete": incomplete[:MOST_LISTED]}

    def _variable(self, name):
        dataset, written = self._open(name), self._contents.written.get(name)
        rows = int((integers_in(self._open(written), self._rows) == 1).sum()) if written else self._rows
        return {**self._dataset(name), "number": number_of(dataset, b"leat_number"), "layout": text_of(dataset, b"leat_layout"),
                "of_blocks": says(dataset, b"leat_blocks"), "iterations": None if says(dataset, b"leat_constant") else rows}

    def _parameter(self, name):
        dataset = self._open(name)
        return {"name": text_of(dataset, b"leat_parameter"), "type": "text" if is_list_of_texts(dataset) else type_name(dataset.get_type()),
                "last": value_in(dataset, self._rows - 1) if self._rows else None}

    def _made_in(self, root):
        """What the scripts, or the plugins, of the run made."""
        found = []
        for group, datasets in sorted(self._contents.results.items()):
            if not group.startswith(root + "/"):
                continue
            numbers = f"{group}/iteration"
            rows = len(integers_in(self._open(numbers))) if self._contents.has(numbers) else 0
            results = []
            for each in datasets:
                facts = {**self._dataset(each), "name": each[len(group) + 1:]}
                facts["last"] = value_in(self._open(each), rows - 1) if len(facts["shape"]) == 1 and rows else None
                results.append(facts)
            found.append({"name": group.partition("/")[2], "iterations": rows, "results": results})
        return found

    def _ledger(self):
        """Its text, for who understands it."""
        if not self._contents.ledger:
            return None
        dataset = self._open(self._contents.ledger)
        kind = dataset.get_type()
        if kind.get_class() != h5py.h5t.STRING or kind.is_variable_str():
            return None
        return h5py.Dataset(dataset)[()].tobytes().decode("utf-8", "replace")
