# SPDX-License-Identifier: Apache-2.0
"""What the files of a context have in them, as variables that Leat writes or makes."""

import math
import re
from dataclasses import dataclass, field

from ..names import identifier, object_name
from . import expressions, grids, tables
from .definitions import Definitions, Grid, is_true, unique
from .grids import NoEqual
from .periods import NoPeriod, period
from .report import Wrong, nearest

OPERATIONS = {"average": "mean", "instant": "instant", "minimum": "min", "maximum": "max", "accumulate": "accumulate",
              "once": "once"}
_PLAIN = re.compile(r"'[^']*'")
_NAMES = re.compile(r"'(raw|made)/([^']*)'")
_STANDARD_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*( [a-z_]+)?", re.ASCII)
_LONGEST = 10000
_STORE_TYPES = {"2": "int16", "4": "float", "8": "double"}


@dataclass
class Raw:
    """What ranks write."""

    name: str
    grid: Grid
    attributes: dict
    is_once: bool = False
    stores: list = field(default_factory=list)

    @property
    def parts(self):
        """Dimensions as the layout has them, by parts of the grid."""
        names = iter(unique([identifier(name) for name, _ in self.grid.dimensions]))
        return [[grids.Dimension(next(names), size) for _, size in part.dimensions] for part in self.grid.parts]


@dataclass
class Made:
    """What the server makes."""

    name: str
    expr: str
    operation: str
    every: str
    attributes: dict
    stored: dict = field(default_factory=dict)  # attributes that say how values are put down
    compression: str = ""
    select: str = ""
    reduce: str = ""
    parts: list = field(default_factory=list)  # of a helper: its dimensions


@dataclass
class File:
    name: str
    path: str
    description: str = ""
    compression: str = ""
    appends: bool = False
    split: str = ""
    variables: list = field(default_factory=list)


