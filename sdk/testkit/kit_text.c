/* Documents for generated rows: plain prose, and the kinds of text that break things. A document is
 * a pure function of its random numbers. See kitInt.h. */
#include <string.h>

#include "base/hash.h"
#include "testkit/kitInt.h"

struct kit_random kit_random_of(uint64_t seed, const char *name, uint64_t id)
{
    struct kit_random random;
    struct hash128 hash = hash_bytes(name, strlen(name));

    random.state = hash.lo ^ (seed * UINT64_C(0x9e3779b97f4a7c15)) ^ (id << 32) ^ (id >> 32);
    kit_next(&random);
    random.state ^= id * UINT64_C(0xd1342543de82ef95);
    return random;
}

/* splitmix64 (Steele, Lea, Flood 2014). */
uint64_t kit_next(struct kit_random *random)
{
    uint64_t z = random->state += UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

uint64_t kit_below(struct kit_random *random, uint64_t n)
{
    return n == 0 ? 0 : kit_next(random) % n;
}

static const char *const words[] = {
    "the",     "of",       "and",      "to",     "that",    "have",   "with",       "be",
    "water",   "river",    "said",     "people", "because", "found",  "language",   "number",
    "history", "between",  "2,048",    "3.14",   "don't",   "e-mail", "University", "However",
    "science", "question", "children", "small",  "quickly", "I",      "a",          "is"
};

static const char *const lines[] = {
    "- a bullet point",
    "\xe2\x80\xa2 another one",
    "# Heading",
    "lorem ipsum dolor sit amet",
    "function f() { return 1; }",
    "Terms of use. Privacy policy.",
    "Read more...",
    "We use cookies; javascript must be enabled.",
    "http://example.org/a?b=c&d=%20",
    "{\"a\": [1, 2, {\"b\": null}]}",
};

/* Each is whole, valid UTF-8. */
static const char *const odd[] = {
    "",
    " ",
    "\n",
    "\n\n\n \t \r\n",
    "a",
    "\xe4\xbb\x8a\xe5\xa4\xa9\xe5\xa4\xa9\xe6\xb0\x94\xe5\xbe\x88\xe5\xa5\xbd\xe3\x80\x82",
    "\xd8\xa7\xd9\x84\xd8\xb3\xd9\x84\xd8\xa7\xd9\x85 \xd8\xb9\xd9\x84\xd9\x8a\xd9\x83\xd9\x85",
    "\xe2\x80\xae"
    "desrever si siht\xe2\x80\xac \xe2\x80\xab\xe2\x80\x8f",
    "\xf0\x9f\x98\x80\xf0\x9f\x91\xa9\xe2\x80\x8d\xf0\x9f\x91\xa7\xf0\x9f\x8f\xbd \xf0\x9d\x94\x98",
    "\xe0\xb8\xa0\xe0\xb8\xb2\xe0\xb8\xa9\xe0\xb8\xb2\xe0\xb9\x84\xe0\xb8\x97\xe0\xb8\xa2",
    "\xe0\xa4\xb9\xe0\xa4\xbf\xe0\xa4\xa8\xe0\xa5\x8d\xe0\xa4\xa6\xe0\xa5\x80",
    "\xef\xbb\xbf"
    "byte order mark",
    "\xef\xbf\xbd \xef\xbf\xbf \xef\xbf\xbe \xf4\x8f\xbf\xbf",
    "line\xe2\x80\xa8separator\xe2\x80\xa9paragraph\xc2\x85next",
    "zero\xe2\x80\x8bwidth\xc2\xa0space\xe3\x80\x80wide",
    "\x01\x02\x1b[31m\x7f\xc2\x80",
    "<|endoftext|><|im_start|>",
    "%s%n%d %1$s \\u0000 \\ \" ' ` $(x)",
    "-0 +1e999 NaN inf 0x1p-1074 99999999999999999999",
    "\xc4\xb0I\xc4\xb1i\xc3\x9f\xef\xac\x81\xc7\x85",
};

static void prose(struct buf *out, struct kit_random *random, uint64_t n)
{
    for (uint64_t i = 0; i < n; i++) {
        uint64_t choice = kit_below(random, 100);
        buf_puts(out, words[kit_below(random, sizeof words / sizeof words[0])]);
        if (choice < 9) {
            buf_puts(out, ". ");
        } else if (choice < 12) {
            buf_puts(out, ".\n");
        } else if (choice < 13) {
            buf_puts(out, "\n\n");
        } else if (choice < 14) {
            buf_putc(out, '\n');
            buf_puts(out, lines[kit_below(random, sizeof lines / sizeof lines[0])]);
            buf_putc(out, '\n');
        } else {
            buf_putc(out, ' ');
        }
    }
}

static void repeat(struct buf *out, const char *text, size_t n, uint64_t times)
{
    for (uint64_t i = 0; i < times; i++) {
        buf_append(out, text, n);
    }
}

static void hostile(struct buf *out, struct kit_random *random)
{
    const char *piece = odd[kit_below(random, sizeof odd / sizeof odd[0])];

    switch (kit_below(random, 10)) {
    case 0: /* combining marks without end */
        buf_puts(out, "e");
        repeat(out, "\xcc\x81\xcc\xa7", 4, 20 + kit_below(random, 400));
        break;
    case 1: /* no blanks at all */
        repeat(out, "x\xc3\xa9", 3, 50 + kit_below(random, 2000));
        break;
    case 2: /* one word, over and over */
        repeat(out, "buffalo ", 8, 30 + kit_below(random, 300));
        break;
    case 3: /* NULs */
        buf_append(out, "nul\0 in \0\0 the middle\0", 22);
        break;
    case 4: /* many short lines */
        repeat(out, "a\r\n", 3, 20 + kit_below(random, 300));
        break;
    case 5: /* an odd piece between prose */
        prose(out, random, kit_below(random, 30));
        buf_puts(out, piece);
        prose(out, random, kit_below(random, 30));
        break;
    case 6: /* four-byte characters only */
        repeat(out, "\xf0\xa0\x9c\x8e", 4, 1 + kit_below(random, 200));
        break;
    default:
        buf_puts(out, piece);
        break;
    }
}

void kit_text(struct buf *out, struct kit_random *random, enum kit_profile profile)
{
    uint64_t choice = kit_below(random, 100);

    if (profile == KIT_HOSTILE || choice < 15) {
        hostile(out, random);
    } else if (choice < 40) {
        prose(out, random, kit_below(random, 12));
    } else if (choice < 95) {
        prose(out, random, 20 + kit_below(random, 160));
    } else {
        prose(out, random, 400 + kit_below(random, 800));
    }
}

void kit_text_huge(struct buf *out, size_t n, bool blanks)
{
    struct kit_random random = kit_random_of(1, "huge", 1);
    struct buf part = BUF_INIT;

    if (blanks) {
        prose(&part, &random, 4000);
    } else {
        repeat(&part, "abc\xc3\xa9", 5, 4000);
    }
    if (buf_reserve(out, n + part.size)) {
        repeat(out, buf_str(&part), part.size, part.size > 0 ? n / part.size + 1 : 0);
    }
    buf_deinit(&part);
}
