# SPDX-License-Identifier: Apache-2.0
"""derive_bench.py BUILD: what means, reductions, derivatives and expressions cost the server, beside memcpy and NumPy. Interleaved;
medians of three rounds."""
import statistics
import subprocess
import sys
import time

import numpy as np

ROUNDS, ELEMENTS = 3, 1 << 22


def numpy_ns():
    u, v = np.full(ELEMENTS, 1.5), np.full(ELEMENTS, 2.5)
    times = []
    for _ in range(9):
        began = time.perf_counter()
        np.sqrt(u * u + v * v)
        times.append(time.perf_counter() - began)
    return statistics.median(times) / ELEMENTS * 1e9


def gradient_ns():
    u = np.full((2048, 2048), 1.5)
    times = []
    for _ in range(9):
        began = time.perf_counter()
        np.gradient(u, 0.5, axis=0)
        times.append(time.perf_counter() - began)
    return statistics.median(times) / ELEMENTS * 1e9


def main(build):
    all_, ours, gradients = [], [], []
    for _ in range(ROUNDS):
        said = subprocess.run([f"{build}/bin/leat_derive_bench"], capture_output=True, text=True, check=True).stdout
        all_.append({name: float(value) for name, value in (line.split() for line in said.splitlines())})
        ours.append(numpy_ns())
        gradients.append(gradient_ns())
    found = {name: statistics.median(each[name] for each in all_) for name in all_[0]}
    numpy = statistics.median(ours)
    print("\nVariables that the server makes, on one core; arrays of 32 MiB:")
    for name in ("memcpy", "mean", "max", "variance", "reduce-max", "reduce-mean", "derivative"):
        beside = "" if name == "memcpy" else f", {found[name] / found['memcpy']:.2f} of memcpy"
        print(f"  {name:11} {found[name]:6.2f} GB/s of the variable{beside}")
    ns = found["expression"]
    print(f"  sqrt(u*u + v*v) {ns:.2f} ns for an element; NumPy {numpy:.2f} ns: {numpy / ns:.2f} of its speed")
    gradient = statistics.median(gradients)
    print(f"  d(u, y) {8 / found['derivative']:.2f} ns for an element; numpy.gradient {gradient:.2f} ns: "
          f"{gradient * found['derivative'] / 8:.2f} of its speed")


main(sys.argv[1])
