# SPDX-License-Identifier: Apache-2.0
"""Operations of a script over all servers of its run; server/workers/script_reduction.hpp is the other side.

Sums do not depend on the order, bit for bit: a sum is sent as doubles whose exact sum it is, and is rounded once, when
all servers' are together."""
import fractions
import hashlib
import io
import json
import math

import numpy as np

from .blocks import Block

MOST_NUMBERS = 1 << 20   # of one server in one call, as leatd takes them
MOST_GATHERED = 1 << 20  # bytes
OPERATIONS = ("sum", "min", "max", "mean", "hist")
_CHUNK = 1 << 14         # doubles at a time: what is done with them stays in a core's cache
_FEW = 64                # terms of a sum
_MOST_EXPONENT = 1000


class DoesNotFit(ValueError):
    """What cannot be reduced, with the reason."""


class OneServer:
    """A run of one server: what it gives is the outcome."""
    server, servers, is_first = 0, 1, True

    def reduce(self, function, signature, columns):
        """{"gave": servers, "columns": arrays or {server: bytes}}"""
        return {"gave": 1, "columns": [column.alone() for column in columns]}


class Sums:
    """Sums of doubles: each is the exact sum of its row of `terms`."""

    def __init__(self, terms):
        self.terms = np.atleast_2d(np.asarray(terms, "f8"))

    def words(self):
        return {"kind": "sums", "count": len(self.terms), "terms": self.terms.shape[1]}, self.terms.tobytes()

    def read(self, data, told):
        return np.frombuffer(data, "f8")

    def alone(self):
        return np.array([_rounded(row) for row in self.terms]) if self.terms.shape[1] > 1 else self.terms[:, 0] + 0.0


class Numbers:
    """int64 or float64, element by element."""

    def __init__(self, op, values):
        self.op, self.values = op, np.ascontiguousarray(values).reshape(-1)

    def words(self):
        kind = "integers" if self.values.dtype.kind == "i" else "reals"
        return {"kind": kind, "op": self.op, "count": len(self.values)}, self.values.tobytes()

    def read(self, data, told):
        return np.frombuffer(data, self.values.dtype)

    def alone(self):
        return self.values.copy()


class Said:
    """Bytes of each server."""

    def __init__(self, data):
        self.data = data

    def words(self):
        return {"kind": "gather", "count": len(self.data)}, self.data

    def read(self, data, told):
        said, at = {}, 0
        for server, size in zip(told["ranks"], told["sizes"]):
            said[server] = bytes(data[at:at + size])
            at += size
        return said

    def alone(self):
        return {OneServer.server: self.data}


def outcome_of(answer, data, columns):
    """What leatd answers, as OneServer.reduce() returns it."""
    read, at = [], 0
    for column, told in zip(columns, answer["columns"]):
        size = sum(told["sizes"]) if isinstance(column, Said) else 8 * column.words()[0]["count"]
        read.append(column.read(data[at:at + size], told))
        at += size
    return {"gave": answer["gave"], "columns": read}


