# SPDX-License-Identifier: Apache-2.0
"""Runs scripts that ParaView exported for Catalyst, as they are: ParaView draws the run's meshes on the dedicated cores."""
