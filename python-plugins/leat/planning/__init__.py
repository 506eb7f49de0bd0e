# SPDX-License-Identifier: Apache-2.0
"""The commands `leat plan` and `leat predict`: what a run would take. They start nothing, and need no server. And what
`leat launch --pretend-nodes` starts, on one machine."""
