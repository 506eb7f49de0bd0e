# SPDX-License-Identifier: Apache-2.0
"""All steps of a file in XDMF 2. A step is an iteration in which something of a mesh was written, as in /VTKHDF; several meshes are a
collection in each."""
from . import reading
from .reading import CannotRead
from .xdmf_items import escaped, why_no_name
from .xdmf_meshes import collection, make_mesh

LONGEST_SILENCE = 60  # seconds of processor time
# vtkXdmfReader takes steps that are nearer to each other in time for the same one, and gives times to ParaView in the order of the
# steps, where they must ascend.
LEAST_DIFFERENCE = 1e-15


def head_of(name):
    """What makes it one of ours, and of this file."""
    said = f"Leat has made this of {name}, for tools that do not read VTKHDF."
    while "--" in said:  # XML 1.0, section 2.5, "Comments"
        said = said.replace("--", "_-", 1)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n<!-- {said} -->\n'


class Document:
    """rows: of its steps. left_out: what it does not show."""

    def __init__(self, stored, name):
        if why_no_name(name):
            raise CannotRead(f"XDMF cannot refer to {name}: {why_no_name(name)}")
        self._stored, self._name, self.left_out = stored, name, set()
        self._meshes, count = self._shown_meshes()
        self._is_collection = count > 1
        self.rows = [row for row in range(len(stored.numbers)) if any(mesh.written[row] for mesh in self._meshes)]
        times = stored.times()
        if any(times[after] - times[row] < LEAST_DIFFERENCE for row, after in zip(self.rows, self.rows[1:])):
            times = stored.numbers.astype("f8")
            self.left_out.add("times, which do not ascend, or are nearer to each other than tools can tell: the numbers of iterations "
                              "stand for them")
        self._times = times

    def _shown_meshes(self):
        """And how many there are: whether they are a collection follows from the run, as tools are not to meet another kind of data when
        a mesh comes later than others."""
        meshes, count = [], 0
        for number, said in enumerate(self._stored.meshes):
            if not self._stored.variables_on(said):
                continue
            try:
                mesh = make_mesh(self._stored, number, self.left_out)
            except CannotRead as why:
                self.left_out.add(f'mesh "{said.name}": {why}')
                continue
            meshes += [mesh] if mesh else []
            count += 1
        return meshes, count

    def parts(self):
        """Its text, piece by piece: a run of many iterations has more of it than memory should hold."""
        yield head_of(self._name) + '<Xdmf Version="2.0"><Domain>\n'
        yield from (mesh.shared() for mesh in self._meshes)
        yield f'<Grid Name="{escaped(self._stored.simulation)}" GridType="Collection" CollectionType="Temporal">\n'
        for row in self.rows:
            reading.expect_life(LONGEST_SILENCE)
            yield self._step(row, self._times[row]) + "\n"
        yield "</Grid></Domain></Xdmf>\n"

    def _step(self, row, time):
        grids = "".join(mesh.step(row, self._is_collection, time, self._name) for mesh in self._meshes)
        return collection("meshes", False, time, grids) if self._is_collection else grids
