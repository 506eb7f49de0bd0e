# SPDX-License-Identifier: Apache-2.0
"""The definitions of one context: elements by their ids, what each inherits, and the shape of grids."""

import re
from dataclasses import dataclass, field

from ..names import identifier
from . import tables
from .report import Wrong, nearest
from .tree import Element

_REFERENCES = {kind: f"{kind}_ref" for kind in ("field", "axis", "domain", "scalar", "grid")}
_OF_GRID = ("grid_ref", "domain_ref", "axis_ref", "scalar_ref")
# Not handed down: what an element is itself, and the words that say where it stands.
_OWN = {"id", "expr", "field_ref", "group_ref", "src", *_OF_GRID}
_MOST_REFERENCES = 100


@dataclass
class Part:
    """A domain, an axis or a scalar of a grid. Dimensions as an array in Fortran has them, each (name, size) with the size as text."""

    kind: str
    dimensions: list = field(default_factory=list)
    transformations: list = field(default_factory=list)  # elements, in the order in which they are done


@dataclass
class Grid:
    """What a field lies on."""

    name: str
    parts: list = field(default_factory=list)
    is_known: bool = True

    @property
    def dimensions(self):
        return [each for part in self.parts for each in part.dimensions]

    @property
    def is_transformed(self):
        return any(part.transformations for part in self.parts)