class Reduction:
    """One call of ctx.reduce(value, op, bins, range). `ask(signature, columns)` gives an outcome."""

    def __init__(self, ask):
        self._ask = ask

    def of(self, value, op, bins, range):
        if op not in OPERATIONS:
            raise DoesNotFit(f'there is no operation "{op}": {", ".join(OPERATIONS)}')
        if op != "hist" and (bins is not None or range is not None):
            raise DoesNotFit(f'bins and range are of "hist", not of "{op}"')
        parts = _parts_of(value)
        if op == "hist":
            return self._histogram([_numbers(part) for part in parts or [value]], 10 if bins is None else bins, range)
        if op == "mean":
            return self._mean([_numbers(part) for part in parts or [value]])
        if parts is not None:
            return self._of_all([_numbers(part) for part in parts], op)
        return self._elementwise(value, op)

    def _elementwise(self, value, op):
        array = _numbers(value)
        if array.size > MOST_NUMBERS:
            raise DoesNotFit(f"{array.size} numbers: {MOST_NUMBERS} are the most in one call. For one number over all elements give "
                             "blocks, like ctx.blocks(name), or the name of the variable")
        column = Sums(_doubles(array).reshape(-1, 1)) if op == "sum" and array.dtype.kind == "f" else Numbers(op, _eight_bytes(array))
        made = self._ask([op, _kind(array), list(array.shape)], [column])["columns"][0]
        result = made.reshape(array.shape)
        if array.ndim == 0:
            return result[()]
        return value.copy(data=result) if hasattr(value, "dims") else result.copy()

    def _of_all(self, arrays, op):
        """One number of all elements of all servers. A server without elements, as of an empty list of blocks, does not know whether
        those of the others are whole numbers: so there is a column for each kind, and one that says which kinds there are."""
        reals, whole = ([array for array in arrays if _kind(array) == kind] for kind in ("f8", "i8"))
        kinds = [any(array.size for array in reals), any(array.size for array in whole), bool(reals), bool(whole)]
        if kinds[0] and kinds[1]:
            raise DoesNotFit("some blocks are of whole numbers and some are not")
        if op == "sum":
            columns = [Sums(exact_terms(reals)), Numbers("sum", np.array([_wrapped(_whole_sum(whole))], "i8"))]
        else:
            columns = [_extreme_of(reals, op, "f8"), _extreme_of(whole, op, "i8")]
        of_reals, of_whole, kinds = self._ask([op + " of all"], [*columns, Numbers("max", np.array(kinds, "i8"))])["columns"]
        if kinds[0] and kinds[1]:
            raise DoesNotFit("some servers have given whole numbers and some have not")
        if op != "sum" and not (kinds[0] or kinds[1]):
            raise DoesNotFit(f"no server has an element: nothing is the {op}")
        is_whole = kinds[1] or (kinds[3] and not kinds[0] and not kinds[2])
        return of_whole[0] if is_whole else of_reals[0]

    def _mean(self, arrays):
        """Of all elements of all servers: of more elements more."""
        terms = exact_terms(arrays)
        count = np.array([sum(array.size for array in arrays)], "i8")
        sums, counts = self._ask(["mean"], [Sums(terms), Numbers("sum", count)])["columns"]
        return np.float64(sums[0] / counts[0]) if counts[0] else np.float64(np.nan)

    def _histogram(self, arrays, bins, range):
        edges = self._edges(arrays, bins, range)
        counts = np.zeros(len(edges) - 1, "i8")
        for chunk in _chunks(arrays):
            counts += _counts(chunk, edges, is_even=np.ndim(bins) == 0)
        digest = hashlib.sha256(edges.tobytes()).hexdigest()
        return self._ask(["hist", digest], [Numbers("sum", counts)])["columns"][0].copy(), edges

    def _edges(self, arrays, bins, range):
        """As numpy.histogram makes them; where there is no range, of the finite values of all servers."""
        if np.ndim(bins) == 1:
            edges = np.asarray(bins, "f8")
            if range is not None or len(edges) < 2 or len(edges) > MOST_NUMBERS or not np.all(np.diff(edges) > 0):
                raise DoesNotFit("bins that are edges are two numbers or more, each greater than the one before, and without range")
            return edges
        if isinstance(bins, bool) or not isinstance(bins, (int, np.integer)) or not 0 < bins < MOST_NUMBERS:
            raise DoesNotFit(f"bins={bins!r}: a number of bins, or their edges, is expected")
        if range is None:
            least, most = np.inf, -np.inf
            for chunk in _chunks(arrays):
                finite = chunk[np.isfinite(chunk)]
                if finite.size:
                    least, most = min(least, finite.min()), max(most, finite.max())
            both = self._ask(["range of hist"], [Numbers("min", np.array([least])), Numbers("max", np.array([most]))])["columns"]
            low, high = float(both[0][0]), float(both[1][0])
            if low > high:
                low, high = 0.0, 1.0
        else:
            low, high = map(float, range)
            if not (math.isfinite(low) and math.isfinite(high) and low <= high):
                raise DoesNotFit(f"range={range!r}: two finite numbers are expected, the lesser first")
        if low == high:
            low, high = low - 0.5, high + 0.5
        return np.linspace(low, high, int(bins) + 1)


def _extreme_of(arrays, op, kind):
    extreme = np.min if op == "min" else np.max
    least = np.inf if kind == "f8" else np.iinfo("i8").max
    some = [_eight_bytes(np.asarray(extreme(array))) for array in arrays if array.size]
    found = extreme(some) + 0 if some else least if op == "min" else -least  # no -0.0
    return Numbers(op, np.array([found], kind))


def _counts(chunk, edges, is_even):
    if is_even:
        return np.histogram(chunk, len(edges) - 1, (edges[0], edges[-1]))[0]
    return np.histogram(chunk[~np.isnan(chunk)], edges)[0]


def signature_of(what):
    """A number from 0 on that is another one where servers reduce other things."""
    return int.from_bytes(hashlib.sha256(json.dumps(what).encode()).digest()[:7], "big")


