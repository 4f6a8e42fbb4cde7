/* test_normalizer.c — normalizers of tokenizer.json and of SentencePiece: what tokenizers 0.23.3
 * and SentencePiece 0.2.1 answered, refusals by name, damaged charsmaps, failing allocations. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <xxhash.h>

#include "normalize/bpe_nfc.h"
#include "normalize/normalizer.h"
#include "normalize/normalizer_charsmap.h"
#include "spec_kit.h"

/* Compiled by SentencePiece from 18 rules: a to xyz, b to nothing, ab to Q, e with acute, CR, CR LF
 * and d to a space, U+FB01 to fi, U+00BD to 1/2, U+0301, U+001E and the tab to nothing, c to "c c",
 * U+4E2D to itself between spaces, U+00A9 to (c), U+0915 to k, U+0600 to N, U+3000 to two
 * spaces. */
static const char rules[] =
    "AAQAAAAgAAAJDQAAAAAAgAEAAIABAACADRkAACEAAIAWAACAzAgCAAo1AAAYAACAgR0AACUAAICpDQAADAAAgBAA"
    "AICBSQAAFAAAgIANAACkSAIAlQUAAB8AAIAeUQAAgDwCAIAJAAC9WQAAAwAAgLioAgCtBQAABgAAgKwAAgCB/QAA"
    "HAAAgCAAAAAjAAAAIgAAACUAAAAkAAAAJwAAACYAAAApAAAAKAAAACsAAAAqAAAALQAAACwAAAAvAAAALgAAADEA"
    "AAAwAAAAMwAAADIAAAA1AAAANAAAADcAAAA2AAAAOQAAADgAAAA7AAAAOgAAAD0AAAA8AAAAPwAAAD4AAABBAAAA"
    "QAAAAEMAAABCAAAARQAAAEQAAABHAAAARgAAAEkAAABIAAAASwAAAEoAAABNAAAATAAAAE8AAABOAAAAUQAAAFAA"
    "AABTAAAAUgAAAFUAAABUAAAAVwAAAFYAAABZAAAAWAAAAFsAAABaAAAAXQAAAFwAAABfAAAAXgAAAGEAAABgAAAA"
    "YwAAAGIAAABijQEAZAAAAGcAAABmAAAAaQAAAGG9AQBioQEAY4UBAGShAQBlpAIAbwAAAG4AAABxAAAAcAAAAHMA"
    "AAByAAAAdQAAAHQAAAB3AAAAdgAAAHkAAAB4AAAAewAAAHoAAAB9AAAAfAAAAH8AAAB+AAAAgQAAAIAAAACDAAAA"
    "ggAAAIUAAACEAAAAhwAAAIYAAACJAAAAiAAAAIsAAACKAAAAjQAAAIwAAACPAAAAjgAAAJEAAACQAAAAkwAAAJIA"
    "AACVAAAAlAAAAJcAAACWAAAAmQAAAJgAAACbAAAAmgAAAJ0AAACcAAAAnwAAAJ4AAAChAAAAoAAAAKMAAACiAAAA"
    "pQAAAKQAAACnAAAApgAAAKkAAACoAAAAqwAAAKoAAACtAAAArAAAAK8AAACuAAAAsQAAALAAAACzAAAAsgAAALUA"
    "AAC0AAAAtwAAALYAAAC5AAAAuAAAALsAAAC6AAAAvQAAALwAAAC/AAAAvgAAAMEAAADAAAAAwwAAAMIAAADMVAEA"
    "xAAAAMcAAADGAAAAyQAAAMgAAADCuAEAygAAAM0AAADMAAAAzwAAAM4AAADYCAEA0AAAANMAAADSAAAA1QAAANQA"
    "AADXAAAA1gAAANkAAADYAAAA2wAAANoAAADdAAAA3AAAAN8AAADeAAAA4QAAAOAAAADjAAAA4gAAAOUAAADkAAAA"
    "5wAAAO9UAQDgfAEA6AAAAOsAAADj8AEA5DwBAOwAAADvAAAA7gAAAPEAAADwAAAA8wAAAPIAAAD1AAAA9AAAAPcA"
    "AAD2AAAA+QAAAPgAAAD7AAAA+gAAAP0AAAD8AAAA/wAAAP4AAAAAIAAgIAAg5LitIAAoYykAMS8yAE4AUQBjIGMA"
    "ZmkAawB4eXoAw6kA";

