# SPDX-License-Identifier: Apache-2.0
"""What `leat plan` is told, is reported and measures, before it becomes a screen or JSON. Times are in seconds, sizes in bytes."""
import json
import os
import subprocess
import tempfile
import time

from . import ways
from .staging import Nodes
from .words import BAD, SIZES, TIMES_NS, USAGE, Refused, quantity

_COPIED = 4e9  # what a rank copies in a second where nothing was measured: half of what one core of today does
_TYPICAL = 1000  # iterations
_MOST_CORES = 65536
_MOST_SECONDS = 366 * 86400.0
_MEASURED, _PIECE = 256 << 20, 4 << 20  # bytes that are written to see how fast a disk is
_REPORTED = {"simulation": str, "compute_seconds": float, "inside_seconds": float, "store_seconds": float, "script_seconds": float,
             "ranks": int, "dedicated_cores": int, "iterations": int, "cores_are_shared": bool, "synchronous": bool, "bytes": int,
             "buffer_bytes": int, "measured_seconds": float, "expected_seconds": float}


class Input:
    """Later ones count instead of earlier ones: the report of a run, the XML, the command line."""

    def __init__(self, options):
        self.simulation, self.load, self.dedicated = "", ways.Load(iterations=_TYPICAL), 1  # cores, as the XML or the run had it
        self.bytes_per_second = None  # of the disk
        self.bytes = self.buffer_bytes = 0  # handed over on a node in an iteration; 0: not known
        self.measured = self.expected = self.was = None  # of the run that was reported: seconds, and its way where these are its cores
        self.computing_is_estimated = False  # by what is left of them without its analyses
        self.nodes = None  # staging.Nodes, where more than one is asked for
        self.placeholders = []  # "nx=1": of the XML; `bytes` rests on them
        _check(options)
        if options.source:
            self._from_report(options.source)
        self._judge()
        sized = _sized(options, self.load.computing) if options.file else None
        if sized:
            self._from_file(sized, options.ranks or self.load.computing)
        self._from_words(options)
        if options.disk or options.measure:
            self.bytes_per_second = _rate("--disk", options.disk) if options.disk else _disk_speed(options.measure)
            self.load.output = self.bytes / self.bytes_per_second
        self._judge()
        if sized and not (sized["memory"]["complete"] or options.bytes):
            raise Refused(_why_unknown(options.file, sized))
        if sized and self.load.inside == 0:
            self.load.inside = self.bytes / self.load.computing / _COPIED
        if options.nodes:
            wanted = options.staging or (sized or {}).get("staging_nodes", 0)
            self.nodes = Nodes(options.nodes, wanted, _rate("--network", options.network),
                               _rate("--staging-disk", options.staging_disk) if options.staging_disk else 0)
            if wanted >= options.nodes:
                raise Refused(f"--nodes {options.nodes}: {wanted} of them are staging nodes, and one at least computes")

    def _from_report(self, file):
        try:
            if os.path.exists(file) and not os.path.isfile(file):
                raise Refused(f"--from {file}: it is a {'folder' if os.path.isdir(file) else 'pipe or a device, and no file'}")
            with open(file, encoding="utf-8", errors="replace") as stream:
                report = json.load(stream)
        except OSError as why:
            raise Refused(f"--from {file}: {'no such file' if isinstance(why, FileNotFoundError) else why.strerror}") from None
        except ValueError:
            report = None
        if not isinstance(report, dict) or report.get("leat_report") != 1:
            raise Refused(f"{file} is no report of a run of Leat of this version", BAD)
        for name, kind in _REPORTED.items():
            value = report.get(name)
            if not isinstance(value, (int, float) if kind is float else kind) or kind is not bool and isinstance(value, bool):
                raise Refused(f'{file} lacks something, or has it of another type: "{name}"', BAD)
        if report["ranks"] < 1 or report["dedicated_cores"] < 1 or report["iterations"] < 1:
            raise _no_such_run()
        self.load, self.was = ways.of_report(report)
        self.simulation, self.dedicated, self.buffer_bytes = report["simulation"], report["dedicated_cores"], report["buffer_bytes"]
        self.computing_is_estimated = self.load.compute != report["compute_seconds"]
        self.bytes = report["bytes"] // report["iterations"]
        self.measured, self.expected = report["measured_seconds"], report["expected_seconds"]

    def _from_file(self, sized, ranks):
        memory = sized["memory"]
        self.simulation, self.dedicated, self.placeholders = sized["simulation"], sized["dedicated_cores"], sized["placeholders"]
        self.buffer_bytes, self.bytes = memory["buffer_bytes"], memory["bytes_per_node"]
        self.load.computing, self.load.cores = ranks, ranks + self.dedicated

    def _from_words(self, options):
        load = self.load
        for option in ("compute", "analysis"):
            if getattr(options, option):
                setattr(load, option, _duration(f"--{option}", getattr(options, option)))
        if options.bytes:
            size = _size(options.bytes)
            if not size:
                raise Refused(f"--bytes {options.bytes}: expected a size like 300MiB")
            self.bytes, self.placeholders = int(size), []
        load.sequential = options.sequential / 100
        if options.ranks:
            load.cores, load.computing = load.cores + options.ranks - load.computing, options.ranks
        load.iterations = options.iterations or load.iterations
        load.parallel = options.parallel or load.parallel
        load.cores = options.cores or load.cores
        if options.ranks or options.cores or options.file:
            self.was = None
        if load.cores < load.computing:
            raise Refused(f"--cores {load.cores}: the {load.computing} ranks of a node need one each")

    def _judge(self):
        """Whatever a report says."""
        load = self.load
        times = (load.compute, load.inside, load.output, load.analysis)
        if load.cores > _MOST_CORES or not all(0 <= each < _MOST_SECONDS for each in times):
            raise _no_such_run()


