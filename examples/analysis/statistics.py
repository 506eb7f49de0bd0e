# SPDX-License-Identifier: Apache-2.0
"""Statistics of every numeric variable, for any run: of each iteration, and of the run so far.

    <scripts><folder path="analysis"/></scripts>        in the XML; a copy of this file in analysis/

Gives, for a variable "temperature", the scalars temperature_min, _max, _mean, _std, _p5, _p50, _p95 and _not_finite of
the iteration, and temperature_run_count, _run_min, _run_max and _run_mean of all iterations seen. Values that are not
finite (NaN, infinity) are counted by _not_finite and left out of the rest. All components of a vector count as values.
examples/statistics_plugin does the same in C++.
"""
import numpy as np

PERCENTILES = (5, 50, 95)


def process(ds, ctx):
    for name in ds:
        values = np.asarray(ds[name])
        if values.dtype.kind not in "iuf":  # integers and real numbers; no text, no complex numbers
            continue
        numbers = values[np.isfinite(values)].astype(float)  # a copy in double precision, flat
        for column, value in describe(numbers).items():
            ctx.scalar(f"{name}_{column}", value)
        ctx.scalar(f"{name}_not_finite", values.size - numbers.size)
        run = ctx.state[name] = add(ctx.state.get(name), numbers)
        for column in ("count", "min", "max", "mean"):
            ctx.scalar(f"{name}_run_{column}", run[column])


def describe(numbers):
    """Statistics of one iteration. std is that of all values, not of a sample: it divides by n."""
    if numbers.size == 0:  # a step without particles
        return dict.fromkeys(["min", "max", "mean", "std", *(f"p{p}" for p in PERCENTILES)], np.nan)
    return {"min": numbers.min(), "max": numbers.max(), "mean": numbers.mean(), "std": numbers.std(),
            **{f"p{p}": v for p, v in zip(PERCENTILES, np.percentile(numbers, PERCENTILES))}}


def add(run, numbers):
    """The run's statistics with one iteration more. Nothing is ever summed up over the run, so that nothing is rounded
    away after many iterations: the mean moves towards the new values by their share (Welford 1962, Chan et al. 1979)."""
    run = run or {"count": 0, "min": np.nan, "max": np.nan, "mean": np.nan}
    if numbers.size == 0:
        return run
    count = run["count"] + numbers.size
    before = run["mean"] if run["count"] else 0.0
    return {"count": count, "min": np.fmin(run["min"], numbers.min()), "max": np.fmax(run["max"], numbers.max()),
            "mean": before + (numbers.mean() - before) * (numbers.size / count)}
