/* A library whose debug information has lines and names alone (-g1), as distributions ship it. */
#include <stddef.h>

__attribute__((visibility("default"))) double lib_lines(const char *text, size_t n);
double lib_lines(const char *text, size_t n)
{
    double lines = 0;

    for (size_t i = 0; i < n; i++) {
        lines += text[i] == '\n';
    }
    return lines;
}
