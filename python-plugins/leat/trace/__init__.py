# SPDX-License-Identifier: Apache-2.0
"""`leat trace`: what ranks, stores and scripts of a run did when."""
