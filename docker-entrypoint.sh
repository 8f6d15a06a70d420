#!/bin/sh
# Each container has a cache of compiled kernels of its own, begun with the image's.
set -eu
mkdir -p "$NUMBA_CACHE_DIR"
cp -R /opt/kernels/. "$NUMBA_CACHE_DIR"
exec "$@"
