# SPDX-License-Identifier: Apache-2.0
"""What runs the jobs of the bench, and judges and draws what they measured."""
