# SPDX-License-Identifier: Apache-2.0
"""`leat dash`: a page that shows running sessions, from their control channels and from what they leave in their folders."""
