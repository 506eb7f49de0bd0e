# SPDX-License-Identifier: Apache-2.0
"""damaris4py.dask.damaris_stats: mean and variance over iterations, and over runs that share a scheduler.

Source of the formula: B. P. Welford, Note on a method for calculating corrected sums of squares and products, 1962.
"""
import dask.array as da
import numpy as np
from dask.distributed import Lock


def publish(client, name, value):
    """In the place of what has the name."""
    if name in client.list_datasets():
        client.unpublish_dataset(name)
    client.publish_dataset(value, name=name)


class DaskStats:
    """Kept by the scheduler as datasets <unique_name_str>_count, _mean, _M2 and _chunks_tup; the lock of that name lets one client at a
    time change them."""

    def __init__(self, unique_name_str, lock_name_str):
        self.unique_name_str, self.lock_name_str = unique_name_str, lock_name_str

    def update(self, newValue, client, lock_timeout=60):
        """Takes one more array, of the shape of those before. TimeoutError when others keep the lock for so many seconds."""
        with self._locked(lock_timeout):
            count, mean, m2 = self._read(client) or (0, da.zeros_like(newValue, dtype=np.float64), da.zeros_like(newValue, np.float64))
            assert newValue.shape == mean.shape, f"{newValue.shape} is not the shape {mean.shape} of the arrays before"
            delta = newValue - mean
            mean = mean + delta / (count + 1)
            m2 = m2 + delta * (newValue - mean)
            self.save_on_dask(client, count + 1, self.set_chunks(newValue.shape), *client.persist([mean, m2]))

    def save_on_dask(self, client, count, chunks_tup, mean, M2):
        for name, value in {"_count": count, "_chunks_tup": chunks_tup, "_mean": mean, "_M2": M2}.items():
            publish(client, self.unique_name_str + name, value)

    def return_count(self, client, lock_timeout=60):
        with self._locked(lock_timeout):
            return (self._read(client) or (0,))[0]

    def return_mean(self, client, lock_timeout=60):
        """NaN before there are two arrays."""
        return self.return_mean_var_tuple(client, lock_timeout)[0]

    def return_variance(self, client, lock_timeout=60):
        """Of the sample: divided by one less than there are."""
        return self.return_mean_var_tuple(client, lock_timeout)[1]

    def return_mean_var_tuple(self, client, lock_timeout=60):
        with self._locked(lock_timeout):
            count, mean, m2 = self._read(client) or (0, da.zeros(()), None)
        if count < 2:
            return da.full_like(mean, np.nan, dtype=np.float64), da.full_like(mean, np.nan, dtype=np.float64)
        return tuple(client.persist([mean, m2 / (count - 1)]))

    def get_chunks(self, client):
        return client.get_dataset(self.unique_name_str + "_chunks_tup")

    @staticmethod
    def set_chunks(shape):
        """(1, 1, ...): chunks of what compute_block_average leaves of each block."""
        return (1,) * len(shape)

    @staticmethod
    def get_array_as_string(shape_len):
        return "[:" + ", None" * (shape_len - 1) + "]"

    @staticmethod
    def compute_block_add_rand(block, mean=0.0, std=0.1):
        return block + np.random.normal(mean, std, np.shape(block))

    @staticmethod
    def compute_block_average(block):
        return np.full((1,) * np.ndim(block), np.average(block))

    @staticmethod
    def compute_block_average_of_sqrt(block):
        return np.full((1,) * np.ndim(block), np.average(np.sqrt(block)))

    def _read(self, client):
        if self.unique_name_str + "_count" not in client.list_datasets():
            return None
        return tuple(client.get_dataset(self.unique_name_str + name) for name in ("_count", "_mean", "_M2"))

    def _locked(self, seconds):
        return _Held(Lock(name=self.lock_name_str), seconds)


class _Held:
    def __init__(self, lock, seconds):
        self._lock, self._seconds = lock, seconds

    def __enter__(self):
        if not self._lock.acquire(timeout=self._seconds):
            raise TimeoutError(f"the lock {self._lock.name} was not free for {self._seconds} s")

    def __exit__(self, *_):
        self._lock.release()
