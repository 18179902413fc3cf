// main() of every test program with Catch2 version 2; version 3 links its own.
#define CATCH_CONFIG_MAIN
#include "catch.hpp"
