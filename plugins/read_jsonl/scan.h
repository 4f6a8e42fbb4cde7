/* Values of a JSON text that are plain to see, by one look at each byte. Private to this folder.
 *
 * Every function gives false where it isn't sure, for whatever reason, and then nothing is known:
 * the parser decides (record.cc). What it gives true for is valid JSON (RFC 8259, as simdjson has
 * it) but for one thing: where wide() is true, strings may hold bytes outside ASCII, and the caller
 * must still find out whether they are UTF-8. 63 bytes behind end may be read. */
#ifndef READ_JSONL_SCAN_H
#define READ_JSONL_SCAN_H

#include <cstdint>
#include <cstring>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include <sluice_arrays.h>

namespace sluice_json
{

/* What one letter behind a backslash stands for; 0: it is none, or u. */
struct Escapes {
    char of[256] = {};
    constexpr Escapes()
    {
        const char letters[] = "ntrbf\"\\/";
        const char meant[] = "\n\t\r\b\f\"\\/";
        for (size_t i = 0; letters[i] != '\0'; i++) {
            of[static_cast<unsigned char>(letters[i])] = meant[i];
        }
    }
};

inline constexpr Escapes escapes;

class Scan
{
  public:
    Scan(const char *data, size_t n) : p(data), end(data + n)
    {
    }

    const char *p, *end;
    bool out_of_memory = false;

    bool wide() const
    {
#if defined(__SSE2__)
        return _mm_movemask_epi8(seen_) != 0;
#else
        return seen_ != 0;
#endif
    }

    /* Past white space, and past c behind it. */
    bool take(char c)
    {
        space();
        if (p >= end || *p != c) {
            return false;
        }
        p++;
        return true;
    }

    void space()
    {
        while (p < end && (*p == ' ' || *p == '\t' || *p == '\n' || *p == '\r')) {
            p++;
        }
    }

    /* The string whose opening quote is behind p. into: its value is written behind what is there
     * (its size stays), *n bytes; NULL: it is only looked at. */
    bool string(sluice_bytes *into, size_t *n)
    {
        return into != nullptr ? string_of<true>(into, n) : string_of<false>(nullptr, n);
    }

    /* A number without an exponent, of at most 18 digits before the point. */
    bool number(bool *integer)
    {
        const char *first;

        p += p < end && *p == '-' ? 1 : 0;
        first = p;
        if (!digits() || p - first > 18 || (*first == '0' && p - first > 1)) {
            return false;
        }
        *integer = true;
        if (p < end && *p == '.') {
            *integer = false;
            p++;
            return digits();
        }
        return true; /* what must not follow isn't a comma or a bracket either */
    }

    bool word(const char *text, size_t n)
    {
        if (static_cast<size_t>(end - p) < n || std::memcmp(p, text, n) != 0) {
            return false;
        }
        p += n;
        return true;
    }

    /* A value of any type that nobody reads; depth: how many arrays and objects may be in it. */
    bool value(int depth)
    {
        bool integer;
        size_t n;

        if (p >= end) {
            return false;
        }
        switch (*p) {
        case '"':
            p++;
            return string(nullptr, &n);
        case 't':
            return word("true", 4);
        case 'f':
            return word("false", 5);
        case 'n':
            return word("null", 4);
        case '[':
        case '{':
            return depth > 0 && items(depth - 1);
        default:
            return number(&integer);
        }
    }

  private:
    bool digits()
    {
        const char *first = p;

        while (p < end && *p >= '0' && *p <= '9') {
            p++;
        }
        return p > first;
    }

    /* An array or an object. */
    bool items(int depth)
    {
        const bool object = *p++ == '{';
        const char close = object ? '}' : ']';
        size_t n;

        if (take(close)) {
            return true;
        }
        for (;;) {
            if (object && !(take('"') && string(nullptr, &n) && take(':'))) {
                return false;
            }
            space();
            if (!value(depth)) {
                return false;
            }
            if (!take(',')) {
                return take(close);
            }
        }
    }

    static int hex(char c)
    {
        return c >= '0' && c <= '9'   ? c - '0'
               : c >= 'a' && c <= 'f' ? c - 'a' + 10
               : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                      : -1;
    }

    /* The four digits behind \u, which p is behind. */
    bool unit(uint32_t *out)
    {
        *out = 0;
        if (end - p < 4) {
            return false;
        }
        for (int i = 0; i < 4; i++) {
            int digit = hex(p[i]);
            if (digit < 0) {
                return false;
            }
            *out = *out << 4 | static_cast<uint32_t>(digit);
        }
        p += 4;
        return true;
    }

    /* The escape \u that p is behind the u of: up to 4 bytes at to, which moves behind them. */
    bool escape(char *&to)
    {
        uint32_t cp;
        uint32_t low;

        if (!unit(&cp)) {
            return false;
        }
        if (cp >= 0xD800 && cp < 0xE000) {
            if (cp >= 0xDC00 || !word("\\u", 2) || !unit(&low) || low < 0xDC00 || low >= 0xE000) {
                return false; /* half a pair */
            }
            cp = 0x10000 + ((cp - 0xD800) << 10) + (low - 0xDC00);
        }
        if (cp < 0x80) {
            *to++ = static_cast<char>(cp);
        } else if (cp < 0x800) {
            *to++ = static_cast<char>(0xC0 | cp >> 6);
            *to++ = static_cast<char>(0x80 | (cp & 63));
        } else {
            if (cp < 0x10000) {
                *to++ = static_cast<char>(0xE0 | cp >> 12);
            } else {
                *to++ = static_cast<char>(0xF0 | cp >> 18);
                *to++ = static_cast<char>(0x80 | (cp >> 12 & 63));
            }
            *to++ = static_cast<char>(0x80 | (cp >> 6 & 63));
            *to++ = static_cast<char>(0x80 | (cp & 63));
        }
        return true;
    }

