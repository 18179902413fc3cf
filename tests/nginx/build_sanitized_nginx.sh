#!/bin/bash
# Builds an nginx with ASan and UBSan from a source tree, with the options of the installed one (so
# that a module fits both) and with every pool allocation a malloc of its own.
#
# usage: build_sanitized_nginx.sh SOURCE OUTPUT     leaves OUTPUT/nginx
set -euo pipefail

source=$(cd "$1" && pwd)
output=$2
if [ -x "$output/nginx" ]; then
  exit 0
fi
mkdir -p "$output"
output=$(cd "$output" && pwd)

# What the installed one can do, without the parts that the tests never load.
mapfile -t options < <(nginx -V 2>&1 | tr ' ' '\n' | grep -E '^--with-[a-z0-9_-]+$' |
                       grep -vE '^--with-(mail|stream)')

# nginx copies zero bytes from and to null pointers all over, and reads numbers from wherever they
# lie: harmless here, and not what these tests look for.
sanitizers=address,undefined
exceptions=nonnull-attribute,pointer-overflow,alignment,null

cd "$source"
./configure "${options[@]}" --error-log-path=stderr \
  --with-cc-opt="-O1 -g -fno-omit-frame-pointer -fsanitize=$sanitizers -fno-sanitize=$exceptions -DNGX_DEBUG_PALLOC=1" \
  --with-ld-opt="-fsanitize=$sanitizers -Wl,--no-as-needed -lstdc++"
make -f objs/Makefile -j "$(nproc)" binary
cp objs/nginx "$output/nginx"
