# SPDX-License-Identifier: Apache-2.0
"""Runs scripts that were written for Damaris, as they are: what they find there they find here."""