/* Where the spec is NULL: Precompiled with the rules above. */
static const struct spec_vector vectors[] = {
    { "{'type': 'NFC'}", "e\314\201\314\247", "\310\251\314\201" },
    { "{'type': 'NFC'}", "a\340\242\230\314\226", "a\340\242\230\314\226" },
    { "{'type': 'NFC'}", "\341\204\200\341\205\241\341\206\250\341\206\247",
      "\352\260\201\341\206\247" },
    { "{'type': 'NFC'}", "\340\245\230", "\340\244\225\340\244\274" },
    { "{'type': 'NFC'}", "\342\204\253", "\303\205" },
    { "{'type': 'NFC'}", "\340\247\207\340\246\276", "\340\247\213" },
    { "{'type': 'NFC'}", "\360\221\244\265\360\221\244\260", "\360\221\244\265\360\221\244\260" },
    { "{'type': 'NFC'}", "\315\204\314\264", "\314\264\314\210\314\201" },
    { "{'type': 'NFC'}", "\315\276\360\221\277\277\342\271\235\360\221\277\277\341\272\236",
      ";\360\221\277\277\342\271\235\360\221\277\277\341\272\236" },
    { "{'type': 'NFD'}", "\303\251\352\260\201", "e\314\201\341\204\200\341\205\241\341\206\250" },
    { "{'type': 'NFD'}", "\340\275\263\340\275\261", "\340\275\261\340\275\261\340\275\262" },
    { "{'type': 'NFD'}", "\341\272\233\314\243", "\305\277\314\243\314\207" },
    { "{'type': 'NFD'}",
      "\362\227\242\225\320\214\340\274\270\330\245\345\270\206\324\277\363\252\247\223\361\243\217"
      "\253\362\216\273\241\363\211\204\240\363\227\270\201\340\275\203%"
      "\340\267\236\360\236\204\234\361\226\251\211\360\222\230\266\341\213\254u\342\236\234\360"
      "\221\204\231",
      "\362\227\242\225\320\232\314\201\340\274\270\330\247\331\225\345\270\206\324\277\363\252\247"
      "\223\361\243\217\253\362\216\273\241\363\211\204\240\363\227\270\201\340\275\202\340\276\267"
      "%\340\267\231\340\267\237\360\236\204\234\361\226\251\211\360\222\230\266\341\213\254u\342"
      "\236\234\360\221\204\231" },
    { "{'type': 'NFKC'}", "\357\267\272",
      "\330\265\331\204\331\211 \330\247\331\204\331\204\331\207 \330\271\331\204\331\212\331\207 "
      "\331\210\330\263\331\204\331\205" },
    { "{'type': 'NFKC'}", "\343\213\277\343\214\200",
      "\343\213\277\343\202\242\343\203\221\343\203\274\343\203\210" },
    { "{'type': 'NFKC'}", "\357\275\266\357\276\236", "\343\202\254" },
    { "{'type': 'NFKC'}", "\357\254\201\302\275\342\221\240", "fi1\342\201\20421" },
    { "{'type': 'NFKC'}", "6 \342\221\240\314\210\342\200\212\341\262\21112345e\314\201",
      "6 1\314\210 \341\262\21112345\303\251" },
    { "{'type': 'NFKD'}", "\302\250\342\200\245\357\274\241", " \314\210..A" },
    { "{'type': 'NFKD'}", "\352\237\262", "\352\237\262" },
    { "{'type': 'NFKD'}", "\360\235\205\240", "\360\235\205\230\360\235\205\245\360\235\205\256" },
    { "{'type': 'NFKD'}",
      "\303\227\316\221\357\254\235\302\241\342\206\222\326\260\327\220\331\213\302\241\331\224\330"
      "\247\343\200\202\326\277\320\220\316\261\357\254\235",
      "\303\227\316\221\327\231\326\264\302\241\342\206\222\326\260\327\220\331\213\302\241\331\224"
      "\330\247\343\200\202\326\277\320\220\316\261\327\231\326\264" },
    { "{'type': 'StripAccents'}", "e\314\201\340\244\277\342\203\235a", "ea" },
    { "{'type': 'StripAccents'}",
      "\314\200\340\275\262\340\275\261\342\274\200\340\276\201\357\244\200\340\275\264\360\240\200"
      "\200\346\226\207\340\275\265\315\205\340\275\264\360\257\240\200",
      "\342\274\200\357\244\200\360\240\200\200\346\226\207\360\257\240\200" },
    { "{'type': 'Lowercase'}", "\304\260STANBUL \316\243\341\272\236\342\204\246\360\220\220\200",
      "i\314\207stanbul \317\203\303\237\317\211\360\220\220\250" },
    { "{'type': 'Lowercase'}", "\304\260\342\200\251\304\260", "i\314\207\342\200\251i\314\207" },
    { "{'type': 'Nmt'}", "a\001\011b\342\200\213\342\226\201\357\273\277\302\217\357\277\275",
      "a b    " },
    { "{'type': 'Nmt'}",
      "\360\220\220\250\352\245\240 \303\227\360\221\244\2604\355\236\260v\357\244\200 "
      "\340\260\225\357\254\235\316\221\342\200\251\342\202\254."
      "\317\202\342\200\216\360\237\207\251\342\201\237\357\275\266",
      "\360\220\220\250\352\245\240 \303\227\360\221\244\2604\355\236\260v\357\244\200 "
      "\340\260\225\357\254\235\316\221 \342\202\254.\317\202 "
      "\360\237\207\251\342\201\237\357\275\266" },
    { "{'type': 'ByteLevel'}", "a \303\251\n\344\270\255",
      "a\304\240\303\203\302\251\304\212\303\244\302\270\305\203" },
    { "{'type': 'ByteLevel'}", "\360\235\237\2165", "\303\260\304\277\305\201\304\2605" },
    { "{'type': 'Strip', 'strip_left': false, 'strip_right': false}", " \343\200\200a b\302\240 ",
      " \343\200\200a b\302\240 " },
    { "{'type': 'Strip', 'strip_left': false, 'strip_right': false}", "   ", "   " },
    { "{'type': 'Strip', 'strip_left': false, 'strip_right': true}", " \343\200\200a b\302\240 ",
      " \343\200\200a b" },
    { "{'type': 'Strip', 'strip_left': false, 'strip_right': true}", "   ", "" },
    { "{'type': 'Strip', 'strip_left': false, 'strip_right': true}",
      "\316\261\303\227\340\260\225\014\343\203\274\340\244\250\015\360\235\220\200\341\265\254 "
      "\360\240\200\200\340\270\261\341\207\202\360\235\205\236\342\206\222g\341\272\236\360\221"
      "\202\275\315\276\014",
      "\316\261\303\227\340\260\225\014\343\203\274\340\244\250\015\360\235\220\200\341\265\254 "
      "\360\240\200\200\340\270\261\341\207\202\360\235\205\236\342\206\222g\341\272\236\360\221"
      "\202\275\315\276" },
    { "{'type': 'Strip', 'strip_left': true, 'strip_right': false}", " \343\200\200a b\302\240 ",
      "a b\302\240 " },
    { "{'type': 'Strip', 'strip_left': true, 'strip_right': false}", "   ", "" },
    { "{'type': 'Strip', 'strip_left': true, 'strip_right': false}", " \343\200\202  ",
      "\343\200\202  " },
    { "{'type': 'Strip', 'strip_left': true, 'strip_right': true}", " \343\200\200a b\302\240 ",
      "a b" },
    { "{'type': 'Strip', 'strip_left': true, 'strip_right': true}", "   ", "" },
    { "{'type': 'Strip', 'strip_left': true, 'strip_right': true}",
      "\360\237\230\200\342\200\257\360\237\217\273\302\251\360\237\221\250\360\237\207\251\342\235"
      "\244\341\240\216\360\237\221\251\342\201\237\342\200\250\342\203\235\360\237\207\252\342\200"
      "\200",
      "\360\237\230\200\342\200\257\360\237\217\273\302\251\360\237\221\250\360\237\207\251\342\235"
      "\244\341\240\216\360\237\221\251\342\201\237\342\200\250\342\203\235\360\237\207\252" },
    { "{'type': 'BertNormalizer', 'clean_text': true, 'handle_chinese_chars': true, "
      "'strip_accents': null, 'lowercase': true}",
      "H\303\211llo\344\270\255x\304\260\011\357\277\275\302\255", "hello \344\270\255 xi " },
    { "{'type': 'BertNormalizer', 'clean_text': true, 'handle_chinese_chars': true, "
      "'strip_accents': null, 'lowercase': true}",
      "\315\205\314\201 \343\220\200", "  \343\220\200 " },
    { "{'type': 'BertNormalizer', 'clean_text': true, 'handle_chinese_chars': true, "
      "'strip_accents': null, 'lowercase': true}",
      "9\306\225\352\273\211\360\230\240\216\341\200\217\363\257\201\207\360\224\214\214v\341\271"
      "\202\360\273\237\256$\361\276\253\275\361\267\220\266Zg\360\272\214\210\341\200\256",
      "9\306\225\341\204\201\341\205\245\341\206\264\360\230\240\216\341\200\217\363\257\201\207"
      "\360\224\214\214vm\360\273\237\256$\361\276\253\275\361\267\220\266zg\360\272\214\210" },
    { "{'type': 'BertNormalizer', 'clean_text': true, 'handle_chinese_chars': true, "
      "'strip_accents': null, 'lowercase': false}",
      "H\303\211llo\344\270\255x\304\260\011\357\277\275\302\255",
      "H\303\211llo \344\270\255 x\304\260 " },
    { "{'type': 'BertNormalizer', 'clean_text': true, 'handle_chinese_chars': true, "
      "'strip_accents': null, 'lowercase': false}",
      "\315\205\314\201 \343\220\200", "\315\205\314\201  \343\220\200 " },
    { "{'type': 'BertNormalizer', 'clean_text': true, 'handle_chinese_chars': true, "
      "'strip_accents': null, 'lowercase': false}",
      "m\013\320\220\340\270\263 \360\237\217\273 "
      "\343\202\2316\360\226\204\236\360\226\271\200\357\267\272\343\200\201\340\244\225Q\360\235"
      "\205\240\342\200\251O\360\235\205\236\360\257\240\200m",
      "m\320\220\340\270\263 \360\237\217\273 "
      "\343\202\2316\360\226\204\236\360\226\271\200\357\267\272\343\200\201\340\244\225Q\360\235"
      "\205\240 O\360\235\205\236 \360\257\240\200 m" },
    { "{'type': 'BertNormalizer', 'clean_text': false, 'handle_chinese_chars': false, "
      "'strip_accents': true, 'lowercase': false}",
      "H\303\211llo\344\270\255x\304\260\011\357\277\275\302\255",
      "HEllo\344\270\255xI\011\357\277\275\302\255" },
    { "{'type': 'BertNormalizer', 'clean_text': false, 'handle_chinese_chars': false, "
      "'strip_accents': true, 'lowercase': false}",
      "\315\205\314\201 \343\220\200", " \343\220\200" },
    { "{'type': 'BertNormalizer', 'clean_text': false, 'handle_chinese_chars': false, "
      "'strip_accents': true, 'lowercase': false}",
      "\314\200\314\264\314\247\340\244\225\340\247\207\315\204", "\340\244\225\340\247\207" },
    { "{'type': 'BertNormalizer', 'clean_text': true, 'handle_chinese_chars': false, "
      "'strip_accents': false, 'lowercase': true}",
      "H\303\211llo\344\270\255x\304\260\011\357\277\275\302\255",
      "h\303\251llo\344\270\255xi\314\207 " },
    { "{'type': 'BertNormalizer', 'clean_text': true, 'handle_chinese_chars': false, "
      "'strip_accents': false, 'lowercase': true}",
      "\315\205\314\201 \343\220\200", "\315\205\314\201 \343\220\200" },
    { "{'type': 'BertNormalizer', 'clean_text': true, 'handle_chinese_chars': false, "
      "'strip_accents': false, 'lowercase': true}",
      "\302\262\343\200\241\360\226\204\236\342\200\251("
      "\304\260\340\270\261\340\244\250\342\200\250\342\204\246\342\200\245\303\237UV\342\205\247"
      "\340\270\263\355\237\213",
      "\302\262\343\200\241\360\226\204\236 (i\314\207\340\270\261\340\244\250 "
      "\317\211\342\200\245\303\237uv\342\205\267\340\270\263\355\237\213" },
    { "{'type': 'BertNormalizer', 'clean_text': false, 'handle_chinese_chars': true, "
      "'strip_accents': null, 'lowercase': false}",
      "H\303\211llo\344\270\255x\304\260\011\357\277\275\302\255",
      "H\303\211llo \344\270\255 x\304\260\011\357\277\275\302\255" },
    { "{'type': 'BertNormalizer', 'clean_text': false, 'handle_chinese_chars': true, "
      "'strip_accents': null, 'lowercase': false}",
      "\315\205\314\201 \343\220\200", "\315\205\314\201  \343\220\200 " },
    { "{'type': 'BertNormalizer', 'clean_text': false, 'handle_chinese_chars': true, "
      "'strip_accents': null, 'lowercase': false}",
      "\326\277\316\261\340\267\237\360\257\240\200\352\260\200Z\"\357\267\272\342\271\222 "
      "\360\220\265\212\352\260\200 "
      "\360\221\244\265\320\261\342\200\251\340\244\250\314\264\343\200\200\341\206\247\331\213 ",
      "\326\277\316\261\340\267\237 \360\257\240\200 \352\260\200Z\"\357\267\272\342\271\222 "
      "\360\220\265\212\352\260\200 "
      "\360\221\244\265\320\261\342\200\251\340\244\250\314\264\343\200\200\341\206\247\331\213 " },
    { "{'type': 'Replace', 'pattern': {'String': ' '}, 'content': '\342\226\201'}", "a  b   c aaa",
      "a\342\226\201\342\226\201b\342\226\201\342\226\201\342\226\201c\342\226\201aaa" },
    { "{'type': 'Replace', 'pattern': {'String': ' '}, 'content': '\342\226\201'}",
      "0 \304\260\327\220\303\237\341\206\247\342\200\200\340\267\237w\314\201",
      "0\342\226\201\304\260\327\220\303\237\341\206\247\342\200\200\340\267\237w\314\201" },
    { "{'type': 'Replace', 'pattern': {'String': 'aa'}, 'content': 'a'}", "a  b   c aaa",
      "a  b   c aa" },
    { "{'type': 'Replace', 'pattern': {'String': 'aa'}, 'content': 'a'}",
      "\340\267\231\330\200\n\n0\342\221\240\314\210\n\n...9\342\221\240\314\210aab\341\207\202",
      "\340\267\231\330\200\n\n0\342\221\240\314\210\n\n...9\342\221\240\314\210ab\341\207\202" },
    { "{'type': 'Replace', 'pattern': {'String': '\314\201'}, 'content': 'xyz'}", "a  b   c aaa",
      "a  b   c aaa" },
    { "{'type': 'Replace', 'pattern': {'String': '\314\201'}, 'content': 'xyz'}",
      "  \303\237\340\244\250e\314\201\011<unk>\342\226\201a\342\235\244",
      "  \303\237\340\244\250exyz\011<unk>\342\226\201a\342\235\244" },
    { "{'type': 'Replace', 'pattern': {'Regex': ' {2,}'}, 'content': '\342\226\201'}",
      "a  b   c aaa", "a\342\226\201b\342\226\201c aaa" },
    { "{'type': 'Replace', 'pattern': {'Regex': ' {2,}'}, 'content': '\342\226\201'}",
      " \343\200\202  ", " \343\200\202\342\226\201" },
    { "{'type': 'Replace', 'pattern': {'Regex': '\\\\s+'}, 'content': ' '}", "a  b   c aaa",
      "a b c aaa" },
    { "{'type': 'Replace', 'pattern': {'Regex': '\\\\s+'}, 'content': ' '}",
      "\302\217\360\221\274\202\304\261\303\227\357\274\241\314\201\343\200\200."
      "\340\260\225\343\202\253\331\243I\303\251\360\235\205\256",
      "\302\217\360\221\274\202\304\261\303\227\357\274\241\314\201 "
      ".\340\260\225\343\202\253\331\243I\303\251\360\235\205\256" },
    { "{'type': 'Replace', 'pattern': {'Regex': '[\\\\r\\\\n]|a+'}, 'content': '-=-'}",
      "a  b   c aaa", "-=-  b   c -=-" },
    { "{'type': 'Replace', 'pattern': {'Regex': '[\\\\r\\\\n]|a+'}, 'content': '-=-'}",
      "K\360\221\274\202\302\205\360\235\205\240\342\200\215\360\237\217\273\n\341\205\241\316\207"
      "\011\360\220\265\212\340\270\201\357\254\201\315\270",
      "K\360\221\274\202\302\205\360\235\205\240\342\200\215\360\237\217\273-=-"
      "\341\205\241\316\207\011\360\220\265\212\340\270\201\357\254\201\315\270" },
    { "{'type': 'Prepend', 'prepend': '\342\226\201'}", "", "" },
    { "{'type': 'Prepend', 'prepend': '\342\226\201'}", "abc", "\342\226\201abc" },
    { "{'type': 'Prepend', 'prepend': '\342\226\201'}",
      "e\314\201 "
      "the\360\235\205\236\302\275\314\201A\314\212\344\270\255\346\226\207Hello\344\270\255\346"
      "\226\207\360\237\221\250\342\200\215\360\237\221\251",
      "\342\226\201e\314\201 "
      "the\360\235\205\236\302\275\314\201A\314\212\344\270\255\346\226\207Hello\344\270\255\346"
      "\226\207\360\237\221\250\342\200\215\360\237\221\251" },
    { NULL, "\357\254\201\314\201x", "fix" },
    { NULL, "ab\015\nc d", "xyz c c  " },
    { NULL, "\302\251\314\201", "(c)" },
    { NULL, "\340\244\225\340\245\215\340\244\225\314\201", "k\340\245\215k" },
    { NULL, "b", "" },
    { NULL, "\036ab", "xyz" },
    { NULL, "\360\237\221\250\342\200\215\302\251\314\201", "\360\237\221\250\342\200\215(c)" },
    { NULL,
      "\340\270\261\340\245\247z\314\250\360\234\263\260\342\200\200\360\240\200\200."
      "\343\200\241\342\200\234\342\200\250_"
      "\340\272\263\360\226\204\236\341\232\200\342\274\200\341\240\216\330\247 "
      "\314\2019G\360\235\205\236",
      "\340\270\261\340\245\247z\314\250\360\234\263\260\342\200\200\360\240\200\200."
      "\343\200\241\342\200\234\342\200\250_"
      "\340\272\263\360\226\204\236\341\232\200\342\274\200\341\240\216\330\247 "
      "9G\360\235\205\236" },
    { "{'type': 'Sequence', 'normalizers': [{'type': 'Nmt'}, {'type': 'NFKC'}, {'type': 'Strip', "
      "'strip_left': true, 'strip_right': true}, {'type': 'Lowercase'}, {'type': 'Replace', "
      "'pattern': {'Regex': ' {2,}'}, 'content': ' '}, {'type': 'Prepend', 'prepend': "
      "'\342\226\201'}]}",
      "  A  B\302\275 ", "\342\226\201a b1\342\201\2042" },
    { "{'type': 'Sequence', 'normalizers': [{'type': 'Nmt'}, {'type': 'NFKC'}, {'type': 'Strip', "
      "'strip_left': true, 'strip_right': true}, {'type': 'Lowercase'}, {'type': 'Replace', "
      "'pattern': {'Regex': ' {2,}'}, 'content': ' '}, {'type': 'Prepend', 'prepend': "
      "'\342\226\201'}]}",
      "\340\244\274", "\342\226\201\340\244\274" },
    { "{'type': 'Sequence', 'normalizers': [{'type': 'NFD'}, {'type': 'Sequence', 'normalizers': "
      "[{'type': 'StripAccents'}, {'type': 'NFC'}]}]}",
      "  A  B\302\275 ", "  A  B\302\275 " },
    { "{'type': 'Sequence', 'normalizers': [{'type': 'NFD'}, {'type': 'Sequence', 'normalizers': "
      "[{'type': 'StripAccents'}, {'type': 'NFC'}]}]}",
      "\303\251\317\202\360\236\244\200\360\235\220\200\360\220\220\200\360\226\271\200\304\260\341"
      "\276\210\303\251",
      "e\317\202\360\236\244\200\360\235\220\200\360\220\220\200\360\226\271\200I\316\221e" },
};

