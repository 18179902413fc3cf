#include <brio/brio.hpp>

int other() { return 0; }
