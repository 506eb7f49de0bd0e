#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The servers of large runs in the network that exists in one process alone (tests/support/simulated_servers.hpp), seed after seed;
`make soak-seeds`, `make soak-seeds SERVERS=1000 SEEDS=1-1000`. A seed is judged twice: who is killed stays dead, and others go on for
those that were killed. It is a process of its own, so that one that crashes or hangs is one that failed."""
import argparse
import concurrent.futures
import os
import pathlib
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tests/support"))

from judge import Tally  # noqa: E402
from leat_run import BUILD  # noqa: E402

JUDGED = "Member.AgreesWithAllThatLiveWhateverHappens:Member.OfAServerThatWasKilledGoesOnByItsJournal"
SERVERS, HANG = 1000, 1800  # seconds

# A thousand servers are many small pieces of memory: with these, glibc keeps what is freed, in large pages, and a seed takes two
# thirds of the time.
MEMORY = "glibc.malloc.tcache_count=20000:glibc.malloc.hugetlb=1:glibc.malloc.top_pad=67108864"


def run_seed(seed, servers, program=BUILD / "bin/comm_test"):
    """What went wrong, or "", and the seconds that it took."""
    began = time.monotonic()
    environment = {**os.environ, "LEAT_SEEDS": f"{seed}-{seed}", "LEAT_SERVERS": str(servers), "GLIBC_TUNABLES": MEMORY}
    try:
        done = subprocess.run([program, f"--gtest_filter={JUDGED}", "--gtest_brief=1"], env=environment, text=True, timeout=HANG,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        why = done.stdout + f"\nexit status {done.returncode}" if done.returncode else ""
    except subprocess.TimeoutExpired:
        why = f"it did not end in {HANG} s"
    return why and f"LEAT_SEEDS={seed}-{seed} LEAT_SERVERS={servers}: {why}", time.monotonic() - began


def simulated_servers(folder, chance):
    """A scenario of the soak: one seed, of all that there are."""
    del folder
    tally = Tally(runs=1)
    why, _ = run_seed(chance.randrange(1, 10 ** 9), SERVERS)
    if why:
        tally.blame("wrong", why)
    return tally


def seeds_in(text):
    first, _, last = text.partition("-")
    return range(int(first) if last else 1, int(last or first) + 1)


def main(words):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=seeds_in, default=seeds_in("1-1000"), help="the last one, or the first and the last: 31-2000")
    parser.add_argument("--servers", type=int, default=SERVERS, help="in each (1000)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="seeds at a time")
    parser.add_argument("--minutes", type=float, default=0, help="begin no other seed after these; 0: all of them")
    parser.add_argument("--program", type=pathlib.Path, default=BUILD / "bin/comm_test")
    chosen = parser.parse_args(words)
    until = time.monotonic() + 60 * chosen.minutes if chosen.minutes else float("inf")
    failed, done = [], 0

    def one(seed):
        return (seed, *run_seed(seed, chosen.servers, chosen.program)) if time.monotonic() < until else (seed, None, 0)

    with concurrent.futures.ThreadPoolExecutor(chosen.jobs) as pool:
        for seed, why, seconds in pool.map(one, chosen.seeds):
            done += why is not None
            if why:
                failed.append(seed)
            if why is not None:
                print(f"seed {seed}: {seconds:.0f} s{', FAILED' + chr(10) + why if why else ''}", flush=True)
    print(f"{done} of {len(chosen.seeds)} seeds, {chosen.servers} servers each: " +
          (f"failed: {', '.join(map(str, failed))}" if failed else "all well"))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