static json_t *spec_of(const char *spec)
{
    return spec ? spec_parse(spec)
                : json_pack("{s:s,s:s}", "type", "Precompiled", "precompiled_charsmap", rules);
}

static void normalize(struct normalizer *n, const char *text, size_t len, int first,
                      const char *expected, size_t head)
{
    struct sluice_error err = { .size = sizeof(err) };
    struct normalizer_worker *w = NULL;
    struct normalizer_text out;
    int i;
    assert_int_equal(normalizer_worker_create(n, &w, &err), SLUICE_OK);
    for (i = 0; i < 2; i++) { /* the buffers are used again */
        assert_int_equal(normalizer_run(w, text, len, first, &out, &err), SLUICE_OK);
        assert_int_equal(out.len, strlen(expected));
        assert_memory_equal(out.data, expected, out.len);
        assert_true(out.len <= normalizer_bound(n, len));
        if (head != SIZE_MAX) {
            assert_int_equal(out.head, head);
        }
    }
    normalizer_worker_destroy(w);
}

static void test_vectors(void **state)
{
    size_t i;
    (void)state;
    for (i = 0; i < sizeof(vectors) / sizeof(vectors[0]); i++) {
        const struct spec_vector *v = &vectors[i];
        struct sluice_error err = { .size = sizeof(err) };
        struct normalizer *n = NULL;
        json_t *spec = spec_of(v->spec);
        assert_int_equal(normalizer_read(spec, &n, &err), SLUICE_OK);
        assert_false(normalizer_is_identity(n));
        assert_true(normalizer_memory(n) > 0);
        normalize(n, v->text, strlen(v->text), 1, v->expected, SIZE_MAX);
        normalizer_destroy(n);
        json_decref(spec);
    }
}

