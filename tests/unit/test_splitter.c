/* test_splitter.c — pre-tokenizers of tokenizer.json outside the byte-level family: what tokenizers
 * 0.23.3 answered, refusals by name, failing allocations. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "spec_kit.h"
#include "split/splitter.h"

/* What is expected: the pieces with | between them. */
static const struct spec_vector vectors[] = {
    { "{'type': 'Whitespace'}", "it's a\314\201b-c _x\342\200\215!",
      "it|'|s|a\314\201b|-|c|_x\342\200\215|!" },
    { "{'type': 'Whitespace'}", "\330\205\343\202\231\342\235\244$\013z\341\240\2166\303\237",
      "\330\205|\343\202\231|\342\235\244$|z|\341\240\216|6\303\237" },
    { "{'type': 'WhitespaceSplit'}",
      "\342\200\203\340\270\263+"
      "\316\207\331\243\342\200\203\317\202\340\270\261\316\207\340\244\267\343\202\253 \013",
      "\340\270\263+\316\207\331\243|\317\202\340\270\261\316\207\340\244\267\343\202\253" },
    { "{'type': 'UnicodeScripts'}",
      "\343\200\200  abc\344\270\255\343\201\202\343\203\274 \343\202\242x",
      "\343\200\200  |abc|\344\270\255\343\201\202\343\203\274 \343\202\242|x" },
    { "{'type': 'UnicodeScripts'}", "!?", "!?" },
    { "{'type': 'UnicodeScripts'}",
      "\340\271\215\302\264\342\200\212\342\200\234\304\261\340\270\263",
      "\340\271\215|\302\264\342\200\212\342\200\234|\304\261|\340\270\263" },
    { "{'type': 'BertPreTokenizer'}", "Hi, you\343\200\200there..", "Hi|,|you|there|.|." },
    { "{'type': 'BertPreTokenizer'}",
      "\343\202\231\360\236\244\200\360\235\205\240\n\342\200\214\326\260",
      "\343\202\231\360\236\244\200\360\235\205\240|\342\200\214\326\260" },
    { "{'type': 'Digits', 'individual_digits': false}", "a1\331\243\302\2752b",
      "a|1\331\243\302\2752|b" },
    { "{'type': 'Digits', 'individual_digits': false}",
      "\360\237\221\250l\331\243 "
      "5\360\221\277\277\340\272\263\360\221\244\260\357\276\236\343\200\207",
      "\360\237\221\250l|\331\243| "
      "|5|\360\221\277\277\340\272\263\360\221\244\260\357\276\236|\343\200\207" },
    { "{'type': 'Digits', 'individual_digits': true}", "a1\331\243\302\2752b",
      "a|1|\331\243|\302\275|2|b" },
    { "{'type': 'Digits', 'individual_digits': true}",
      "\341\204\200\360\226\271\200\326\260\360\221\202\275\304\260\360\234\263\260\340\275\263",
      "\341\204\200\360\226\271\200\326\260\360\221\202\275\304\260|\360\234\263\260|"
      "\340\275\263" },
    { "{'type': 'Punctuation', 'behavior': 'Removed'}", "a..b!\342\200\231\343\200\201$", "a|b" },
    { "{'type': 'Punctuation', 'behavior': 'Removed'}",
      "t\341\254\212\341\223\265\346\203\272$&\341\223\237\362\275\220\251\362\250\243\252",
      "t\341\254\212\341\223\265\346\203\272|\341\223\237\362\275\220\251\362\250\243\252" },
    { "{'type': 'Punctuation', 'behavior': 'Isolated'}", "a..b!\342\200\231\343\200\201$",
      "a|.|.|b|!|\342\200\231|\343\200\201|$" },
    { "{'type': 'Punctuation', 'behavior': 'Isolated'}",
      "-\360\226\271\200\343\200\202[\343\200\202\352\245\240\302\251",
      "-|\360\226\271\200|\343\200\202|[|\343\200\202|\352\245\240\302\251" },
    { "{'type': 'Punctuation', 'behavior': 'MergedWithPrevious'}", "a..b!\342\200\231\343\200\201$",
      "a.|.|b!|\342\200\231|\343\200\201|$" },
    { "{'type': 'Punctuation', 'behavior': 'MergedWithPrevious'}", "7\001  \302\251(\342\200\212",
      "7\001  \302\251(|\342\200\212" },
    { "{'type': 'Punctuation', 'behavior': 'MergedWithNext'}", "a..b!\342\200\231\343\200\201$",
      "a|.|.b|!|\342\200\231|\343\200\201|$" },
    { "{'type': 'Punctuation', 'behavior': 'MergedWithNext'}",
      "\n\316\207\343\200\2051\302\264\343\200\207`"
      "\342\204\253S\331\263\342\200\200\360\235\205\240\340\245\215",
      "\n|\316\207\343\200\2051\302\264\343\200\207|`"
      "\342\204\253S\331\263\342\200\200\360\235\205\240\340\245\215" },
    { "{'type': 'Punctuation', 'behavior': 'Contiguous'}", "a..b!\342\200\231\343\200\201$",
      "a|..|b|!\342\200\231\343\200\201$" },
    { "{'type': 'Punctuation', 'behavior': 'Contiguous'}", "\340\244\250\303\237\340\267\237_",
      "\340\244\250\303\237\340\267\237|_" },
    { "{'type': 'CharDelimiterSplit', 'delimiter': '\342\226\201'}", "8\342\226\201a", "8|a" },
    { "{'type': 'FixedLength', 'length': 1}", "\303\251abcdefghij",
      "\303\251|a|b|c|d|e|f|g|h|i|j" },
    { "{'type': 'FixedLength', 'length': 1}", ",aab\341\206\250 the",
      ",|a|a|b|\341\206\250| |t|h|e" },
    { "{'type': 'FixedLength', 'length': 5}", "\303\251abcdefghij", "\303\251abcd|efghi|j" },
    { "{'type': 'FixedLength', 'length': 5}", "\340\270\201u \342\200\231\015 \302\205\320\220",
      "\340\270\201u \342\200\231\015| \302\205\320\220" },
    { "{'type': 'Split', 'pattern': {'String': 'a'}, 'behavior': 'Removed', 'invert': false}",
      "a--a-- aa", "--|-- " },
    { "{'type': 'Split', 'pattern': {'String': 'a'}, 'behavior': 'Removed', 'invert': false}",
      "\342\226\201a>caf\303\251", "\342\226\201|>c|f\303\251" },
    { "{'type': 'Split', 'pattern': {'String': 'a'}, 'behavior': 'Removed', 'invert': true}",
      "a--a-- aa", "a|a|a|a" },
    { "{'type': 'Split', 'pattern': {'String': 'a'}, 'behavior': 'Removed', 'invert': true}",
      ",aab\341\206\250 the", "a|a" },
    { "{'type': 'Split', 'pattern': {'String': 'a'}, 'behavior': 'Isolated', 'invert': false}",
      "a--a-- aa", "a|--|a|-- |a|a" },
    { "{'type': 'Split', 'pattern': {'String': 'a'}, 'behavior': 'Isolated', 'invert': false}",
      " ##a\343\202\23112345\n\015\n", " ##|a|\343\202\23112345\n\015\n" },
    { "{'type': 'Split', 'pattern': {'String': 'a'}, 'behavior': 'Isolated', 'invert': true}",
      "a--a-- aa", "a|--|a|-- |a|a" },
    { "{'type': 'Split', 'pattern': {'String': 'a'}, 'behavior': 'Isolated', 'invert': true}",
      "\302\275a b", "\302\275|a| b" },
    { "{'type': 'Split', 'pattern': {'String': 'a'}, 'behavior': 'MergedWithPrevious', 'invert': "
      "false}",
      "a--a-- aa", "a|--a|-- a|a" },
    { "{'type': 'Split', 'pattern': {'String': 'a'}, 'behavior': 'MergedWithPrevious', 'invert': "
      "false}",
      "\342\202\254\320\220Pcaf\303\251", "\342\202\254\320\220Pca|f\303\251" },
    { "{'type': 'Split', 'pattern': {'String': 'a'}, 'behavior': 'MergedWithPrevious', 'invert': "
      "true}",
      "a--a-- aa", "a--|a-- |a|a" },
    { "{'type': 'Split', 'pattern': {'String': 'a'}, 'behavior': 'MergedWithPrevious', 'invert': "
      "true}",
      "\302\275a b", "\302\275|a b" },
    { "{'type': 'Split', 'pattern': {'String': 'a'}, 'behavior': 'MergedWithNext', 'invert': "
      "false}",
      "a--a-- aa", "a--|a-- |a|a" },
    { "{'type': 'Split', 'pattern': {'String': 'a'}, 'behavior': 'MergedWithNext', 'invert': "
      "false}",
      "\340\275\264\314\200qOO\340\275\261E\340\275\263x\314\201\340\275\265\314\264a",
      "\340\275\264\314\200qOO\340\275\261E\340\275\263x\314\201\340\275\265\314\264|a" },
    { "{'type': 'Split', 'pattern': {'String': 'a'}, 'behavior': 'MergedWithNext', 'invert': true}",
      "a--a-- aa", "a|--a|-- a|a" },
    { "{'type': 'Split', 'pattern': {'String': 'a'}, 'behavior': 'MergedWithNext', 'invert': true}",
      "\342\226\201a>caf\303\251", "\342\226\201a|>ca|f\303\251" },
    { "{'type': 'Split', 'pattern': {'String': 'a'}, 'behavior': 'Contiguous', 'invert': false}",
      "a--a-- aa", "a|--|a|-- |aa" },
    { "{'type': 'Split', 'pattern': {'String': 'a'}, 'behavior': 'Contiguous', 'invert': false}",
      "\036ab", "\036|a|b" },
    { "{'type': 'Split', 'pattern': {'String': 'a'}, 'behavior': 'Contiguous', 'invert': true}",
      "a--a-- aa", "a|--|a|-- |aa" },
    { "{'type': 'Split', 'pattern': {'String': 'a'}, 'behavior': 'Contiguous', 'invert': true}",
      "\342\202\254\320\220Pcaf\303\251", "\342\202\254\320\220Pc|a|f\303\251" },
    { "{'type': 'Split', 'pattern': {'String': ' '}, 'behavior': 'Removed', 'invert': false}",
      "a--a-- aa", "a--a--|aa" },
    { "{'type': 'Split', 'pattern': {'String': ' '}, 'behavior': 'Removed', 'invert': false}",
      " \360\235\205\236 \360\235\220\200\360\220\220\200  ",
      "\360\235\205\236|\360\235\220\200\360\220\220\200" },
    { "{'type': 'Split', 'pattern': {'String': ' '}, 'behavior': 'Removed', 'invert': true}",
      "a--a-- aa", " " },
    { "{'type': 'Split', 'pattern': {'String': ' '}, 'behavior': 'Removed', 'invert': true}",
      "\340\270\201u \342\200\231\015 \302\205\320\220", " | " },
    { "{'type': 'Split', 'pattern': {'String': ' '}, 'behavior': 'Isolated', 'invert': false}",
      "a--a-- aa", "a--a--| |aa" },
    { "{'type': 'Split', 'pattern': {'String': ' '}, 'behavior': 'Isolated', 'invert': false}",
      "\342\201\237\340\244\250\343\200\200\303\227\340\270\261\340\270\263\360\257\240\2007\" "
      "\302\267b",
      "\342\201\237\340\244\250\343\200\200\303\227\340\270\261\340\270\263\360\257\240\2007\"| "
      "|\302\267b" },
    { "{'type': 'Split', 'pattern': {'String': ' '}, 'behavior': 'Isolated', 'invert': true}",
      "a--a-- aa", "a--a--| |aa" },
    { "{'type': 'Split', 'pattern': {'String': ' '}, 'behavior': 'Isolated', 'invert': true}",
      "\302\275a b", "\302\275a| |b" },
    { "{'type': 'Split', 'pattern': {'String': ' '}, 'behavior': 'MergedWithPrevious', 'invert': "
      "false}",
      "a--a-- aa", "a--a-- |aa" },
    { "{'type': 'Split', 'pattern': {'String': ' '}, 'behavior': 'MergedWithPrevious', 'invert': "
      "false}",
      "\330\200 \342\200\213\357\277\275 ", "\330\200 |\342\200\213\357\277\275 " },
    { "{'type': 'Split', 'pattern': {'String': ' '}, 'behavior': 'MergedWithPrevious', 'invert': "
      "true}",
      "a--a-- aa", "a--a--| aa" },
    { "{'type': 'Split', 'pattern': {'String': ' '}, 'behavior': 'MergedWithPrevious', 'invert': "
      "true}",
      "\n\013\011  \011", "\n\013\011| | \011" },
    { "{'type': 'Split', 'pattern': {'String': ' '}, 'behavior': 'MergedWithNext', 'invert': "
      "false}",
      "a--a-- aa", "a--a--| aa" },
    { "{'type': 'Split', 'pattern': {'String': ' '}, 'behavior': 'MergedWithNext', 'invert': "
      "false}",
      "7\001  \302\251(\342\200\212", "7\001| | \302\251(\342\200\212" },
    { "{'type': 'Split', 'pattern': {'String': ' '}, 'behavior': 'MergedWithNext', 'invert': true}",
      "a--a-- aa", "a--a-- |aa" },
    { "{'type': 'Split', 'pattern': {'String': ' '}, 'behavior': 'MergedWithNext', 'invert': true}",
      " \342\271\222\340\244\277\360\221\244\270\357\244\200I\331\213\303\251\302\251 "
      "\342\200\200\352\245\240\342\235\244",
      " |\342\271\222\340\244\277\360\221\244\270\357\244\200I\331\213\303\251\302\251 "
      "|\342\200\200\352\245\240\342\235\244" },
    { "{'type': 'Split', 'pattern': {'String': ' '}, 'behavior': 'Contiguous', 'invert': false}",
      "a--a-- aa", "a--a--| |aa" },
    { "{'type': 'Split', 'pattern': {'String': ' '}, 'behavior': 'Contiguous', 'invert': false}",
      "e\314\201\340\275\265 ", "e\314\201\340\275\265| " },
    { "{'type': 'Split', 'pattern': {'String': ' '}, 'behavior': 'Contiguous', 'invert': true}",
      "a--a-- aa", "a--a--| |aa" },
    { "{'type': 'Split', 'pattern': {'String': ' '}, 'behavior': 'Contiguous', 'invert': true}",
      "``\352\260\201 ", "``\352\260\201| " },
    { "{'type': 'Split', 'pattern': {'String': '--'}, 'behavior': 'Removed', 'invert': false}",
      "a--a-- aa", "a|a| aa" },
    { "{'type': 'Split', 'pattern': {'String': '--'}, 'behavior': 'Removed', 'invert': true}",
      "a--a-- aa", "--|--" },
    { "{'type': 'Split', 'pattern': {'String': '--'}, 'behavior': 'Isolated', 'invert': false}",
      "a--a-- aa", "a|--|a|--| aa" },
    { "{'type': 'Split', 'pattern': {'String': '--'}, 'behavior': 'Isolated', 'invert': false}",
      "\340\257\2605\303\205\340\257\260--", "\340\257\2605\303\205\340\257\260|--" },
    { "{'type': 'Split', 'pattern': {'String': '--'}, 'behavior': 'Isolated', 'invert': true}",
      "a--a-- aa", "a|--|a|--| aa" },
    { "{'type': 'Split', 'pattern': {'String': '--'}, 'behavior': 'Isolated', 'invert': true}",
      "\340\257\2605\303\205\340\257\260--", "\340\257\2605\303\205\340\257\260|--" },
    { "{'type': 'Split', 'pattern': {'String': '--'}, 'behavior': 'MergedWithPrevious', 'invert': "
      "false}",
      "a--a-- aa", "a--|a--| aa" },
    { "{'type': 'Split', 'pattern': {'String': '--'}, 'behavior': 'MergedWithPrevious', 'invert': "
      "true}",
      "a--a-- aa", "a|--a|-- aa" },
    { "{'type': 'Split', 'pattern': {'String': '--'}, 'behavior': 'MergedWithPrevious', 'invert': "
      "true}",
      "e\314\2018--", "e\314\2018|--" },
    { "{'type': 'Split', 'pattern': {'String': '--'}, 'behavior': 'MergedWithNext', 'invert': "
      "false}",
      "a--a-- aa", "a|--a|-- aa" },
    { "{'type': 'Split', 'pattern': {'String': '--'}, 'behavior': 'MergedWithNext', 'invert': "
      "false}",
      "\340\257\2605\303\205\340\257\260--", "\340\257\2605\303\205\340\257\260|--" },
    { "{'type': 'Split', 'pattern': {'String': '--'}, 'behavior': 'MergedWithNext', 'invert': "
      "true}",
      "a--a-- aa", "a--|a--| aa" },
    { "{'type': 'Split', 'pattern': {'String': '--'}, 'behavior': 'Contiguous', 'invert': false}",
      "a--a-- aa", "a|--|a|--| aa" },
    { "{'type': 'Split', 'pattern': {'String': '--'}, 'behavior': 'Contiguous', 'invert': false}",
      "\340\257\2605\303\205\340\257\260--", "\340\257\2605\303\205\340\257\260|--" },
    { "{'type': 'Split', 'pattern': {'String': '--'}, 'behavior': 'Contiguous', 'invert': true}",
      "a--a-- aa", "a|--|a|--| aa" },
    { "{'type': 'Split', 'pattern': {'String': '--'}, 'behavior': 'Contiguous', 'invert': true}",
      "e\314\2018--", "e\314\2018|--" },
    { "{'type': 'Split', 'pattern': {'Regex': '\\\\s+|a'}, 'behavior': 'Removed', 'invert': false}",
      "a--a-- aa", "--|--" },
    { "{'type': 'Split', 'pattern': {'Regex': '\\\\s+|a'}, 'behavior': 'Removed', 'invert': false}",
      ",aab\341\206\250 the", ",|b\341\206\250|the" },
    { "{'type': 'Split', 'pattern': {'Regex': '\\\\s+|a'}, 'behavior': 'Removed', 'invert': true}",
      "a--a-- aa", "a|a| |a|a" },
    { "{'type': 'Split', 'pattern': {'Regex': '\\\\s+|a'}, 'behavior': 'Isolated', 'invert': "
      "false}",
      "a--a-- aa", "a|--|a|--| |a|a" },
    { "{'type': 'Split', 'pattern': {'Regex': '\\\\s+|a'}, 'behavior': 'Isolated', 'invert': "
      "false}",
      "{\341\276\210\314\250\314\250\360\237\217\273\331\243\340\270\201\360\237\207\251 "
      "\360\235\205\240\343\200\205\342\200\234",
      "{\341\276\210\314\250\314\250\360\237\217\273\331\243\340\270\201\360\237\207\251| "
      "|\360\235\205\240\343\200\205\342\200\234" },
    { "{'type': 'Split', 'pattern': {'Regex': '\\\\s+|a'}, 'behavior': 'Isolated', 'invert': true}",
      "a--a-- aa", "a|--|a|--| |a|a" },
    { "{'type': 'Split', 'pattern': {'Regex': '\\\\s+|a'}, 'behavior': 'Isolated', 'invert': true}",
      " \360\235\205\236 \360\235\220\200\360\220\220\200  ",
      " |\360\235\205\236| |\360\235\220\200\360\220\220\200|  " },
    { "{'type': 'Split', 'pattern': {'Regex': '\\\\s+|a'}, 'behavior': 'MergedWithPrevious', "
      "'invert': false}",
      "a--a-- aa", "a|--a|-- |a|a" },
    { "{'type': 'Split', 'pattern': {'Regex': '\\\\s+|a'}, 'behavior': 'MergedWithPrevious', "
      "'invert': false}",
      "@\025 \363\217\234\2172\360\277\253\240\013\363\220\210\236\341\211\277\341\237\254",
      "@\025 |\363\217\234\2172\360\277\253\240\013|\363\220\210\236\341\211\277\341\237\254" },
    { "{'type': 'Split', 'pattern': {'Regex': '\\\\s+|a'}, 'behavior': 'MergedWithPrevious', "
      "'invert': true}",
      "a--a-- aa", "a--|a--| |a|a" },
    { "{'type': 'Split', 'pattern': {'Regex': '\\\\s+|a'}, 'behavior': 'MergedWithPrevious', "
      "'invert': true}",
      "@\025 \363\217\234\2172\360\277\253\240\013\363\220\210\236\341\211\277\341\237\254",
      "@\025| \363\217\234\2172\360\277\253\240|\013\363\220\210\236\341\211\277\341\237\254" },
    { "{'type': 'Split', 'pattern': {'Regex': '\\\\s+|a'}, 'behavior': 'MergedWithNext', 'invert': "
      "false}",
      "a--a-- aa", "a--|a--| |a|a" },
    { "{'type': 'Split', 'pattern': {'Regex': '\\\\s+|a'}, 'behavior': 'MergedWithNext', 'invert': "
      "false}",
      "e\314\201\340\275\265 ", "e\314\201\340\275\265| " },
    { "{'type': 'Split', 'pattern': {'Regex': '\\\\s+|a'}, 'behavior': 'MergedWithNext', 'invert': "
      "true}",
      "a--a-- aa", "a|--a|-- |a|a" },
    { "{'type': 'Split', 'pattern': {'Regex': '\\\\s+|a'}, 'behavior': 'MergedWithNext', 'invert': "
      "true}",
      "\330\200 \342\200\213\357\277\275 ", "\330\200 |\342\200\213\357\277\275 " },
    { "{'type': 'Split', 'pattern': {'Regex': '\\\\s+|a'}, 'behavior': 'Contiguous', 'invert': "
      "false}",
      "a--a-- aa", "a|--|a|--| aa" },
    { "{'type': 'Split', 'pattern': {'Regex': '\\\\s+|a'}, 'behavior': 'Contiguous', 'invert': "
      "false}",
      "\304\260\342\200\251\304\260", "\304\260|\342\200\251|\304\260" },
    { "{'type': 'Split', 'pattern': {'Regex': '\\\\s+|a'}, 'behavior': 'Contiguous', 'invert': "
      "true}",
      "a--a-- aa", "a|--|a|--| aa" },
    { "{'type': 'Split', 'pattern': {'Regex': '\\\\s+|a'}, 'behavior': 'Contiguous', 'invert': "
      "true}",
      "\360\237\207\251\314\200\\\342\200\203\352\260\200\341\272\236\340\275\263\341\237\222\302"
      "\240\177\340\270\201\314\201\341\236\200",
      "\360\237\207\251\314\200\\|\342\200\203|\352\260\200\341\272\236\340\275\263\341\237\222|"
      "\302\240|\177\340\270\201\314\201\341\236\200" },
    { "{'type': 'Metaspace', 'replacement': '\342\226\201', 'prepend_scheme': 'first', 'split': "
      "false}",
      "a  b \342\226\201c", "\342\226\201a\342\226\201\342\226\201b\342\226\201\342\226\201c" },
    { "{'type': 'Metaspace', 'replacement': '\342\226\201', 'prepend_scheme': 'first', 'split': "
      "false}",
      " a", "\342\226\201a" },
    { "{'type': 'Metaspace', 'replacement': '\342\226\201', 'prepend_scheme': 'first', 'split': "
      "false}",
      "ab", "\342\226\201ab" },
    { "{'type': 'Metaspace', 'replacement': '\342\226\201', 'prepend_scheme': 'first', 'split': "
      "true}",
      "a  b \342\226\201c", "\342\226\201a|\342\226\201|\342\226\201b|\342\226\201|\342\226\201c" },
    { "{'type': 'Metaspace', 'replacement': '\342\226\201', 'prepend_scheme': 'first', 'split': "
      "true}",
      " a", "\342\226\201a" },
    { "{'type': 'Metaspace', 'replacement': '\342\226\201', 'prepend_scheme': 'first', 'split': "
      "true}",
      "ab", "\342\226\201ab" },
    { "{'type': 'Metaspace', 'replacement': '\342\226\201', 'prepend_scheme': 'first', 'split': "
      "true}",
      " \355\236\243   ", "\342\226\201\355\236\243|\342\226\201|\342\226\201|\342\226\201" },
    { "{'type': 'Metaspace', 'replacement': '\342\226\201', 'prepend_scheme': 'never', 'split': "
      "false}",
      "a  b \342\226\201c", "a\342\226\201\342\226\201b\342\226\201\342\226\201c" },
    { "{'type': 'Metaspace', 'replacement': '\342\226\201', 'prepend_scheme': 'never', 'split': "
      "false}",
      " a", "\342\226\201a" },
    { "{'type': 'Metaspace', 'replacement': '\342\226\201', 'prepend_scheme': 'never', 'split': "
      "false}",
      "ab", "ab" },
    { "{'type': 'Metaspace', 'replacement': '\342\226\201', 'prepend_scheme': 'never', 'split': "
      "true}",
      "a  b \342\226\201c", "a|\342\226\201|\342\226\201b|\342\226\201|\342\226\201c" },
    { "{'type': 'Metaspace', 'replacement': '\342\226\201', 'prepend_scheme': 'never', 'split': "
      "true}",
      " a", "\342\226\201a" },
    { "{'type': 'Metaspace', 'replacement': '\342\226\201', 'prepend_scheme': 'never', 'split': "
      "true}",
      "ab", "ab" },
    { "{'type': 'Metaspace', 'replacement': '\342\226\201', 'prepend_scheme': 'never', 'split': "
      "true}",
      "\302\264\340\243\242\343\200\241\357\254\235u\343\200\207+ ",
      "\302\264\340\243\242\343\200\241\357\254\235u\343\200\207+|\342\226\201" },
    { "{'type': 'Metaspace', 'replacement': '\342\226\201', 'prepend_scheme': 'always', 'split': "
      "false}",
      "a  b \342\226\201c", "\342\226\201a\342\226\201\342\226\201b\342\226\201\342\226\201c" },
    { "{'type': 'Metaspace', 'replacement': '\342\226\201', 'prepend_scheme': 'always', 'split': "
      "false}",
      " a", "\342\226\201a" },
    { "{'type': 'Metaspace', 'replacement': '\342\226\201', 'prepend_scheme': 'always', 'split': "
      "false}",
      "ab", "\342\226\201ab" },
    { "{'type': 'Metaspace', 'replacement': '\342\226\201', 'prepend_scheme': 'always', 'split': "
      "true}",
      "a  b \342\226\201c", "\342\226\201a|\342\226\201|\342\226\201b|\342\226\201|\342\226\201c" },
    { "{'type': 'Metaspace', 'replacement': '\342\226\201', 'prepend_scheme': 'always', 'split': "
      "true}",
      " a", "\342\226\201a" },
    { "{'type': 'Metaspace', 'replacement': '\342\226\201', 'prepend_scheme': 'always', 'split': "
      "true}",
      "ab", "\342\226\201ab" },
    { "{'type': 'Metaspace', 'replacement': '\342\226\201', 'prepend_scheme': 'always', 'split': "
      "true}",
      "e\314\201\340\275\265 ", "\342\226\201e\314\201\340\275\265|\342\226\201" },
    { "{'type': 'Metaspace', 'replacement': '_', 'prepend_scheme': 'first', 'split': false}",
      "a  b \342\226\201c", "_a__b_\342\226\201c" },
    { "{'type': 'Metaspace', 'replacement': '_', 'prepend_scheme': 'first', 'split': false}", " a",
      "_a" },
    { "{'type': 'Metaspace', 'replacement': '_', 'prepend_scheme': 'first', 'split': false}", "ab",
      "_ab" },
    { "{'type': 'Metaspace', 'replacement': '_', 'prepend_scheme': 'first', 'split': true}",
      "a  b \342\226\201c", "_a|_|_b|_\342\226\201c" },
    { "{'type': 'Metaspace', 'replacement': '_', 'prepend_scheme': 'first', 'split': true}", " a",
      "_a" },
    { "{'type': 'Metaspace', 'replacement': '_', 'prepend_scheme': 'first', 'split': true}", "ab",
      "_ab" },
    { "{'type': 'Metaspace', 'replacement': '_', 'prepend_scheme': 'first', 'split': true}",
      "\340\244\277\340\275\264\360\235\205\240\342\235\244\340\247\207 \340\245\247",
      "_\340\244\277\340\275\264\360\235\205\240\342\235\244\340\247\207|_\340\245\247" },
    { "{'type': 'Metaspace', 'replacement': '_', 'prepend_scheme': 'never', 'split': false}",
      "a  b \342\226\201c", "a__b_\342\226\201c" },
    { "{'type': 'Metaspace', 'replacement': '_', 'prepend_scheme': 'never', 'split': false}", " a",
      "_a" },
    { "{'type': 'Metaspace', 'replacement': '_', 'prepend_scheme': 'never', 'split': false}", "ab",
      "ab" },
    { "{'type': 'Metaspace', 'replacement': '_', 'prepend_scheme': 'never', 'split': true}",
      "a  b \342\226\201c", "a|_|_b|_\342\226\201c" },
    { "{'type': 'Metaspace', 'replacement': '_', 'prepend_scheme': 'never', 'split': true}", " a",
      "_a" },
    { "{'type': 'Metaspace', 'replacement': '_', 'prepend_scheme': 'never', 'split': true}", "ab",
      "ab" },
    { "{'type': 'Metaspace', 'replacement': '_', 'prepend_scheme': 'never', 'split': true}",
      "\302\275a b", "\302\275a|_b" },
    { "{'type': 'Metaspace', 'replacement': '_', 'prepend_scheme': 'always', 'split': false}",
      "a  b \342\226\201c", "_a__b_\342\226\201c" },
    { "{'type': 'Metaspace', 'replacement': '_', 'prepend_scheme': 'always', 'split': false}", " a",
      "_a" },
    { "{'type': 'Metaspace', 'replacement': '_', 'prepend_scheme': 'always', 'split': false}", "ab",
      "_ab" },
    { "{'type': 'Metaspace', 'replacement': '_', 'prepend_scheme': 'always', 'split': true}",
      "a  b \342\226\201c", "_a|_|_b|_\342\226\201c" },
    { "{'type': 'Metaspace', 'replacement': '_', 'prepend_scheme': 'always', 'split': true}", " a",
      "_a" },
    { "{'type': 'Metaspace', 'replacement': '_', 'prepend_scheme': 'always', 'split': true}", "ab",
      "_ab" },
    { "{'type': 'Metaspace', 'replacement': '_', 'prepend_scheme': 'always', 'split': true}",
      "{\341\276\210\314\250\314\250\360\237\217\273\331\243\340\270\201\360\237\207\251 "
      "\360\235\205\240\343\200\205\342\200\234",
      "_{\341\276\210\314\250\314\250\360\237\217\273\331\243\340\270\201\360\237\207\251|_"
      "\360\235\205\240\343\200\205\342\200\234" },
    { "{'type': 'Metaspace', 'replacement': '\342\226\201', 'add_prefix_space': true}",
      "a  b \342\226\201c", "\342\226\201a|\342\226\201|\342\226\201b|\342\226\201|\342\226\201c" },
    { "{'type': 'Metaspace', 'replacement': '\342\226\201', 'add_prefix_space': true}", " a",
      "\342\226\201a" },
    { "{'type': 'Metaspace', 'replacement': '\342\226\201', 'add_prefix_space': true}", "ab",
      "\342\226\201ab" },
    { "{'type': 'Metaspace', 'replacement': '\342\226\201', 'add_prefix_space': true}",
      "5 \343\200\202\360\226\204\236", "\342\226\2015|\342\226\201\343\200\202\360\226\204\236" },
    { "{'type': 'Sequence', 'pretokenizers': [{'type': 'WhitespaceSplit'}, {'type': 'Metaspace', "
      "'replacement': '\342\226\201', 'prepend_scheme': 'always', 'split': true}]}",
      "  a!b 12", "\342\226\201a!b|\342\226\20112" },
    { "{'type': 'Sequence', 'pretokenizers': [{'type': 'WhitespaceSplit'}, {'type': 'Metaspace', "
      "'replacement': '\342\226\201', 'prepend_scheme': 'always', 'split': true}]}",
      "\344\270\255\342\271\235\331\213\352\237\213\357\275\266\013\360\237\207\252",
      "\342\226\201\344\270\255\342\271\235\331\213\352\237\213\357\275\266|"
      "\342\226\201\360\237\207\252" },
    { "{'type': 'Sequence', 'pretokenizers': [{'type': 'Punctuation', 'behavior': 'Isolated'}, "
      "{'type': 'Metaspace', 'replacement': '\342\226\201', 'prepend_scheme': 'first', 'split': "
      "true}, {'type': 'Digits', 'individual_digits': true}]}",
      "  a!b 12", "\342\226\201|\342\226\201a|!|b|\342\226\201|1|2" },
    { "{'type': 'Sequence', 'pretokenizers': [{'type': 'Punctuation', 'behavior': 'Isolated'}, "
      "{'type': 'Metaspace', 'replacement': '\342\226\201', 'prepend_scheme': 'first', 'split': "
      "true}, {'type': 'Digits', 'individual_digits': true}]}",
      "\314\247\331\2241\340\276\201\341\276\2102",
      "\342\226\201\314\247\331\224|1|\340\276\201\341\276\210|2" },
    { "{'type': 'Sequence', 'pretokenizers': [{'type': 'Metaspace', 'replacement': '\342\226\201', "
      "'prepend_scheme': 'first', 'split': false}, {'type': 'Metaspace', 'replacement': '_', "
      "'prepend_scheme': 'first', 'split': true}]}",
      "  a!b 12", "_\342\226\201\342\226\201a!b\342\226\20112" },
    { "{'type': 'Sequence', 'pretokenizers': [{'type': 'Metaspace', 'replacement': '\342\226\201', "
      "'prepend_scheme': 'first', 'split': false}, {'type': 'Metaspace', 'replacement': '_', "
      "'prepend_scheme': 'first', 'split': true}]}",
      "\340\244\250\303\237\340\267\237_", "_\342\226\201\340\244\250\303\237\340\267\237|_" },
    { "{'type': 'Sequence', 'pretokenizers': [{'type': 'UnicodeScripts'}, {'type': 'Metaspace', "
      "'replacement': '\342\226\201', 'prepend_scheme': 'first', 'split': true}]}",
      "  a!b 12", "a|!|b|\342\226\201|12" },
    { "{'type': 'Sequence', 'pretokenizers': [{'type': 'UnicodeScripts'}, {'type': 'Metaspace', "
      "'replacement': '\342\226\201', 'prepend_scheme': 'first', 'split': true}]}",
      "-\360\226\271\200\343\200\202[\343\200\202\352\245\240\302\251",
      "\342\226\201-\360\226\271\200\343\200\202[\343\200\202|\352\245\240|\302\251" },
};

