# SPDX-License-Identifier: Apache-2.0
"""ParaView's client, for tests: live_client.py PORT pause | die. Prints "listening"; when Catalyst has connected and it sees the script's
sources it prints "connected", and kills itself, or pauses the simulation and stays."""
import os
import signal
import sys
import time

from paraview import live

port, what = int(sys.argv[1]), sys.argv[2]
link = live.ConnectToCatalyst("localhost", port)
print("listening", flush=True)


def until(condition):
    while not condition():
        live.ProcessServerNotifications()
        time.sleep(0.02)


def is_connected():
    manager = link.GetInsituProxyManager()
    return manager is not None and "Slice1" in [manager.GetProxyName("sources", i) for i in range(manager.GetNumberOfProxies("sources"))]


until(is_connected)
print("connected", flush=True)
if what == "die":
    os.kill(os.getpid(), signal.SIGKILL)
live.PauseCatalyst(link)
until(lambda: False)
