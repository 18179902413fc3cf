#!/bin/bash
# Runs nginx's own `configure` beside its source tree and leaves in OUTPUT:
#   source/                       links into the tree (the tree itself stays untouched)
#   source/objs/ngx_auto_config.h what the headers need to match the nginx binary
# Debian's tree says in `conf_flags` how its binary was configured; any other tree gets flags with
# the same signature (--with-compat --with-threads). Done once: a second run finds the stamp.
#
# usage: configure_nginx.sh SOURCE OUTPUT
set -euo pipefail

source=$(cd "$1" && pwd)
output=$2
work=$output/source
stamp=$output/stamp
want="$source $(stat -c %Y "$source/configure" "$source/src/core/nginx.h" | tr '\n' ' ')"

if [ -f "$work/objs/ngx_auto_config.h" ] && [ "$(cat "$stamp" 2>/dev/null)" = "$want" ]; then
  exit 0
fi

rm -rf "$output"
mkdir -p "$work"
for entry in auto configure src; do
  ln -s "$source/$entry" "$work/$entry"
done

NGX_CONF_FLAGS=(--with-compat --with-threads --with-http_ssl_module --with-http_v2_module)
if [ -f "$source/conf_flags" ]; then
  # shellcheck disable=SC1091
  . "$source/conf_flags"
fi

log=$output/configure.log
if ! (cd "$work" && ./configure "${NGX_CONF_FLAGS[@]}" --builddir=objs) >"$log" 2>&1; then
  tail -n 20 "$log" >&2
  echo "nginx's configure failed, see $log" >&2
  exit 1
fi
echo "$want" >"$stamp"
