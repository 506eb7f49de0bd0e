# SPDX-License-Identifier: Apache-2.0
"""Scripts: what they are written with (declare, context), and what runs them (worker, replay, lint)."""