static void test_zero_bytes(void **state)
{
    struct sluice_error err = { .size = sizeof(err) };
    struct normalizer *n = NULL;
    json_t *spec = spec_parse("{'type': 'Sequence', 'normalizers': [{'type': 'Replace', 'pattern': "
                              "{'String': 'a\\u0000'}, 'content': '-'}, {'type': 'BertNormalizer', "
                              "'clean_text': true, 'handle_chinese_chars': false, 'strip_accents': "
                              "false, 'lowercase': true}]}");
    (void)state;
    assert_int_equal(normalizer_read(spec, &n, &err), SLUICE_OK);
    normalize(n, "Ba\0\0aX", 6, 1, "b-ax", 1);
    normalizer_destroy(n);
    json_decref(spec);
}

static void test_identity(void **state)
{
    struct sluice_error err = { .size = sizeof(err) };
    struct normalizer *n = NULL;
    json_t *null = json_null();
    (void)state;
    assert_int_equal(normalizer_read(NULL, &n, &err), SLUICE_OK);
    assert_true(normalizer_is_identity(n));
    normalize(n, "e\314\201x", 4, 1, "e\314\201x", 1);
    normalize(n, "e\314\201x", 4, 0, "e\314\201x", 0);
    normalizer_destroy(n);
    assert_int_equal(normalizer_read(null, &n, &err), SLUICE_OK);
    assert_true(normalizer_is_identity(n));
    normalizer_destroy(n);
}