class Converter:
    def __init__(self, context, report):
        self.report = report
        self.definitions = Definitions(context, report)
        self.parameters = self.definitions.parameters()
        self.raw, self.helpers, self.files = {}, {}, []
        self._paths, self._names = set(), set()

    def run(self):
        for element in self._elements("file"):
            try:
                self._file(element)
            except Wrong as error:
                self.report.add(error)
        self._look_at_references()
        self._fold()
        return self

    def _fold(self):
        """What is made for one variable alone, and is all of it, is said there."""
        outputs = [each for file in self.files for each in file.variables]
        uses = [name for each in [*outputs, *self.helpers.values()] for folder, name in _NAMES.findall(each.expr) if folder == "made"]
        for each in outputs:
            name = each.expr.strip("'").removeprefix("made/") if _PLAIN.fullmatch(each.expr) else ""
            helper = self.helpers.get(name)
            if helper is None or uses.count(name) > 1 or not (helper.select or helper.reduce):
                continue
            if not helper.reduce or each.operation == "instant":
                each.expr, each.select, each.reduce = helper.expr, helper.select, helper.reduce
                del self.helpers[name]

    def _look_at_references(self):
        """Of fields that no file has, too; those are no errors."""
        for element in self._elements("field"):
            try:
                self.definitions.referred(element)
            except Wrong as error:
                if not self.report.has(error):
                    self.report.warn(error.place, error.why)

    def _elements(self, kind):
        return [each for each in self.definitions.context.within() if each.tag == kind]

    # Files.

    def _file(self, element):
        attributes = self.definitions.inherited(element)
        if not is_true(attributes.get("enabled")):
            return self.report.not_needed(element.place, 'enabled="false"', "left out")
        if attributes.get("mode") == "read":
            return self.report.without_equal(element.place, 'mode="read"', "a file that the simulation reads is not read by Leat")
        every = self._every_of(element, attributes)
        name = self._unique(object_name(element.id or attributes.get("name") or "file"), self._names)
        file = File(name, self._path_of(name, attributes), attributes.get("description", ""),
                    _compression(attributes.get("compression_level")), is_true(attributes.get("append"), False),
                    self._split_of(element, attributes))
        for each in element.children:
            if tables.kind_of(each.tag) == "variable":
                self.report.without_equal(each.place, "<variable> in <file>", "files have no attributes of your own")
        for each, place in self._fields_of(element):
            self._field(each, place, file, attributes, every)
        if file.variables or any(name in raw.stores for raw in self.raw.values()):
            self.files.append(file)
        return None

    def _split_of(self, element, attributes):
        text = attributes.get("split_freq")
        return self._period(text, element, "split_freq")[0] if text else ""

    def _every_of(self, element, attributes):
        text = attributes.get("output_freq")
        if not text:
            self.report.warn(element.place, f'{element} has no output_freq="...": each iteration is taken')
            text = "1ts"
        return self._period(text, element, "output_freq")

    def _period(self, text, element, attribute):
        try:
            return period(text)
        except NoPeriod as error:
            raise Wrong(element.place, f'{attribute}="{text}" of {element}: {error}') from None

    def _path_of(self, name, attributes):
        """NEMO itself puts words for @...@ into the name; dates are of no use in one file of the run."""
        path = (attributes.get("name") or name) + attributes.get("name_suffix", "")
        path = path.replace("@freq@", attributes.get("output_freq", "")).replace("@expname@", self.definitions.context.id)
        path = re.sub(r"[-_.]*@\w+@", "", path).strip("_-. ") or name
        return self._unique(path.removesuffix(".nc"), self._paths) + ".h5"

    @staticmethod
    def _unique(name, taken):
        found, number = name, 2
        while found in taken:
            found, number = f"{name}_{number}", number + 1
        taken.add(found)
        return found

    def _fields_of(self, file):
        """(field, element that puts it there): those in it, and those of groups that are named."""
        for each in file.within():
            if each.tag == "field":
                yield each, each
            name = each.get("group_ref") if each.tag == "field_group" else None
            if not name:
                continue
            group = self.definitions.groups["field"].get(name)
            if group is None:
                known = self.definitions.groups["field"]
                self.report.add(Wrong(each.place, f'group_ref="{name}": there is no <field_group> with this id' + nearest(name, known)))
                continue
            yield from ((child, each) for child in group.within() if child.tag == "field" and child.id)

    def _field(self, element, by, file, file_attributes, every):
        try:
            attributes = self.definitions.inherited(element)
            if by is not element:
                attributes = {**attributes, **{k: v for level in reversed(list(self.definitions.levels(by)))
                                               for k, v in level.items() if k not in ("id", "group_ref")}}
            if self._is_left_out(element, attributes, file_attributes):
                return
            self._check_children(element)
            self._output(element, attributes, file, every)
        except NoEqual as why:
            self.report.without_equal(element.place, why.what, why.instead)
        except Wrong as error:
            self.report.add(error)

    def _is_left_out(self, element, attributes, file_attributes):
        if not is_true(attributes.get("enabled")):
            self.report.not_needed(element.place, 'enabled="false"', "left out")
            return True
        level, most = _number(attributes.get("level"), 1), _number(file_attributes.get("output_level"), 5)
        if level > most:
            self.report.not_needed(element.place, "level above the output_level of the file", "left out")
        return level > most

    def _check_children(self, element):
        for each in element.children:
            if tables.kind_of(each.tag) == "variable":
                self.report.without_equal(each.place, "<variable> in <field>",
                                          "variables have no attributes of your own; comment= has room")

    def _output(self, element, attributes, file, every):
        operation = OPERATIONS.get(attributes.get("operation", ""))
        if operation is None:
            text = attributes.get("operation")
            said = f'operation="{text}" is none of XIOS' + nearest(text, OPERATIONS) if text else "it has no operation"
            raise Wrong(element.place, f'field "{self._name_of(element)}": {said}')
        expr = self._value(element, ())
        if self._is_of_once(expr):
            return self._keep_once(expr, file)
        if operation == "once":
            operation, every = "instant", ("first", None)
        over_each = self._has_average(element)
        if over_each and self._freq_op(element)[1] == every[1] or every[0] == "1":
            operation = "instant"
        if operation != "instant" and not over_each and attributes.get("freq_op") and self._freq_op(element)[0] != "1":
            self.report.without_equal(element.place, f'freq_op of operation="{attributes["operation"]}"', "all iterations count")
        file.variables.append(Made(self._name_of(element), expr, operation, every[0], self._words(element, attributes),
                                   self._stored(element, attributes), self._own_compression(attributes, file)))
        return None

    def _stored(self, element, attributes):
        """Numbers of 2 bytes are packed, with a scale and an offset."""
        precision = attributes.get("prec", "8")
        stored = {"store-type": _STORE_TYPES.get(precision, "")}
        if precision not in _STORE_TYPES:
            self.report.without_equal(element.place, f'prec="{precision}"', "values are stored as double")
        packed = {name: self._real(element, attributes[of]) for name, of in (("scale", "scale_factor"), ("offset", "add_offset"))
                  if attributes.get(of)}
        if packed and precision != "2":
            self.report.without_equal(element.place, 'scale_factor and add_offset without prec="2"', "values are stored as they are")
            return stored
        return {**stored, **packed}

    def _real(self, element, text):
        try:
            number = float(text)
        except ValueError:
            number = math.nan
        if not math.isfinite(number):
            raise Wrong(element.place, f'field "{self._name_of(element)}": "{text}" is no number to scale by')
        return text.strip()

    @staticmethod
    def _own_compression(attributes, file):
        """Where it is another one than that of the file."""
        level = attributes.get("compression_level")
        own = (_compression(level) or "none") if level else ""
        return own if own != (file.compression or "none") else ""

    def _is_of_once(self, expr):
        """Whether all that is in it is written once."""
        names = _NAMES.findall(expr)
        return all(folder == "raw" and self.raw[name].is_once for folder, name in names)

    def _keep_once(self, expr, file):
        """What is written once is stored as it is."""
        if not _PLAIN.fullmatch(expr):
            raise NoEqual("an expression of fields that are written once", "left out")
        stores = self.raw[expr.strip("'").removeprefix("raw/")].stores
        if file.name not in stores:
            stores.append(file.name)

    def _name_of(self, element):
        """As it is called in files."""
        seen = []
        while element is not None and element not in seen:
            if element.get("name") or element.id:
                return object_name(element.get("name") or element.id)
            seen.append(element)
            element = self.definitions.referred(element)
        return "field"

    def _words(self, element, attributes):
        """What readers are told of it."""
        words = {"unit": attributes.get("unit"), "description": attributes.get("long_name"),
                 "standard-name": attributes.get("standard_name"), "comment": attributes.get("comment"),
                 "cell-methods": attributes.get("cell_methods")}
        words = {name: " ".join(text.split()) for name, text in words.items() if text and text.strip()}
        if "standard-name" in words and not _STANDARD_NAME.fullmatch(words["standard-name"]):
            self.report.without_equal(element.place, "a standard_name with other signs than letters, digits and _", "left out")
            del words["standard-name"]
        return words

    # Values.

    def _expression_of(self, element):
        return (element.get("expr") or element.text or "").strip()

    def _parsed(self, element):
        text = self._expression_of(element)
        try:
            return expressions.parse(text)
        except expressions.NotRead as error:
            raise Wrong(element.place, f'field "{self._name_of(element)}": "{" ".join(text.split())}": {error}') from None

    def _has_average(self, element):
        return bool(self._expression_of(element)) and any(each.kind == "average" for each in self._parsed(element).within())

    def _freq_op(self, element):
        return self._period(self.definitions.inherited(element).get("freq_op") or "1ts", element, "freq_op")

    def _value(self, element, under_way):
        """Of a field, in each iteration, as expr="..." has it."""
        if element in under_way:
            names = " -> ".join(f'"{self._name_of(each)}"' for each in (*under_way[under_way.index(element):], element))
            raise Wrong(element.place, f"fields are made of each other in a circle: {names}")
        under_way = (*under_way, element)
        if not self._expression_of(element):
            return self._own_value(element, under_way)
        text = expressions.written(self._parsed(element), lambda node: self._text_of(node, element, under_way))
        if len(text) > _LONGEST:
            raise NoEqual("an expression of more than 10000 letters", "left out")
        return text

    def _own_value(self, element, under_way):
        """What `this` is: the field that it refers to, or what the program sends under its id."""
        base = self.definitions.referred(element)
        if base is None:
            return self._written(element)
        value = self._value(base, under_way)
        grid = self.definitions.grid_of(element) if self.definitions.says_grid(element) else None
        if grid is None or not grid.is_transformed:
            return value
        its = self.definitions.grid_of(base)
        return value if its is not None and its.name == grid.name else self._on_grid(element, value, grid)

    def _on_grid(self, element, value, grid):
        """The part of it, or what it is reduced to, as a variable."""
        change = grids.change(self._parts_of(value), grid)
        for place, what, instead in change.lost:
            self.report.without_equal(place, what, instead)
        if not change.select and not change.reduce:
            return value
        if self._is_of_once(value):
            raise NoEqual("a part of a field that is written once", "left out")
        wished = object_name(f"{self._name_of(element)}_{grid.name}")
        name, number = wished, 2
        while (same := self.helpers.get(name)) and (same.expr, same.select, same.reduce) != (value, change.select, change.reduce):
            name, number = f"{wished}_{number}", number + 1
        self.helpers.setdefault(name, Made(name, value, "instant", "1", {}, select=change.select, reduce=change.reduce,
                                           parts=change.parts_of(name)))
        return f"'made/{name}'"

    def _parts_of(self, value):
        """Dimensions of a value: of what in it has the most."""
        found = [(self.raw if folder == "raw" else self.helpers)[name].parts for folder, name in _NAMES.findall(value)]
        return max(found, key=lambda parts: sum(map(len, parts)), default=[])

    def _text_of(self, node, element, under_way):
        if node.kind == "variable":
            return self._parameter(node.text, element)
        if node.text == "this":
            if node.kind == "average":
                return self._average(element, self._own_value(element, under_way), element)
            text = self._own_value(element, under_way)
        else:
            other = self.definitions.by_id["field"].get(node.text)
            if other is None:
                raise Wrong(element.place, f'field "{self._name_of(element)}": "{node.text}" in its expression is no <field>' +
                            nearest(node.text, self.definitions.by_id["field"]))
            text = self._value(other, under_way)
            if node.kind == "average":
                return self._average(other, text, element)
        return text if _PLAIN.fullmatch(text) else f"({text})"

    def _average(self, other, text, element):
        """@other: what its operation makes of it over the freq_op of the field that it stands in."""
        attributes = self.definitions.inherited(other)
        operation = OPERATIONS.get(attributes.get("operation", "instant"), "instant")
        every = self._freq_op(element)
        if operation in ("instant", "once") or every[0] == "1":
            return text if _PLAIN.fullmatch(text) else f"({text})"
        name = object_name(f"{self._name_of(other)}_{operation}_{every[0].replace(' ', '')}")
        self.helpers.setdefault(name, Made(name, text, operation, every[0], {}, parts=self._parts_of(text)))
        return f"'made/{name}'"

    def _parameter(self, name, element):
        if name not in self.parameters:
            raise Wrong(element.place, f'"${name}" in an expression is no <variable>' + nearest(name, self.parameters))
        return identifier(name)

    def _written(self, element):
        name = object_name(element.id or element.get("name") or "")
        if not element.id and not element.get("name"):
            raise Wrong(element.place, "a <field> has an id or a field_ref")
        if name not in self.raw:
            self.raw[name] = self._raw(name, element)
        return f"'raw/{name}'"

    def _raw(self, name, element):
        grid = self.definitions.grid_of(element)
        if grid is None:
            self.report.warn(element.place, f'field "{name}" has no grid: it is taken for a scalar')
            grid = Grid("scalar")
        if not grid.is_known:
            self.report.without_equal(element.place, f'grid "{grid.name}", which the program makes',
                                      "look at the dimensions of its <layout>")
        attributes = self.definitions.inherited(element)
        return Raw(name, grid, self._words(element, attributes), attributes.get("operation") == "once")


def _number(text, default):
    try:
        return int(text)
    except (TypeError, ValueError):
        return default


def _compression(level):
    return f"deflate:{min(_number(level, 0), 9)}" if _number(level, 0) > 0 else ""
