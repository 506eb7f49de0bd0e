# SPDX-License-Identifier: Apache-2.0
"""What the servers of a run on several nodes cost each other."""

from ..markdown import table, time_text
from ..tools import BUILD

TITLE = "Servers of several nodes"
ABOUT = """*Agreement*: from the moment when all servers contribute to a round to the one when the last has its outcome, in a time of
its own: each server has a core, what it does takes the processor time that it takes here, and a message is under way for 50 us. The rest is
real, over loopback with TLS, where all servers share the cores of this machine. *Strangers* come as fast as one process can, and
are shares of one core."""

SECONDS = 30


def measure(context):
    return context.figures_of("network", BUILD / "bin/leat_network_bench")


def page(data):
    agreement, bins, sums, connecting = data["agreement"], data["bins"], data["sums"], data["connecting"]
    rows = [
        [f"agreement of {agreement['servers']} servers", time_text(agreement["ns"])],
        ["messages for each server and round", f"{agreement['messages_per_server_and_round']:.2f}"],
        ["bytes for each server and round", f"{agreement['bytes_per_server_and_round']:.0f} B"],
        [f"a round of {bins['count']} bins of {bins['servers']} servers", time_text(bins["ns"])],
        [f"a round of {sums['count']} exact sums of {sums['servers']} servers", time_text(sums["ns"])],
        [f"{connecting['servers']} servers find each other", time_text(connecting["ns"])],
        ["processor time of a server for it", time_text(connecting["processor_ns_per_server"])],
        ["memory of such a server", f"{connecting['kib_per_server']:.0f} KiB"],
    ]
    for each in data["growth"]:
        rows.append([f"agreement of {each['servers']} servers", time_text(each["ns"])])
    for each in data["strangers"]:
        rows.append([f"strangers {each['kind']}", f"{100 * each['share']:.1f} %"])
        rows.append(["one of them", time_text(each["ns_per_stranger"])])
    return table(["", ""], rows)