class Definitions:
    def __init__(self, context, report):
        self.context, self.report = context, report
        self.by_id = {kind: {} for kind in tables.KINDS}
        self.groups = {kind: {} for kind in tables.KINDS}
        self.sizes = {}  # of parameters that the program sets: name to where its axis stands
        self._collect(context)
        self._inherited = {}

    def _collect(self, element):
        for child in list(element.children):
            self._collect(child)
            kind = tables.kind_of(child.tag)
            if not child.id or kind not in tables.KINDS or kind == "variable":
                continue
            known = self.groups[kind] if child.tag != kind else self.by_id[kind]
            first = known.setdefault(child.id, child)
            if first is not child and first is not element:
                self._join(first, child, element)

    def _join(self, first, again, parent):
        """As XIOS: what is said later of the same id counts, and is put to what was there."""
        first.attributes.update(again.attributes)
        first.text = first.text.strip() and first.text or again.text
        for child in again.children:
            child.parent = first
        first.children += again.children
        parent.children = [each for each in parent.children if each is not again]

    def parameters(self):
        """The variables of the context itself, for the program: name to (type, value)."""
        found = {}
        for definition in self.context.children:
            if tables.kind_of(definition.tag) == "variable":
                for each in [definition, *definition.within()]:
                    if each.tag == "variable" and each.id:
                        found[each.id] = ((each.get("type") or "string").strip(), each.text.strip())
        return found

    def referred(self, element, kind=None):
        """What <kind>_ref="..." of an element names; None without."""
        kind = kind or element.tag
        name = element.get(_REFERENCES[kind])
        if not name:
            return None
        found = self.by_id[kind].get(name)
        if found is None:
            raise Wrong(element.place, f'{kind}_ref="{name}": there is no <{kind}> with this id' + nearest(name, self.by_id[kind]))
        return found

    def levels(self, element):
        """The attributes of an element, of the groups that it stands in, and of those that these name: the nearest first."""
        kind, now, count = tables.kind_of(element.tag), element, 0
        while now is not None and tables.kind_of(now.tag) == kind:
            yield now.attributes
            name = now.get("group_ref")
            named = self.groups[kind].get(name) if now is not element or now.tag != kind else None
            if named is not None and named is not now and count < _MOST_REFERENCES:
                count += 1
                yield from (each.attributes for each in self._named_chain(named, kind))
            now = now.parent

    def _named_chain(self, group, kind):
        chain = []
        while group is not None and group not in chain:
            chain.append(group)
            group = self.groups[kind].get(group.get("group_ref"))
        return chain

    def inherited(self, element, under_way=()):
        """All attributes that count for it: its own, of its groups, and of what it refers to."""
        if element in self._inherited:
            return self._inherited[element]
        if element in under_way:
            names = " -> ".join(f'"{each.id}"' for each in (*under_way[under_way.index(element):], element))
            raise Wrong(element.place, f"{element.tag}s refer to each other in a circle: {names}")
        made = {}
        for level in self.levels(element):
            for name, value in level.items():
                if level is element.attributes or name not in _OWN:
                    made.setdefault(name, value)
        base = self.referred(element) if tables.kind_of(element.tag) in _REFERENCES else None
        if base is not None:
            for name, value in self.inherited(base, (*under_way, element)).items():
                if name not in _OWN:
                    made.setdefault(name, value)
        self._inherited[element] = made
        return made

    def grid_of(self, element):
        """The grid of a field, or None when nothing says it; of what it refers to when it says none itself."""
        seen = []
        while element is not None and element not in seen:
            seen.append(element)
            found = {}
            for level in self.levels(element):
                if "grid_ref" in level and not found:
                    return self._grid(level["grid_ref"], element)
                for name in _OF_GRID[1:]:
                    if name in level:
                        found.setdefault(name, level[name])
            if found:
                return self._grid_of_parts(found, element)
            element = self.referred(element)
        return None

    def says_grid(self, element):
        return any(name in level for level in self.levels(element) for name in _OF_GRID)

    def _grid(self, name, asked):
        element = self.by_id["grid"].get(name)
        if element is None:
            self.report.warn(asked.place, f'grid_ref="{name}": there is no <grid> with this id' + nearest(name, self.by_id["grid"]))
            return Grid(name, [Part("axis", [(f"{name}_0", "?")])], is_known=False)
        grid = Grid(name)
        parts = [each for each in element.children if each.tag in ("domain", "axis", "scalar")]
        for kind in ("domain", "axis", "scalar"):  # as versions before 2.0 had it
            if element.get(f"{kind}_ref") and not parts:
                self._add_part(grid, kind, element.get(f"{kind}_ref"), element)
        for each in parts:
            self._add(grid, each)
        return grid

    def _grid_of_parts(self, found, asked):
        grid = Grid("_".join(found[name] for name in _OF_GRID[1:] if name in found))
        for kind in ("domain", "axis", "scalar"):
            if f"{kind}_ref" in found:
                self._add_part(grid, kind, found[f"{kind}_ref"], asked)
        return grid

    def _add_part(self, grid, kind, name, asked):
        self._add(grid, Element(kind, {f"{kind}_ref": name}, asked.place, None))

    def _add(self, grid, element):
        """A domain, an axis or a scalar, with all that it refers to."""
        kind, chain = element.tag, [element]
        while (base := self._part_of(chain[-1], grid)) is not None:
            if base in chain:
                raise Wrong(base.place, f'<{kind}> "{base.id}" refers to itself')
            chain.append(base)
        part = Part(kind)
        for each in reversed(chain):
            part.transformations += [child for child in each.children if child.tag in tables.TRANSFORMATIONS]
        grid.parts.append(part)
        attributes = {}
        for each in reversed(chain):
            for level in reversed(list(self.levels(each))):
                attributes.update(level)
        last = chain[-1]
        name = element.get("name") or last.get("name") or last.get(_REFERENCES[kind]) or last.id or element.id or kind
        if kind == "axis":
            part.dimensions.append((attributes.get("dim_name") or name, self._size(attributes, "n_glo", name, "n", element)))
        elif kind == "domain":
            self._add_domain(part, attributes, name, element)

    def _part_of(self, element, grid):
        """What it refers to; programs make domains and axes of their own, too."""
        kind, name = element.tag, element.get(_REFERENCES[element.tag])
        if name and name not in self.by_id[kind]:
            self.report.warn(element.place, f'{kind}_ref="{name}": there is no <{kind}> with this id, so the program makes it' +
                             nearest(name, self.by_id[kind]))
            grid.is_known = False
        return self.by_id[kind].get(name) if name else None

    def _add_domain(self, part, attributes, name, element):
        size_i = self._size(attributes, "ni_glo", name, "ni", element)
        if attributes.get("type") == "unstructured":
            part.dimensions.append((attributes.get("dim_i_name") or f"cell_{name}", size_i))
            return
        part.dimensions.append((attributes.get("dim_i_name") or f"x_{name}", size_i))
        part.dimensions.append((attributes.get("dim_j_name") or f"y_{name}", self._size(attributes, "nj_glo", name, "nj", element)))

    def _size(self, attributes, attribute, name, ending, element):
        """As the XML has it, or the name of a parameter that the program sets."""
        text = (attributes.get(attribute) or "").strip()
        if re.fullmatch(r"[1-9]\d*", text):
            return text
        if text:
            self.report.warn(element.place, f'{attribute}="{text}" is no whole number from 1')
        parameter = identifier(f"{name}_{ending}")
        self.sizes.setdefault(parameter, element.place)
        return parameter


def unique(names):
    return [name if name not in names[:i] else f"{name}_{i + 1}" for i, name in enumerate(names)]


def is_true(text, default=True):
    """A logical as XIOS reads it: ".TRUE.", "true", "T"."""
    word = (text or "").strip().strip(".").lower()
    return default if word in ("", "_reset_") else word in ("true", "t", "1")
