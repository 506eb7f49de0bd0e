# SPDX-License-Identifier: Apache-2.0
"""damaris4py.dask.damaris_stats_nolock: the statistics of damaris_stats in an object of the caller's, without a lock."""
import dask.array as da
import numpy as np

from . import damaris_stats


class DaskStats:
    """Of arrays that have the shape of `array_of_shape`."""

    def __init__(self, array_of_shape):
        self.count = 0
        self.mean, self.M2 = (da.zeros_like(array_of_shape, dtype=np.float64) for _ in range(2))

    def update(self, newValue):
        """Takes one more array."""
        self.count += 1
        delta = newValue - self.mean
        self.mean = self.mean + delta / self.count
        self.M2 = self.M2 + delta * (newValue - self.mean)

    def save_on_dask(self, client, unique_name_str):
        for name, value in {"_count": self.count, "_mean": self.mean, "_M2": self.M2}.items():
            damaris_stats.publish(client, unique_name_str + name, value)

    def retrieve_from_dask(self, client, unique_name_str):
        """Goes on with what somebody has saved; nothing happens where nobody has."""
        if unique_name_str + "_count" in client.list_datasets():
            self.count, self.mean, self.M2 = (client.get_dataset(unique_name_str + name) for name in ("_count", "_mean", "_M2"))

    def return_mean(self):
        return self.return_mean_var_tuple()[0]

    def return_variance(self):
        """Of the sample: divided by one less than there are."""
        return self.return_mean_var_tuple()[1]

    def return_mean_var_tuple(self):
        """NaN before there are two arrays."""
        if self.count < 2:
            return tuple(da.full_like(self.mean, np.nan) for _ in range(2))
        return self.mean, self.M2 / (self.count - 1)

    get_chunks = staticmethod(lambda dask_array: (1,) * len(dask_array.shape))
    get_array_as_string = staticmethod(damaris_stats.DaskStats.get_array_as_string)
    compute_block_add_rand = staticmethod(damaris_stats.DaskStats.compute_block_add_rand)
    compute_block_average = staticmethod(damaris_stats.DaskStats.compute_block_average)
    compute_block_average_of_sqrt = staticmethod(damaris_stats.DaskStats.compute_block_average_of_sqrt)