/* How much of the result stems from the first character: confirmed against tokenizers by the
 * parity test, through Metaspace. */
static void test_head(void **state)
{
    static const struct {
        const char *spec, *text, *expected;
        size_t head;
    } cases[] = {
        { "{'type': 'NFKD'}", "\302\275a", "1\342\201\2042a", 5 },
        { "{'type': 'NFC'}", "e\314\201a", "\303\251a", 2 },
        { "{'type': 'Prepend', 'prepend': '__'}", "ab", "__ab", 3 },
        { "{'type': 'Strip', 'strip_left': true, 'strip_right': true}", " ab ", "ab", 0 },
        { "{'type': 'Nmt'}", "\001ab", "ab", 0 },
        { "{'type': 'Replace', 'pattern': {'String': 'a'}, 'content': 'xyz'}", "ab", "xyzb", 3 },
        { "{'type': 'Replace', 'pattern': {'String': 'ab'}, 'content': 'x'}", "abc", "xc", 0 },
        { NULL, "\036ae", "xyze", 3 }, /* the dropped character's place goes to the next one */
        { NULL, "ae", "xyze", 3 },
    };
    size_t i;
    (void)state;
    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct sluice_error err = { .size = sizeof(err) };
        struct normalizer *n = NULL;
        json_t *spec = spec_of(cases[i].spec);
        size_t len = strlen(cases[i].text);
        assert_int_equal(normalizer_read(spec, &n, &err), SLUICE_OK);
        normalize(n, cases[i].text, len, 1, cases[i].expected, cases[i].head);
        normalize(n, cases[i].text, len, 0, cases[i].expected, 0);
        normalizer_destroy(n);
        json_decref(spec);
    }
}

