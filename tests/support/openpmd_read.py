# SPDX-License-Identifier: Apache-2.0
"""What readers of openPMD show of a file, in the environment of tools/neighbours.txt; prints JSON of what describes the arrays:
openpmd_read.py api FILE OUT.npz      openPMD-api: arrays "<iteration>/meshes/<record>/<component>", "<iteration>/<species>/..."
openpmd_read.py viewer FILE OUT.npz   openPMD-viewer, by h5py and by openPMD-api, which must say the same; it multiplies all by units"""
import json
import sys

import numpy as np

np.seterr(all="ignore")  # of any bits


def api(path, out):
    import openpmd_api as io
    series, arrays, about = io.Series(path, io.Access.read_only), {}, {}
    for number, iteration in series.iterations.items():
        about[number] = {"time": iteration.time, "dt": iteration.dt, "unit": iteration.time_unit_SI}
        for name, record in iteration.meshes.items():
            about[f"{number}/{name}"] = {
                "labels": record.axis_labels, "spacing": record.grid_spacing, "offset": record.grid_global_offset,
                "unit": record.grid_unit_SI, "dimension": record.unit_dimension, "geometry": str(record.geometry),
                "order": str(record.data_order)}
            for axis, component in record.items():
                key = f"{number}/meshes/{name}" + ("" if record.scalar else f"/{axis}")
                arrays[key] = component.load_chunk()
                about[key] = {"position": component.position, "unit": component.unit_SI}
        for kind, species in iteration.particles.items():
            for name, record in species.items():
                about[f"{number}/{kind}/{name}"] = {"dimension": record.unit_dimension}
                for axis, component in record.items():
                    key = f"{number}/{kind}/{name}" + ("" if record.scalar else f"/{axis}")
                    arrays[key] = component.load_chunk() if component.shape != [0] else np.zeros(0, component.dtype)
                    about[key + ":"] = {"unit": component.unit_SI}
    series.flush()
    np.savez(out, **arrays)
    return about


def viewer(path, out):
    from openpmd_viewer import OpenPMDTimeSeries
    seen = [_viewed(OpenPMDTimeSeries(path, backend=backend)) for backend in ("h5py", "openpmd-api")]
    assert seen[0][1] == seen[1][1], seen
    assert seen[0][0].keys() == seen[1][0].keys()
    for name, values in seen[0][0].items():
        assert values.dtype == seen[1][0][name].dtype and np.allclose(values, seen[1][0][name], rtol=1e-6, equal_nan=True), name
    np.savez(out, **seen[0][0])
    return seen[0][1]


def _viewed(series):
    arrays, about = {}, {"times": series.t.tolist(), "fields": series.avail_fields, "species": series.avail_species}
    for number in series.iterations.tolist():
        for name in series.avail_fields or ():
            axes = series.fields_metadata[name]["avail_components"] or [None]
            for axis in axes:
                values, info = series.get_field(name, axis, iteration=number)
                key = f"{number}/meshes/{name}" + (f"/{axis}" if axis else "")
                arrays[key] = values
                about[key] = {each: [float(getattr(info, each)[0]), float(getattr(info, each)[-1])] for each in info.axes.values()}
        for kind in series.avail_species or ():
            for name in series.avail_record_components[kind]:
                arrays[f"{number}/{kind}/{name}"] = series.get_particle([name], species=kind, iteration=number)[0]
    return arrays, about


if __name__ == "__main__":
    print(json.dumps({"api": api, "viewer": viewer}[sys.argv[1]](*sys.argv[2:])))