def packed(value):
    """For ctx.gather."""
    if isinstance(value, (np.ndarray, np.generic)) or hasattr(value, "dims"):
        file = io.BytesIO()
        np.save(file, np.asarray(value), allow_pickle=False)
        data = b"a" + file.getvalue()
    else:
        data = b"j" + json.dumps(value).encode()
    if len(data) > MOST_GATHERED:
        raise DoesNotFit(f"{len(data)} bytes: {MOST_GATHERED} are the most of one server")
    return data


def unpacked(data):
    if data[:1] == b"j":
        return json.loads(data[1:])
    array = np.load(io.BytesIO(data[1:]), allow_pickle=False)
    return array if array.ndim else array[()]


def exact_terms(arrays):
    """Doubles whose exact sum is that of all elements, few of them. Source of the extraction: Rump, Ogita, Oishi: Accurate
    Floating-Point Summation, 2008, ExtractVector: what is at least as large as the last place of a power of two is split off, and
    sums of that are exact in any order."""
    terms = []
    for chunk in _chunks(arrays, split=True):
        _extract(chunk, terms)
    while len(terms) > _FEW:
        fewer = []
        for begin in range(0, len(terms), _CHUNK):
            _extract(np.array(terms[begin:begin + _CHUNK]), fewer)
        if len(fewer) >= len(terms):
            break
        terms = fewer
    return terms or [0.0]


def _extract(rest, terms):
    """`rest`: of our own, and nothing in it is of use afterwards."""
    most = _largest(rest)
    if not math.isfinite(most):
        strange = ~np.isfinite(rest)
        with np.errstate(invalid="ignore"):
            terms.append(float(rest[strange].sum()))
        rest[strange] = 0
        most = _largest(rest)
    bits = (len(rest) + 2).bit_length()
    while most > 0:
        exponent = math.frexp(most)[1] + bits
        if exponent > _MOST_EXPONENT:  # a power of two beyond it may be no double
            terms.extend(rest[rest != 0].tolist())
            return
        power = math.ldexp(1.0, exponent)
        part = rest + power
        part -= power
        terms.append(float(part.sum()))
        rest -= part
        most = _largest(rest)


def _largest(values):
    if not values.size:
        return 0.0
    return float(max(values.max(), -values.min()))


def _rounded(terms):
    """The nearest double to their exact sum."""
    if not np.all(np.isfinite(terms)):
        with np.errstate(invalid="ignore"):
            return float(np.sum(terms))
    try:
        return math.fsum(terms)
    except OverflowError:  # at the end, or on the way
        exact = sum(map(fractions.Fraction, terms))
        return float(exact) if abs(exact) < 2**1024 - 2**970 else math.copysign(math.inf, exact)


def _chunks(arrays, split=False):
    """All elements as doubles, in arrays of our own. split: those of whole numbers that no double holds come in two parts."""
    for array in arrays:
        if not array.size:
            continue
        is_long = array.dtype.kind in "iu" and array.dtype.itemsize == 8
        for chunk in np.nditer(array, ["external_loop", "buffered"], buffersize=_CHUNK):
            if split and is_long:
                yield (chunk >> 32).astype("f8") * 2.0**32
                yield (chunk & 0xffffffff).astype("f8")
            else:
                yield chunk.astype("f8")


def _parts_of(value):
    """The arrays of a list of blocks, which may be empty; None where it is no such list."""
    if not isinstance(value, (list, tuple)):
        return None
    if value and not any(isinstance(each, Block) or getattr(each, "shape", ()) for each in value):
        return None
    return [each.data if isinstance(each, Block) else each for each in value]


def _numbers(value):
    array = np.asarray(value)
    if array.dtype.kind not in "biuf":
        raise DoesNotFit(f"whole or floating-point numbers are expected, not {type(value).__name__} of {array.dtype}"
                         f"{': real and imaginary part are two numbers' if array.dtype.kind == 'c' else ''}")
    if array.dtype.kind == "u" and array.dtype.itemsize == 8 and array.size and array.max() > np.iinfo("i8").max:
        raise DoesNotFit("a number is larger than an int64, which results are, holds")
    return array


def _kind(array):
    return "f8" if array.dtype.kind == "f" else "i8"


def _doubles(array):
    return np.asarray(array, "f8")


def _eight_bytes(array):
    return array.astype(_kind(array))


def _whole_sum(arrays):
    return sum(int(array.sum(dtype="i8")) for array in arrays)


def _wrapped(number):
    """As an int64 goes on after its largest."""
    return (number + 2**63) % 2**64 - 2**63
