# jsonl_plain.sh - records that are plain to see are taken without a parser, all others by it: both ways give the same values, and
# refuse the same. A number with an exponent in a member that nobody reads is what sends a record to the parser.
# shellcheck shell=sh
# shellcheck source=tests/lib.sh
. "$SRC/tests/lib.sh"

"$PYTHON" - <<'P'
import json, random
random.seed(11)
bad = [b'[1,2,,]', b'[1 2]', b'nul', b'nulll', b'truE', b'01.', b'01', b'-', b'1.', b'.5', b'+1', b'1e', b'- 1', b'NaN', b'[', b'{', b'}', b'{"a"}', b'{"a":}',
       b'{a:1}', b'[1,]', b'{"a":1,}', b'"a', b'"\\x"', b'"\\u12"', b'"\\ud800"', b'"\\udc00"', b'"\\ud800\\u0041"', b'"\t"', b'"\x00"', b'"\x1f"',
       b'"\xff"', b'"\xc0\x80"', b'"\xed\xa0\x80"', b'"\xe2\x82"', b'', b'1 1', b'"a" "b"', b'\xe2\x80\x83 1', b'[' * 1100 + b']' * 1100,
       b'1e999', b'123456789012345678901234567890']
good = [b'1', b'-0', b'0.5', b'1e3', b'-12.25E-2', b'18446744073709551615', b'true', b'false', b'null', b'[]', b'{}', b'[[1,{"a":[null]}]]', b'"\\u00e9\\ud83d\\ude00"',
        b'"\\"\\\\\\/\\b\\f\\n\\r\\t"', '"grün \U0001f600 ﷽"'.encode(), b' [ 1 , 2 ] ', b'[' * 20 + b']' * 20, b'"' + b'x' * 200 + b'\\n"', b'"\x7f"', b'{"a":1,"a":2}']
texts = [b'""', b'"plain"', b'null', b'1', b'true', b'[]', '"é"'.encode(), b'"\\u0000"', b'"a\\\\"', b'"' + b'\\n' * 70 + b'"']
# Strings that end, and escapes that stand, at each place of a block.
texts += [b'"' + b'y' * n + b'"' for n in range(60, 70)] + [b'"' + b'z' * n + b'\\n\\u0041\\"' + b'z' * 90 + b'"' for n in range(54, 68)]
ids = [b'"i"', b'7', b'-7', b'-0', b'1.5', b'1234567890123456789', b'12345678901234567890', b'"\\u0069"']
whole = [b'{}', b'[]', b'1', b'{"id":"x"}', b'{"id":"x","text":"t"', b'{"id":"x","text":"t"}}', b'{"id":"x","text":"t"} x', b' { "id" : "x" , "text" : "t" } ',
         b'{"id":"x","id":"y","text":"t"}', b'{"id":"x","text":"t","text":"u"}', b'{"id":"x","te\\u0078t":"t"}', b'{"id":"x" "text":"t"}', b'{"id":"x",,"text":"t"}',
         b'{,"id":"x","text":"t"}', b'{"id":"x","text":"t",}']
lines = list(whole)
for value in bad + good:
    lines.append(b'{"id":"x","m":' + value + b',"text":"t","n":[' + value + b']}')
    lines.append(b'{"id":"x","text":"t","m":' + value + b'}')
    for name in b"i", b"f", b"b":
        lines.append(b'{"id":"x","text":"t","' + name + b'":' + value + b'}')
for text in texts + good + bad:
    for id in ids:
        lines.append(b'{"text":' + text + b',"id":' + id + b'}')
for _ in range(4000): # and what chance makes of good ones
    line = bytearray(json.dumps({"id": "x", "text": "".join(random.choice('ab\n"\\é\t /') for _ in range(random.randrange(150))), "i": random.randrange(-99, 99),
                                 "m": [1, {"k": None}], "f": random.random()}, ensure_ascii=random.random() < .5).encode())
    for _ in range(random.randrange(3)):
        line[random.randrange(len(line))] = random.choice(b'"\\{}[],:0 \x1f\x80\xc3aun')
    lines.append(bytes(line))
lines = [line.replace(b'\n', b' ') for line in lines]
def parsed(line):
    body = line.lstrip()
    if not body.startswith(b'{'):
        return line
    rest = body[1:]
    return b'{"~":1e0' + (b'' if rest.lstrip().startswith(b'}') else b',') + rest
open('plain.jsonl', 'wb').write(b'\n'.join(lines) + b'\n')
open('parsed.jsonl', 'wb').write(b'\n'.join(parsed(line) for line in lines) + b'\n')
# Of all that stands in a member that nobody reads, these and no others are refused.
open('refused.jsonl', 'wb').write(b''.join(b'{"id":"x","m":' + value + b'}\n{"id":"x","m":[0,' + value + b']}\n' for value in bad))
P
cat >p.lua <<'L'
local s = require "sluice"
local a = s.args { input = { "glob", "in.jsonl", doc = "what to read" } }
local columns = { i = "int64", f = "float64", b = "bool" }
return s.pipeline { "p", s.files { a.input } | s.read_jsonl { columns = columns, missing = "allow" }
  | s.write_jsonl { "out", compression = "none" }, max_bad = 100000 }
L
for way in plain parsed refused; do
    rm -rf out run
    expect 0 "$SLUICE" run p.lua input=$way.jsonl --quiet --run-dir run
    # The member that was put in front, and ids made from places.
    find out/latest/ -type f -exec cat {} + | sed 's/"~":1e0,//; s/,"~":1e0//; s/"id":"[a-z]*\.jsonl:[0-9]*"/"id":"place"/' >$way.rows
    "$SLUICE" report run | grep ' quarantined  ' >$way.bad
done
[ "$(wc -l <plain.rows)" -gt 1000 ] || fail "$(wc -l <plain.rows) rows are too few to tell anything"
cmp plain.rows parsed.rows >&2 || fail "a record that is plain to see is not what the parser makes of it"
cmp plain.bad parsed.bad >&2 || fail "other records are refused than by the parser"
[ ! -s refused.rows ] || fail "a record is taken that is no JSON: $(head -n 1 refused.rows)"