static int32_t read_only(const json_t *spec, struct sluice_error *err)
{
    struct normalizer *n = NULL;
    int32_t status = normalizer_read(spec, &n, err);
    assert_true((n == NULL) == (status != SLUICE_OK));
    normalizer_destroy(n);
    return status;
}

static void test_refused(void **state)
{
    static const struct spec_refusal cases[] = {
        { "{'type': 'Frob'}", "'Frob'" },
        { "{}", "the normalizer ''" },
        { "'NFC'", "the normalizer ''" },
        { "{'type': 'NFC', 'x': 1}", "the normalizer NFC the member 'x'" },
        { "{'type': 'Strip', 'strip_left': true}", "Strip is missing" },
        { "{'type': 'Strip', 'strip_left': 1, 'strip_right': true}", "Strip is missing" },
        { "{'type': 'Prepend', 'prepend': ''}", "Prepend with the string" },
        { "{'type': 'Prepend'}", "Prepend is missing" },
        { "{'type': 'Replace', 'pattern': {'String': ''}, 'content': 'a'}", "Replace with" },
        { "{'type': 'Replace', 'pattern': {'Glob': 'a'}, 'content': 'a'}", "Replace is missing" },
        { "{'type': 'Replace', 'pattern': {'Regex': '^a'}, 'content': 'a'}", "anchor" },
        { "{'type': 'BertNormalizer', 'clean_text': true}", "BertNormalizer is missing" },
        { "{'type': 'Precompiled'}", "Precompiled is missing" },
        { "{'type': 'Precompiled', 'precompiled_charsmap': ''}", "padded base64" },
        { "{'type': 'Precompiled', 'precompiled_charsmap': 'AAA='}", "shorter" },
        { "{'type': 'Precompiled', 'precompiled_charsmap': 'A*A='}", "is not base64" },
        { "{'type': 'Precompiled', 'precompiled_charsmap': 'AAB='}", "is not base64" },
        { "{'type': 'Sequence'}", "Sequence is missing" },
        { "{'type': 'Sequence', 'normalizers': [{'type': 'NFC'}, {'type': 'X'}]}", "'X'" },
    };
    (void)state;
    spec_refuse(cases, sizeof(cases) / sizeof(cases[0]), read_only);
}