/* The pieces, with | between them. */
static void join(const struct splitter_pieces *p, char *out, size_t room)
{
    size_t i, n = 0;
    for (i = 0; i < p->n; i++) {
        assert_true(p->pieces[i].len > 0);
        assert_true(n + p->pieces[i].len + 2 < room);
        if (i > 0) {
            out[n++] = '|';
        }
        memcpy(out + n, p->data + p->pieces[i].begin, p->pieces[i].len);
        n += p->pieces[i].len;
    }
    out[n] = '\0';
}

static size_t first_character(const char *text)
{
    size_t n = text[0] != '\0';
    while ((text[n] & 0xC0) == 0x80) {
        n++;
    }
    return n;
}

static void split(const char *spec, const char *text, size_t head, const char *expected)
{
    struct sluice_error err = { .size = sizeof(err) };
    struct splitter *s = NULL;
    struct splitter_worker *w = NULL;
    struct splitter_pieces out;
    json_t *node = spec_parse(spec);
    char got[512];
    int i;
    assert_int_equal(splitter_read(node, &s, &err), SLUICE_OK);
    assert_true(splitter_memory(s) > 0);
    assert_int_equal(splitter_worker_create(s, &w, &err), SLUICE_OK);
    for (i = 0; i < 2; i++) { /* the buffers are used again */
        size_t k, bytes = 0;
        assert_int_equal(splitter_run(w, text, strlen(text), head, &out, &err), SLUICE_OK);
        join(&out, got, sizeof(got));
        assert_string_equal(got, expected);
        for (k = 0; k < out.n; k++) {
            bytes += out.pieces[k].len;
        }
        assert_true(bytes <= splitter_bound(s, strlen(text)));
    }
    splitter_worker_destroy(w);
    splitter_destroy(s);
    json_decref(node);
}

