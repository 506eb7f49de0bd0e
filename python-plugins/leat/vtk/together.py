# SPDX-License-Identifier: Apache-2.0
"""One picture of what several servers have. Each draws its own part, from the same place and in the same colours; pixel by pixel the one
that is nearest to the eye counts. So what goes over the network depends on the size of the picture, not on that of the data."""
import zlib
from dataclasses import dataclass

import numpy as np

_AT_A_TIME = (1 << 20) - 4096  # bytes of a ctx.gather, without its head


@dataclass
class Facts:
    """What all servers need to know of what all have. ranges: {name: (least, greatest) or None}."""
    low: np.ndarray
    high: np.ndarray
    ranges: dict
    points: int
    vectors: set

    @classmethod
    def of(cls, pieces, names):
        low, high = pieces.bounds()
        return cls(low, high, {name: pieces.range_of(name) for name in names}, sum(part.GetNumberOfPoints() for part in pieces.parts),
                   pieces.vectors)

    def words(self):
        return {"low": self.low.tolist(), "high": self.high.tolist(), "ranges": self.ranges, "points": self.points,
                "vectors": sorted(self.vectors)}

    @classmethod
    def of_all(cls, told):
        """told: words() of some servers."""
        ranges = {}
        for name in told[0]["ranges"]:
            known = [each["ranges"][name] for each in told if each["ranges"][name]]
            ranges[name] = (min(low for low, _ in known), max(high for _, high in known)) if known else None
        return cls(np.min([each["low"] for each in told], axis=0), np.max([each["high"] for each in told], axis=0), ranges,
                   sum(each["points"] for each in told), set().union(*(each["vectors"] for each in told)))


def packed(colours, depths):
    """Of (height, width, 3) bytes and (height, width) floats, 1 where nothing is: what is drawn, and where."""
    rows, columns = np.nonzero(depths < 1)
    if not len(rows):
        return b""
    box = rows.min(), rows.max() + 1, columns.min(), columns.max() + 1
    part = slice(*box[:2]), slice(*box[2:])
    return np.array(box, "<i4").tobytes() + zlib.compress(colours[part].tobytes() + depths[part].astype("<f4").tobytes(), 1)


def put(data, colours, depths):
    """Of what packed() has made, where it is nearer than what is there; of two that are as near the first one stays."""
    if not data:
        return
    top, bottom, left, right = np.frombuffer(data[:16], "<i4")
    shape, values = (bottom - top, right - left), zlib.decompress(data[16:])
    count = shape[0] * shape[1]
    its_colours = np.frombuffer(values[:3 * count], "u1").reshape(*shape, 3)
    its_depths = np.frombuffer(values[3 * count:], "<f4").reshape(shape)
    part = slice(top, bottom), slice(left, right)
    nearer = its_depths < depths[part]
    colours[part][nearer] = its_colours[nearer]
    depths[part][nearer] = its_depths[nearer]


def gathered(gather, data):
    """What each server has given, of any size."""
    sizes = gather(len(data))
    parts = [b""] * len(sizes)
    for begin in range(0, max(sizes), _AT_A_TIME):
        some = gather(np.frombuffer(data[begin:begin + _AT_A_TIME], "u1"))
        if len(some) != len(parts):
            raise RuntimeError("a server of the run has ended while the picture was put together: there is none of this iteration")
        parts = [part + each.tobytes() for part, each in zip(parts, some)]
    return parts
