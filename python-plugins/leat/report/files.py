# SPDX-License-Identifier: Apache-2.0
"""Which files and folders are a run's own. With h5py each file says so itself; without it those that have the run's name are taken."""
import json
import os

from ..files import reading

ENDINGS = ".h5", ".hdf5", ".nc", ".vtkhdf"
# Stores close their files right before the ledger is written for the last time.
_SECONDS_OF_CLOSING = 5
_MOST_LOOKED_AT = 500
_SECONDS_FOR_EACH = 5


def of_run(folder, name, ledgers):
    """Paths, those of its name first."""
    begun = min((os.stat(each["path"]).st_mtime for each in ledgers), default=0)
    names = {name, *(f"{name}-{each.get(key, '')}" for each in ledgers for key in ("node", "session"))}
    all_files = [each for ending in ENDINGS for each in folder.glob(f"*{ending}") if each.is_file() and not each.name.startswith(".")]
    called = [each for each in all_files if each.stem in names]
    others = [each for each in all_files if each.stem not in names and abs(each.stat().st_mtime - begun) < _SECONDS_OF_CLOSING]
    looked_at = [*called, *others][:_MOST_LOOKED_AT]
    numbers = {each["run_number"] for each in ledgers if "run_number" in each}
    told = _numbers_in(looked_at) if numbers and not reading.why_no_h5py() else {}
    own = [each for each in looked_at if (told[str(each)] in numbers if str(each) in told else each in called)]
    return sorted(own, key=lambda each: (each.stem != name, each.name))


def scripts_folders(folder, ledgers):
    """Called as the ledger, or by the session where another run has that name."""
    found = []
    for each in ledgers:
        simulation = each.get("simulation", "")
        ledger = os.path.basename(each["path"]).removesuffix(".ledger.json")
        apart = ledger.removeprefix(simulation) if ledger.startswith(simulation) else ""
        names = [f"{simulation}-scripts{end}" for end in (f"-{each.get('session', '')}", f"{apart}-{each.get('session', '')}", apart)]
        found += [folder / name for name in names if (folder / name).is_dir()][:1]
    return sorted(set(found))


def _numbers_in(paths):
    """{path: its leat_run_number} of those that have one."""
    lines = []
    reading.prepare()
    left = list(paths)
    while left:
        before = len(lines)
        reading.apart(lambda: _print_numbers(left), lines.append)
        left = left[len(lines) - before + 1:]  # behind the one over which the library has crashed
    return {path: number for path, number in (json.loads(line) for line in lines) if number is not None}


def _print_numbers(paths):
    import h5py
    for path in paths:
        reading.expect_life(_SECONDS_FOR_EACH)
        number = None
        try:
            with h5py.File(path, "r") as file:
                number = int(file.attrs["leat_run_number"])
        except (OSError, KeyError, TypeError, ValueError, RuntimeError):
            pass
        print(json.dumps([str(path), number]), flush=True)
    return 0