/* More steps than there is room for, and deeper than is read. */
static void test_too_many(void **state)
{
    json_t *list = json_array(), *spec, *deep = spec_parse("{'type': 'NFC'}");
    struct sluice_error err = { .size = sizeof(err) };
    struct normalizer *n = NULL;
    int i;
    (void)state;
    for (i = 0; i < 40; i++) {
        (void)json_array_append_new(list, json_pack("{s:s}", "type", "Lowercase"));
    }
    spec = json_pack("{s:s,s:o}", "type", "Sequence", "normalizers", list);
    assert_int_equal(normalizer_read(spec, &n, &err), SLUICE_E_CONFIG);
    assert_non_null(strstr(err.message, "more than 32 steps"));
    json_decref(spec);
    for (i = 0; i < 12; i++) {
        deep = json_pack("{s:s,s:[o]}", "type", "Sequence", "normalizers", deep);
    }
    assert_int_equal(normalizer_read(deep, &n, &err), SLUICE_E_CONFIG);
    json_decref(deep);
}

static void test_damaged_charsmap(void **state)
{
    struct sluice_error err = { .size = sizeof(err) };
    struct charsmap map;
    unsigned char *blob = NULL, *copy;
    size_t size = 0, at, bad = 0;
    (void)state;
    assert_int_equal(charsmap_decode(rules, strlen(rules), (void **)&blob, &size, &err), SLUICE_OK);
    assert_int_equal(charsmap_init(&map, blob, size, &err), SLUICE_OK);
    assert_int_equal(map.growth, 3);
    assert_int_equal(map.space_growth, 5); /* "c c", its space visible */
    charsmap_deinit(&map);
    for (at = 0; at < size; at++) { /* a prefix is never whole, for its last byte is not zero */
        if (blob[at] != 0 || at + 1 < 4 + 1024) {
            assert_int_equal(charsmap_init(&map, blob, at + (blob[at] != 0), &err),
                             SLUICE_E_CONFIG);
        }
    }
    copy = malloc(size);
    assert_non_null(copy);
    for (at = 0; at < size; at++) { /* whatever a byte is: no crash, and no leak */
        memcpy(copy, blob, size);
        copy[at] ^= 0xFF;
        if (charsmap_init(&map, copy, size, &err) == SLUICE_OK) {
            charsmap_deinit(&map);
        } else {
            bad++;
        }
    }
    assert_true(bad > 10);
    free(copy);
    free(blob);
}

struct spm_case {
    int prefix, remove, escape, suffix;
    const char *text, *expected;
};

/* The rules of SentencePiece: the longest one first, user-defined symbols as they are. */
static void test_spm(void **state)
{
    static const struct spm_case cases[] = {
        { 1, 1, 1, 0, "", "" },
        { 1, 1, 1, 0, "  \t ", "" },
        { 1, 1, 1, 0, " x  y d", "\342\226\201x\342\226\201y" },
        { 1, 0, 1, 0, "x ", "\342\226\201x\342\226\201" },
        { 0, 0, 0, 0, " abe\314\201\r\nz", " Q\303\251 z" },
        { 0, 1, 1, 0, "\344\270\255\344\270\255", "\344\270\255\342\226\201\344\270\255" },
        { 1, 1, 1, 1, "xx", "xx\342\226\201" },
        { 1, 1, 0, 0, "<ab>ab", " <ab>Q" },
        { 0, 1, 1, 0, "x\342\226\201", "x" },
        { 0, 1, 1, 0, "cc", "c\342\226\201cc\342\226\201c" },
    };
    static const struct normalizer_symbol symbols[] = { { "<ab>", 4 } };
    struct sluice_error err = { .size = sizeof(err) };
    void *blob = NULL;
    size_t size = 0, i;
    (void)state;
    assert_int_equal(charsmap_decode(rules, strlen(rules), &blob, &size, &err), SLUICE_OK);
    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const struct spm_case *c = &cases[i];
        struct normalizer_spm spec = { blob,      size,      symbols,   1,
                                       c->prefix, c->remove, c->escape, c->suffix };
        struct normalizer *n = NULL;
        assert_int_equal(normalizer_from_spm(&spec, &n, &err), SLUICE_OK);
        normalize(n, c->text, strlen(c->text), 1, c->expected, SIZE_MAX);
        normalizer_destroy(n);
    }
    free(blob);
}

/* 20,000 texts of characters that do something, each line of its form hashed: tokenizers 0.23.3's
 * NFC gives this hash. By way of a step and by way of the byte-level family. */
static void test_nfc_twice(void **state)
{
    static const uint32_t pool[] = { 'a',    'e',   0x301,  0x327,   0x308,   0x334,
                                     0x345,  0xE9,  0x1100, 0x1161,  0x11A8,  0xAC00,
                                     0x11A7, 0x958, 0x915,  0x93C,   0x9C7,   0x9BE,
                                     0x344,  0x898, 0x316,  0x11935, 0x11930, 0x2126 };
    struct sluice_error err = { .size = sizeof(err) };
    struct normalizer *n = NULL;
    struct normalizer_worker *w = NULL;
    struct nfc nfc;
    struct nfc_buffer buffer = { NULL, 0, 0 };
    XXH64_state_t *ours[2] = { XXH64_createState(), XXH64_createState() };
    json_t *spec = spec_parse("{'type': 'NFC'}");
    uint32_t seed = 1;
    int i;
    (void)state;
    assert_int_equal(nfc_init(&nfc, &err), SLUICE_OK);
    assert_int_equal(normalizer_read(spec, &n, &err), SLUICE_OK);
    assert_int_equal(normalizer_worker_create(n, &w, &err), SLUICE_OK);
    for (i = 0; i < 2; i++) {
        assert_int_equal(XXH64_reset(ours[i], 0), XXH_OK);
    }
    for (i = 0; i < 20000; i++) {
        char text[64];
        size_t len = 0, out_len;
        const uint8_t *out;
        struct normalizer_text mine;
        int k;
        for (k = 0; k < 12; k++) {
            seed = seed * 1664525u + 1013904223u;
            len += nu_encode(pool[(seed >> 16) % (sizeof(pool) / sizeof(pool[0]))], text + len);
        }
        assert_int_equal(
            nfc_normalize(&nfc, (const uint8_t *)text, len, &buffer, &out, &out_len, &err),
            SLUICE_OK);
        assert_int_equal(normalizer_run(w, text, len, 1, &mine, &err), SLUICE_OK);
        XXH64_update(ours[0], out, out_len);
        XXH64_update(ours[0], "\n", 1);
        XXH64_update(ours[1], mine.data, mine.len);
        XXH64_update(ours[1], "\n", 1);
    }
    for (i = 0; i < 2; i++) {
        assert_true(XXH64_digest(ours[i]) == UINT64_C(0xc477f17de0c771b0));
        XXH64_freeState(ours[i]);
    }
    normalizer_worker_destroy(w);
    normalizer_destroy(n);
    nfc_deinit(&nfc);
    free(buffer.bytes);
    json_decref(spec);
}