static void test_vectors(void **state)
{
    size_t i;
    (void)state;
    for (i = 0; i < sizeof(vectors) / sizeof(vectors[0]); i++) {
        split(vectors[i].spec, vectors[i].text, first_character(vectors[i].text),
              vectors[i].expected);
    }
}

/* Metaspace's first prefix goes where the document's first character is, wherever that came to
 * stand: several pieces may hold a part of it, or none. */
static void test_first(void **state)
{
    static const char spec[] = "{'type': 'Sequence', 'pretokenizers': [{'type': 'Digits', "
                               "'individual_digits': true}, {'type': 'Metaspace', 'replacement': "
                               "'_', 'prepend_scheme': 'first', 'split': true}]}";
    (void)state;
    split(spec, "12a b", 1, "_1|2|a|_b");
    split(spec, "12a b", 2, "_1|_2|a|_b");
    split(spec, "12a b", 0, "1|2|a|_b");
    split(spec, " 12", 1, "_|1|2");
    split(spec, "", 0, "");
}

static void test_none(void **state)
{
    struct sluice_error err = { .size = sizeof(err) };
    struct splitter *s = NULL;
    struct splitter_worker *w = NULL;
    struct splitter_pieces out;
    (void)state;
    assert_int_equal(splitter_read(NULL, &s, &err), SLUICE_OK);
    assert_int_equal(splitter_worker_create(s, &w, &err), SLUICE_OK);
    assert_int_equal(splitter_run(w, "a b", 3, 1, &out, &err), SLUICE_OK);
    assert_int_equal(out.n, 1);
    assert_int_equal(out.pieces[0].len, 3);
    assert_int_equal(splitter_bound(s, 3), 3);
    splitter_worker_destroy(w);
    splitter_destroy(s);
}

