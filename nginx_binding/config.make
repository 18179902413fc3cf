# Read by nginx's configure when it has written its Makefile.

for brio_source in $ngx_addon_dir/*.cpp; do
    brio_object=`basename $brio_source .cpp`.$ngx_objext
    cat << END                                                    >> $NGX_MAKEFILE

$NGX_OBJS/addon/`basename $ngx_addon_dir`/$brio_object: CFLAGS += -std=c++20 -fvisibility=hidden
END
done
