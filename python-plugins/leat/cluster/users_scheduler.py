# SPDX-License-Identifier: Apache-2.0
"""The user's own Dask scheduler, by the file that it has written (dask-scheduler --scheduler-file). Whatever that says, whoever is there
is asked who it is before anybody works with it, and within a time limit."""
import asyncio
import json
import logging
import socket
import threading

import distributed

_PROTOCOLS = ("tcp", "tls")
_LOOK_SECONDS = 5


class CannotBeUsed(Exception):
    """With the reason, for people."""


def found(users, security, versions):
    """(card for Cluster.join(), client). users: {"scheduler_file", "timeout"}. versions: of this process."""
    path, seconds = users["scheduler_file"], users["timeout"]
    told = _read(path)
    protocol, host, port = _parts(path, told["address"])
    _expect_somebody(path, host, port, seconds)
    try:
        identity, packages = asyncio.run(_asked(told["address"], security, seconds))
    except Exception as error:
        raise CannotBeUsed(f"who is at {told['address']}, where {path} has a Dask scheduler, does not speak as one of this version of "
                           f"Dask: {type(error).__name__}: {error}") from None
    _expect_it(path, told, identity)
    _expect_versions(path, versions, packages)
    try:
        client = distributed.Client(told["address"], security=security, timeout=seconds)
    except Exception as error:
        raise CannotBeUsed(f"the Dask scheduler of {path} takes no client: {type(error).__name__}: {error}") from None
    return {"id": told["id"], "protocol": protocol, "addresses": [host], "port": port, "why_none": ""}, client


async def _asked(address, security, seconds):
    """(who it says it is, its packages). It may be anybody: a Client would try for much longer."""
    async def ask():
        there = distributed.rpc(address, connection_args=security.get_connection_args("client"))
        try:
            return await there.identity(), (await there.versions())["packages"]
        finally:
            await there.close_rpc()

    quiet = logging.getLogger("distributed")
    before = quiet.level
    quiet.setLevel(logging.CRITICAL)
    try:
        return await asyncio.wait_for(ask(), seconds)
    except TimeoutError:
        raise TimeoutError(f"no answer within {seconds:g} s") from None
    finally:
        quiet.setLevel(before)


def workers_of(client):
    """Addresses; none when the scheduler is gone."""
    try:
        return set(_bounded(client.nthreads, _LOOK_SECONDS))
    except Exception:
        return set()


def _read(path):
    try:
        with open(path) as file:
            told = json.load(file)
    except OSError as error:
        raise CannotBeUsed(f"there is no Dask scheduler: {path}: {error.strerror}. Start one with dask-scheduler --scheduler-file "
                           f"{path} before the run") from None
    except ValueError:
        told = None
    if not isinstance(told, dict) or not all(isinstance(told.get(key), str) for key in ("id", "address")):
        raise CannotBeUsed(f"{path} is not what dask-scheduler --scheduler-file writes: it has no id and address of a scheduler")
    return told


def _parts(path, address):
    protocol, _, rest = address.partition("://")
    host, _, port = rest.rpartition(":")
    if protocol not in _PROTOCOLS or not host or not port.isdigit():
        raise CannotBeUsed(f"{path} has the address {address}: one of tcp:// or tls:// with a port is expected")
    return protocol, host.strip("[]"), int(port)


def _expect_somebody(path, host, port, seconds):
    try:
        socket.create_connection((host, port), seconds).close()
    except OSError as error:
        raise CannotBeUsed(f"there is nobody at {host}, port {port}, where {path} has a Dask scheduler ({error.strerror or error}): it has "
                           "ended, or cannot be reached from this node") from None


def _expect_it(path, told, info):
    if info.get("id") != told["id"]:
        raise CannotBeUsed(f"{path} is of another scheduler ({told['id']}) than the one that is at {told['address']} now "
                           f"({info.get('id')}): start it anew, so that it writes the file")


def _expect_versions(path, own, packages):
    there = {name: str(packages.get(name.lower())) for name in own}
    there["Python"] = ".".join(there["Python"].split(".")[:2])
    if there == own:
        return
    raise CannotBeUsed(f"the Dask scheduler of {path} has {_text(there)}, the scripts have {_text(own)}: both have to be the same; "
                       "<scripts interpreter=\"...\"> names the Python of the scripts")


def _text(versions):
    return ", ".join(f"{name} {version}" for name, version in versions.items())


def _bounded(call, seconds):
    """call(), or a TimeoutError: it may wait for somebody who never answers."""
    came = []

    def run():
        try:
            came.append((call(), None))
        except Exception as error:
            came.append((None, error))

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(seconds)
    if not came:
        raise TimeoutError(f"no answer within {seconds:g} s")
    made, error = came[0]
    if error:
        raise error
    return made