static void test_bound(void **state)
{
    struct sluice_error err = { .size = sizeof(err) };
    struct splitter *s = NULL;
    json_t *spec = spec_parse("{'type': 'Metaspace', 'replacement': '\342\226\201'}");
    (void)state;
    assert_int_equal(splitter_read(spec, &s, &err), SLUICE_OK);
    assert_int_equal(splitter_bound(s, 0), 0);
    assert_int_equal(splitter_bound(s, 10), 33);
    assert_true(splitter_bound(s, SIZE_MAX / 2) == SIZE_MAX);
    splitter_destroy(s);
    json_decref(spec);
}

static int32_t read_only(const json_t *spec, struct sluice_error *err)
{
    struct splitter *s = NULL;
    int32_t status = splitter_read(spec, &s, err);
    assert_true((s == NULL) == (status != SLUICE_OK));
    splitter_destroy(s);
    return status;
}

static void test_refused(void **state)
{
    static const struct spec_refusal cases[] = {
        { "{'type': 'Frob'}", "'Frob'" },
        { "{'type': 'ByteLevel', 'add_prefix_space': true}", "'ByteLevel'" },
        { "{'type': 'Whitespace', 'x': 1}", "the pre_tokenizer Whitespace the member 'x'" },
        { "{'type': 'Digits'}", "Digits is missing" },
        { "{'type': 'Punctuation', 'behavior': 'Shuffled'}", "'Shuffled'" },
        { "{'type': 'Punctuation', 'behavior': 1}", "behavior is missing" },
        { "{'type': 'CharDelimiterSplit', 'delimiter': 'ab'}", "CharDelimiterSplit is missing" },
        { "{'type': 'FixedLength', 'length': 0}", "FixedLength is missing" },
        { "{'type': 'Split', 'pattern': {'String': 'a'}, 'behavior': 'Isolated'}",
          "Split is missing" },
        { "{'type': 'Split', 'pattern': {'String': ''}, 'behavior': 'Isolated', 'invert': false}",
          "Split with the pattern" },
        { "{'type': 'Split', 'pattern': {'Regex': '\\\\bx'}, 'behavior': 'Isolated', 'invert': "
          "false}",
          "pattern" },
        { "{'type': 'Metaspace'}", "Metaspace is missing" },
        { "{'type': 'Metaspace', 'replacement': '_', 'prepend_scheme': 'last'}", "'last'" },
        { "{'type': 'Metaspace', 'replacement': '_', 'add_prefix_space': false}", "'always'" },
        { "{'type': 'Sequence', 'pretokenizers': 1}", "Sequence is missing" },
    };
    (void)state;
    spec_refuse(cases, sizeof(cases) / sizeof(cases[0]), read_only);
}

