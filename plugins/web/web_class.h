/* web_class.h - character classes of the peers' languages, where they differ from text_class.h:
 * Rust's (datamap-rs) and Python's (DCLM).
 *
 * Depends on text_class.h and a generated table. Promises: any code point is accepted; ASCII is
 * answered without a search. */
#ifndef WEB_CLASS_H
#define WEB_CLASS_H

#include <stdbool.h>
#include <stdint.h>

/* Rust: char::is_alphabetic, char::is_alphanumeric, char::is_whitespace (= \s of its regex), \w of
 * its regex. */
bool web_rust_alphabetic(uint32_t cp);
bool web_rust_alphanumeric(uint32_t cp);
bool web_rust_space(uint32_t cp);
bool web_rust_word(uint32_t cp);

/* Python: str.isalnum, str.isdigit, \w of re, str.isspace (= \s of re). */
bool web_python_alnum(uint32_t cp);
bool web_python_digit(uint32_t cp);
bool web_python_word(uint32_t cp);
bool web_python_space(uint32_t cp);

/* Both: str.isupper of one character, char::is_uppercase; \d of both regex engines. */
bool web_upper(uint32_t cp);
bool web_decimal(uint32_t cp);

#endif
