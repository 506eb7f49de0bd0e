# SPDX-License-Identifier: Apache-2.0
"""damaris4py.server: who the server is, and its communicator, which has one member.

A script sees what the ranks of its node have written; on several nodes there is one such script on each, and they do not meet.
"""

_environment, _clients = {}, []


def _take(environment, clients):
    """Of the iteration that a script is about to be run for."""
    _environment.update(environment)
    _clients[:] = clients


class ServerComm:
    """A communicator of one, with the verbs of mpi4py's that scripts use; no MPI is behind it."""
    rank, size = 0, 1

    def Get_rank(self):
        return 0

    def Get_size(self):
        return 1

    def Barrier(self):
        """Nobody else is waited for."""

    barrier = Barrier

    def bcast(self, value=None, root=0):
        return value

    def gather(self, value, root=0):
        return [value]

    allgather = gather

    def scatter(self, values, root=0):
        return values[0]

    def alltoall(self, values):
        return list(values)

    def reduce(self, value, op=None, root=0):
        return value

    def allreduce(self, value, op=None):
        return value

    def Bcast(self, array, root=0):
        """The array is what it is."""

    def Gather(self, sent, received, root=0):
        _copy(sent, received)

    def Allgather(self, sent, received):
        _copy(sent, received)

    def Reduce(self, sent, received, op=None, root=0):
        _copy(sent, received)

    def Allreduce(self, sent, received, op=None):
        _copy(sent, received)


def _copy(sent, received):
    received[...] = sent.reshape(received.shape)


_COMM = ServerComm()


def getservercomm():
    """The communicator of the servers."""
    return _COMM


getdamariscomm = getservercomm


def getclientcomm():
    """Of the clients: those are ranks of the simulation, and this is none."""
    raise RuntimeError("getclientcomm(): scripts run in a process of their own, which is no rank of the simulation")


def getglobalcomm():
    """Of clients and servers: no server of Leat is in a communicator with the ranks."""
    raise RuntimeError("getglobalcomm(): scripts run in a process of their own, which is in no communicator with the simulation")


def isclient():
    return False


def isserver():
    return True


def isdedicatedcore():
    return _environment["is_dedicated_core"]


def isdedicatednode():
    return _environment["is_dedicated_node"]


def clientspernode():
    return _environment["clients_per_node"]


def corespernode():
    return _environment["cores_per_node"]


def serverspernode():
    return _environment["servers_per_node"]


def numberofnodes():
    return _environment["number_of_nodes"]


def listknownclients():
    """Ranks that have written something of what the script is given in this iteration."""
    return list(_clients)


def magicnumber_string():
    return _environment["simulation_magic_number"]