def _no_such_run():
    return Refused(f"there is no such run: a node has 1 to {_MOST_CORES} cores, an iteration takes no less than nothing, and less than a "
                   "year", BAD)


def _check(options):
    if bool(options.nodes) != bool(options.network):
        raise Refused("staging nodes are compared for a number of nodes and a network: say both, --nodes 16 --network 10GB/s")
    if (options.staging or options.staging_disk) and not options.nodes:
        raise Refused("staging nodes are some of all nodes: say how many these are, --nodes 16 --network 10GB/s")
    if options.source:
        return
    if not options.file:
        raise Refused("say the XML of the simulation, or --from the report of a run, NAME.report.json")
    if not options.compute:
        raise Refused("say how long an iteration computes, --compute 50ms, or --from a report")
    if not options.disk and not options.measure:
        raise Refused("nothing is known of the disk: say --disk 1.2GiB/s, --from a report, or --measure FOLDER to write 256 MiB there and "
                      "see")


def _sized(options, ranks):
    """What `leat check` says of the sizes."""
    count = str(options.ranks or ranks)
    words = ["check", options.file, "--json", "--sizes-only", "--ranks", count, "--per-node", count]
    done = subprocess.run([os.environ["LEAT_PROGRAM"], *words, *(f"--set={each}" for each in options.set)], capture_output=True, text=True,
                          check=False)
    if done.returncode not in (0, BAD):
        raise Refused(done.stderr.strip().replace("leat check: ", "", 1), USAGE)
    sized = json.loads(done.stdout)
    if "simulation" in sized:
        return sized
    said = [f"{each['file']}:{each['line']}:{each['column']}: {each['severity']}: {each['message']}\n" for each in sized["diagnostics"]]
    raise Refused("".join(said).replace(":0:0: ", ": ") + f"`leat check {options.file}` says more", BAD)


def _why_unknown(file, sized):
    begin, size = f"how much {file} hands over is not known: ", "--bytes 300MiB of a node in an iteration"
    need, at_writes = sized["sizes_need"], '", "'.join(sized["sizes_at_writes"])
    if at_writes:
        return f'{begin}how large "{at_writes}" is, each write says; say {size}'
    if not need:
        return f"{begin}`leat check {file}` says why"
    return f"{begin}the simulation sets {', '.join(need)}; say {' '.join(f'--set {name}=...' for name in need)}, or {size}"


def _duration(option, text):
    number, unit = quantity(text) or (0, "")
    if unit.removeprefix(" ") not in ("ms", "s", "min", "h"):
        raise Refused(f"{option} {text}: expected a time with its unit, like 50ms, 1.5s or 2min")
    return number * TIMES_NS[unit.removeprefix(" ")] / 1e9


def _size(text):
    """Bytes of "1.2GiB", with decimals; 0 of what is no size."""
    number, unit = quantity(text) or (0, "")
    return number * SIZES.get(unit.removeprefix(" "), 0)


def _rate(option, text):
    size = _size(text[:-2]) if text.endswith("/s") else 0
    if not size:
        raise Refused(f"{option} {text}: expected a rate with its unit, like 1.2GiB/s or 300MB/s")
    return size


def _disk_speed(folder):
    """Bytes a second that a new file in this folder takes, until they are on the disk; it never has a name that stays."""
    piece = bytes(i * 2654435761 >> 13 & 255 for i in range(_PIECE >> 4)) * 16
    try:
        with tempfile.TemporaryFile(dir=folder, buffering=0) as file:
            begun = time.monotonic()
            for _ in range(_MEASURED // _PIECE):
                written = 0
                while written < _PIECE:
                    written += file.write(memoryview(piece)[written:])
            os.fdatasync(file.fileno())
            return _MEASURED / max(1e-9, time.monotonic() - begun)
    except OSError as why:
        raise Refused(f"cannot measure the disk of {folder}: {why.strerror}", BAD) from None