static void test_too_many(void **state)
{
    json_t *list = json_array(), *spec;
    struct sluice_error err = { .size = sizeof(err) };
    struct splitter *s = NULL;
    int i;
    (void)state;
    for (i = 0; i < 17; i++) {
        (void)json_array_append_new(list, json_pack("{s:s}", "type", "Whitespace"));
    }
    spec = json_pack("{s:s,s:o}", "type", "Sequence", "pretokenizers", list);
    assert_int_equal(splitter_read(spec, &s, &err), SLUICE_E_CONFIG);
    assert_non_null(strstr(err.message, "more than 16 steps"));
    json_decref(spec);
}

static int32_t read_and_run(const json_t *spec, struct sluice_error *err)
{
    struct splitter *s = NULL;
    struct splitter_worker *w = NULL;
    struct splitter_pieces out;
    int32_t status = splitter_read(spec, &s, err);
    if (status == SLUICE_OK) {
        status = splitter_worker_create(s, &w, err);
    }
    if (status == SLUICE_OK) {
        status = splitter_run(w, "ab c", 4, 1, &out, err);
    }
    splitter_worker_destroy(w);
    splitter_destroy(s);
    return status;
}

static void test_no_memory(void **state)
{
    json_t *spec =
        spec_parse("{'type': 'Sequence', 'pretokenizers': [{'type': 'WhitespaceSplit'}, "
                   "{'type': 'Metaspace', 'replacement': '_'}, {'type': 'Split', 'pattern': "
                   "{'String': 'b'}, 'behavior': 'Isolated', 'invert': false}]}");
    (void)state;
    spec_without_memory(spec, read_and_run);
    json_decref(spec);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_vectors),   cmocka_unit_test(test_first),
        cmocka_unit_test(test_none),      cmocka_unit_test(test_bound),
        cmocka_unit_test(test_refused),   cmocka_unit_test(test_too_many),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
