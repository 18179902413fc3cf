#!/bin/bash
# Builds nginx from a source tree, which stays as it is, with the options of the installed one. VARIANT:
#
#   sanitized   with ASan and UBSan, every pool allocation a malloc of its own
#   static      with brio linked in, fault injection included
#   dynamic     brio alone, as nginx's configure makes it, for any nginx of that version and options
#   bare        with brio linked in, without threads and without gzip
#
# usage: build_nginx.sh VARIANT SOURCE OUTPUT
#        leaves OUTPUT/nginx, or OUTPUT/ngx_http_brio_module.so for dynamic
set -euo pipefail

variant=$1
source=$(cd "$2" && pwd)
mkdir -p "$3"
output=$(cd "$3" && pwd)
binding=$(cd "$(dirname "$0")/../../nginx_binding" && pwd)
objects=$output/objs

mapfile -t installed < <(nginx -V 2>&1 | tr ' ' '\n' | grep -E '^--with-[a-z0-9_-]+$')
# Without the parts that the tests never load.
mapfile -t lean < <(printf '%s\n' "${installed[@]}" | grep -vE '^--with-(mail|stream)')
product=nginx
target=binary

case $variant in
  sanitized)
    # nginx copies zero bytes from and to null pointers all over, and reads numbers from wherever they
    # lie: harmless here, and not what these tests look for.
    sanitizers=address,undefined
    exceptions=nonnull-attribute,pointer-overflow,alignment,null
    options=("${lean[@]}"
      "--with-cc-opt=-O1 -g -fno-omit-frame-pointer -fsanitize=$sanitizers -fno-sanitize=$exceptions -DNGX_DEBUG_PALLOC=1"
      "--with-ld-opt=-fsanitize=$sanitizers -Wl,--no-as-needed -lstdc++")
    ;;
  static)
    options=("${lean[@]}" --with-cc-opt="-O2 -g -DBRIO_FAULTS=1" "--add-module=$binding")
    ;;
  dynamic)
    options=("${installed[@]}" --with-cc-opt="-O2 -g -DBRIO_FAULTS=1" "--add-dynamic-module=$binding")
    product=ngx_http_brio_module.so
    target=modules
    ;;
  bare)
    options=(--without-http_gzip_module --without-http_rewrite_module --with-http_v2_module
      --with-http_ssl_module --with-http_stub_status_module --with-debug "--add-module=$binding")
    ;;
  *)
    echo "no variant '$variant'" >&2
    exit 1
    ;;
esac

cd "$source"
if [ ! -f "$objects/Makefile" ] || [ "$(cat "$objects/options" 2>/dev/null)" != "${options[*]}" ]; then
  rm -rf "$objects"
  ./configure "${options[@]}" --builddir="$objects" --error-log-path=stderr
  echo "${options[*]}" >"$objects/options"
fi
make -f "$objects/Makefile" -j "$(nproc)" "$target"
cp "$objects/$product" "$output/$product"
