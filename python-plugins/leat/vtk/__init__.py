# SPDX-License-Identifier: Apache-2.0
"""Meshes of a run as data objects of VTK, for scripts of Catalyst and for ctx.picture, and the pictures that the latter draws of them."""