/* Bytes that are no UTF-8 stay, and end what takes part in a composition. */
static void test_nfc_any_bytes(void **state)
{
    static const char *const cases[][2] = {
        { "\x80\xcc\x81", "\x80\xcc\x81" },
        { "e\xff\xcc\x81", "e\xff\xcc\x81" },
        { "e\xcc\x81\xff\xcc\xa7\xcc", "\xc3\xa9\xff\xcc\xa7\xcc" },
        { "\xed\xa0\x80\xcc\x88u\xcc\x88", "\xed\xa0\x80\xcc\x88\xc3\xbc" },
    };
    struct sluice_error err = { .size = sizeof(err) };
    struct nfc nfc;
    struct nfc_buffer buffer = { NULL, 0, 0 };
    size_t i;
    (void)state;
    assert_int_equal(nfc_init(&nfc, &err), SLUICE_OK);
    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const uint8_t *out;
        size_t len;
        assert_int_equal(nfc_normalize(&nfc, (const uint8_t *)cases[i][0], strlen(cases[i][0]),
                                       &buffer, &out, &len, &err),
                         SLUICE_OK);
        assert_int_equal(len, strlen(cases[i][1]));
        assert_memory_equal(out, cases[i][1], len);
    }
    nfc_deinit(&nfc);
    free(buffer.bytes);
}

/* A megabyte of one run of combining characters, in the wrong order: sorted in one go. */
static void test_long_run(void **state)
{
    struct sluice_error err = { .size = sizeof(err) };
    struct normalizer *n = NULL;
    struct normalizer_worker *w = NULL;
    struct normalizer_text out;
    json_t *spec = spec_parse("{'type': 'NFKC'}");
    const size_t len = 1u << 20;
    char *text = malloc(len);
    size_t i;
    (void)state;
    assert_non_null(text);
    for (i = 0; i < len; i += 2) {
        memcpy(text + i, i % 4 == 0 ? "\314\210" : "\314\247", 2);
    }
    assert_int_equal(normalizer_read(spec, &n, &err), SLUICE_OK);
    assert_int_equal(normalizer_worker_create(n, &w, &err), SLUICE_OK);
    assert_int_equal(normalizer_run(w, text, len, 1, &out, &err), SLUICE_OK);
    assert_int_equal(out.len, len);
    for (i = 0; i < len; i += 2) {
        assert_memory_equal(out.data + i, i < len / 2 ? "\314\247" : "\314\210", 2);
    }
    normalizer_worker_destroy(w);
    normalizer_destroy(n);
    json_decref(spec);
    free(text);
}

static int32_t read_and_run(const json_t *spec, struct sluice_error *err)
{
    struct normalizer *n = NULL;
    struct normalizer_worker *w = NULL;
    struct normalizer_text out;
    int32_t status = normalizer_read(spec, &n, err);
    if (status == SLUICE_OK) {
        status = normalizer_worker_create(n, &w, err);
    }
    if (status == SLUICE_OK) {
        status = normalizer_run(w, "Aae\314\201\302\275", 7, 1, &out, err);
    }
    normalizer_worker_destroy(w);
    normalizer_destroy(n);
    return status;
}

/* Each allocation fails in turn, while reading and while running. */
static void test_no_memory(void **state)
{
    static const char *const specs[] = {
        "{'type': 'Sequence', 'normalizers': [{'type': 'Replace', 'pattern': {'Regex': 'a+'}, "
        "'content': 'bb'}, {'type': 'Prepend', 'prepend': '_'}, {'type': 'Lowercase'}]}",
        NULL
    };
    size_t i;
    (void)state;
    for (i = 0; i < 2; i++) {
        json_t *spec = spec_of(specs[i]);
        spec_without_memory(spec, read_and_run);
        json_decref(spec);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_vectors),          cmocka_unit_test(test_zero_bytes),
        cmocka_unit_test(test_identity),         cmocka_unit_test(test_head),
        cmocka_unit_test(test_refused),          cmocka_unit_test(test_too_many),
        cmocka_unit_test(test_damaged_charsmap), cmocka_unit_test(test_spm),
        cmocka_unit_test(test_nfc_twice),        cmocka_unit_test(test_nfc_any_bytes),
        cmocka_unit_test(test_long_run),         cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
