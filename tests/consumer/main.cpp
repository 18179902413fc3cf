#include <brio/brio.hpp>

int other();

int main() { return other(); }