    /* Blocks are looked at whole, and their escapes replaced one after the other: where the next
     * one stands does not depend on the last one's place, which nobody foretells. */
    template <bool keep> bool string_of(sluice_bytes *into, size_t *n)
    {
        char none[3 * STEP];
        char *to = none;
        const char *limit = none; /* keep: two STEPs may be written at what is below */
        const char *from = p;     /* members stay in memory: char may alias them */
        Bytes seen = seen_;

        while (from < end) {
            if (keep && to >= limit) {
                size_t done =
                    limit == none ? 0 : static_cast<size_t>(to - (into->data + into->size));
                if (!sluice_bytes_reserve(into, done + (done < ROOM ? ROOM : done / 4))) {
                    out_of_memory = true;
                    return false;
                }
                to = into->data + into->size + done;
                limit = into->data + into->capacity - 2 * STEP;
            }
            if (!keep) {
                to = none;
            }
            const bool whole = static_cast<size_t>(end - from) > STEP;
            uint64_t mask = look<keep>(from, to, &seen);
            size_t at = 0; /* in the block: what goes to `to` */
            while (mask != 0) {
                const size_t stop = static_cast<size_t>(__builtin_ctzll(mask));
                if (from + stop >= end) {
                    return false;
                }
                to += stop - at;
                if (from[stop] == '"') {
                    *n = keep ? static_cast<size_t>(to - (into->data + into->size)) : 0;
                    p = from + stop + 1;
                    seen_ = seen;
                    return true;
                }
                if (from[stop] != '\\') {
                    return false;
                }
                const char simple = escapes.of[static_cast<unsigned char>(from[stop + 1])];
                at = stop + 2;
                if (simple == 0) {
                    p = from + at;
                    if (from[stop + 1] != 'u' || !escape(to)) {
                        return false;
                    }
                    at = static_cast<size_t>(p - from);
                    break;
                }
                *to++ = simple;
                if (!whole) {
                    break; /* what is behind it in the block is looked at again */
                }
                mask &= ~(static_cast<uint64_t>(3) << stop);
                if (keep) {
                    copy(from + at, to);
                }
            }
            if (mask == 0 && at < STEP) {
                to += STEP - at;
                at = STEP;
            }
            from += at;
        }
        return false;
    }

#if defined(__SSE2__)
    typedef __m128i Bytes;
    static constexpr size_t STEP = 64; /* bytes of a block */
    Bytes seen_ = _mm_setzero_si128();

    static __m128i load(const char *from)
    {
        return _mm_loadu_si128(reinterpret_cast<const __m128i *>(from));
    }
    static void store(char *to, __m128i bytes)
    {
        _mm_storeu_si128(reinterpret_cast<__m128i *>(to), bytes);
    }
    static void copy(const char *from, char *to)
    {
        store(to, load(from));
        store(to + 16, load(from + 16));
        store(to + 32, load(from + 32));
        store(to + 48, load(from + 48));
    }

    /* Bit i: byte i is a quote, a backslash or a control character. */
    static uint64_t stops(__m128i bytes)
    {
        const __m128i quote = _mm_cmpeq_epi8(bytes, _mm_set1_epi8('"'));
        const __m128i slash = _mm_cmpeq_epi8(bytes, _mm_set1_epi8('\\'));
        const __m128i control = _mm_cmpeq_epi8(bytes, _mm_min_epu8(bytes, _mm_set1_epi8(0x1F)));
        const __m128i any = _mm_or_si128(_mm_or_si128(quote, slash), control);
        return static_cast<unsigned>(_mm_movemask_epi8(any));
    }

    /* The stops of a block, which is copied. */
    template <bool keep> static uint64_t look(const char *from, char *to, Bytes *seen)
    {
        const __m128i a = load(from), b = load(from + 16), c = load(from + 32), d = load(from + 48);

        if (keep) {
            store(to, a);
            store(to + 16, b);
            store(to + 32, c);
            store(to + 48, d);
        }
        *seen = _mm_or_si128(*seen, _mm_or_si128(_mm_or_si128(a, b), _mm_or_si128(c, d)));
        return (stops(a) | stops(b) << 16) | (stops(c) | stops(d) << 16) << 32;
    }
#else
    typedef uint64_t Bytes;
    static constexpr size_t STEP = 8;
    Bytes seen_ = 0;

    static void copy(const char *from, char *to)
    {
        std::memcpy(to, from, STEP);
    }

    template <bool keep> static uint64_t look(const char *from, char *to, Bytes *seen)
    {
        uint64_t bytes;
        uint64_t mask = 0;

        std::memcpy(&bytes, from, STEP);
        if (keep) {
            std::memcpy(to, &bytes, STEP);
        }
        *seen |= bytes & 0x8080808080808080u;
        for (size_t i = 0; i < STEP; i++) {
            const unsigned char c = static_cast<unsigned char>(from[i]);
            mask |= static_cast<uint64_t>(c == '"' || c == '\\' || c < 0x20) << i;
        }
        return mask;
    }
#endif

    static constexpr size_t ROOM = 256;
};

} /* namespace sluice_json */

#endif
