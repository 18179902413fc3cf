#!/bin/bash
# A project that has brio as a meson subproject: it must get the engine and nothing else, with no
# nginx in sight, and link although two of its files include all of brio.
#
# usage: check.sh BRIO_SOURCE SCRATCH
set -euo pipefail

source=$1
scratch=$2
rm -rf "$scratch"
mkdir -p "$scratch/subprojects/brio"
cp "$source"/tests/consumer/{meson.build,main.cpp,other.cpp} "$scratch/"
cp -r "$source"/{meson.build,meson_options.txt,include} "$scratch/subprojects/brio/"

# The sanitizer options of the build that runs this are not ours to inherit.
meson setup "$scratch/build" "$scratch" >"$scratch/log" || { cat "$scratch/log"; exit 1; }
ninja -C "$scratch/build" >>"$scratch/log" || { cat "$scratch/log"; exit 1; }
"$scratch/build/consumer"

targets=$(meson introspect --targets "$scratch/build" |
          /usr/bin/python3 -c 'import json, sys; print(" ".join(t["name"] for t in json.load(sys.stdin)))')
if [ "$targets" != consumer ]; then
  echo "a subproject must not bring targets of its own: $targets"
  exit 1
fi
