# url_parts.sh - host, registered domain and public suffix of URLs as columns, by which statistics are grouped; null without a URL.
# shellcheck shell=sh
# shellcheck source=tests/lib.sh
. "$SRC/tests/lib.sh"

cat >list.dat <<'L'
com
uk
co.uk
// ===BEGIN PRIVATE DOMAINS===
github.io
L
cat >in.jsonl <<'J'
{"id":"a","text":"one two","url":"https://www.Example.co.uk/x"}
{"id":"b","text":"three","url":"https://example.co.uk:80/y"}
{"id":"c","text":"four","url":"http://127.0.0.1/"}
{"id":"d","text":"five"}
{"id":"e","text":"six","url":"https://a.github.io/"}
J
cat >parts.lua <<'L'
local s = require "sluice"
local docs = s.files "in.jsonl" | s.read_jsonl { columns = { url = "utf8" } }
local parts = docs | s.url_parts { suffixes = "list.dat" }
local columns = { "id", "fqdn", "registered_domain", "suffix" }
return s.pipeline { "parts", parts | s.write_jsonl { "parts", columns = columns, compression = "none" },
  docs | s.named("private", s.url_parts { suffixes = "list.dat", private_suffixes = true, lower = true, fqdn = "host" })
    | s.write_jsonl { "private", columns = { "host", "registered_domain" }, compression = "none" },
  parts | s.statistics { blocks = { "doc" }, groups = { "fqdn", "suffix" } } | s.write_stats { "stats" } }
L
expect 0 "$SLUICE" run parts.lua --quiet
is "$(cat parts/latest/*)" '{"id":"a","fqdn":"www.Example.co.uk","registered_domain":"Example.co.uk","suffix":"co.uk"}
{"id":"b","fqdn":"example.co.uk","registered_domain":"example.co.uk","suffix":"co.uk"}
{"id":"c","fqdn":"","registered_domain":"","suffix":""}
{"id":"d"}
{"id":"e","fqdn":"","registered_domain":"","suffix":""}' 'parts of URLs'
is "$(cat private/latest/*)" '{"host":"www.example.co.uk","registered_domain":"example.co.uk"}
{"host":"example.co.uk","registered_domain":"example.co.uk"}
{"host":"","registered_domain":""}
{}
{"host":"a.github.io","registered_domain":"a.github.io"}' 'parts of URLs by private suffixes'
is "$(grep -A 9 '"suffix"' stats/latest/*.stats.json | grep -A 4 '"documents"' | grep co.uk | sed 's/.*"total": \([0-9]*\).*/\1/')" 2 'documents below co.uk'
