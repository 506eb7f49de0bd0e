# SPDX-License-Identifier: Apache-2.0
"""How fast blocks go to staging nodes."""

from ..markdown import table
from ..tools import BUILD

TITLE = "Staging nodes"
ABOUT = """One connection over loopback, blocks of 16 MiB, sender and receiver on cores of this machine. *Blocks* are what goes to a
staging node: with `trust="job"` plain, each with a CRC-32C that is computed and compared; else by TLS 1.3. *Sockets* and *TLS alone*
are the same connection and no more."""

SECONDS = 30


def measure(context):
    return context.figures_of("staging", BUILD / "bin/leat_staging_bench")


def page(data):
    rows = [[each["name"], f"{each['gb_per_s']:.2f} GB/s", f"{each['least']:.2f} to {each['most']:.2f}"] for each in data["ways"]]
    rows.append(["blocks beside sockets", f"{data['plain_ratio']:.2f}", ""])
    rows.append(["encrypted blocks beside TLS alone", f"{data['encrypted_ratio']:.2f}", ""])
    return table(["", "", ""], rows)
