/* Floats as JSON: std::to_chars, the shortest text that reads back equal. See jsonl_text.h. */
#include "jsonl_text.h"

#include <charconv>
#include <cmath>
#include <cstring>

template <typename T> static size_t print(T value, char *at)
{
    if (!std::isfinite(value)) {
        memcpy(at, "null", 4);
        return 4;
    }
    const std::to_chars_result end = std::to_chars(at, at + JSONL_NUMBER_MAX - 2, value);
    const size_t n = static_cast<size_t>(end.ptr - at);
    if (memchr(at, '.', n) == nullptr && memchr(at, 'e', n) == nullptr) {
        memcpy(at + n, ".0", 2);
        return n + 2;
    }
    return n;
}

size_t jsonl_double(double value, char *at)
{
    return print(value, at);
}

size_t jsonl_float(float value, char *at)
{
    return print(value, at);
}
