# SPDX-License-Identifier: Apache-2.0
"""`leat report`: what a run has made, on one screen and as a page."""
