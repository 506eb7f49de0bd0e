#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# own_shm.sh COMMAND...: with a /dev/shm of its own. Each leatd that starts on a node stores what killed sessions have left
# in memory there, and speaks for them; who wants to see it before that keeps the servers of other tests away. OWN_SHM=size=20m
# is one of that size.
export OWN_SHM="${OWN_SHM:-mode=1777}"
# shellcheck disable=SC2016 # the shell within expands them
own='mount -t tmpfs -o "$OWN_SHM" none /dev/shm && exec "$@"'
# shellcheck disable=SC2016
drop='mount -t tmpfs -o "$OWN_SHM" none /dev/shm && exec setpriv --inh-caps=-all --ambient-caps=-all -- "$@"'
if [ "$(id -u)" = 0 ]; then exec unshare --mount sh -c "$own" sh "$@"; fi
exec unshare --user --map-current-user --keep-caps --mount sh -c "$drop" sh "$@"
