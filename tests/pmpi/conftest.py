# SPDX-License-Identifier: Apache-2.0
"""Each test that asks for `mpi` is run with each of them."""
import pytest
from mpis import NAMES, Mpi


@pytest.fixture(scope="session", params=NAMES)
def mpi(request, tmp_path_factory):
    return Mpi(request.param, tmp_path_factory.mktemp(request.param))
