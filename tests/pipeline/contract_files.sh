# contract_files.sh - contracts in files: the own form, JSON Schema, a suite of Great Expectations, a schema of TFDV as text. What they ask for is
# checked, what can't be taken is named, and a file is part of the script: it is frozen with the plan.
. "$SRC/tests/lib.sh"

cat >docs.jsonl <<'END'
{"id":"a1","text":"one","lang":"en","n":3,"score":0.5}
{"id":"a2","text":"two","lang":"de","n":0,"score":1}
{"id":"lang","text":"three","lang":"fr","n":1,"score":0}
{"id":"n","text":"four","lang":"de","n":-1,"score":0}
{"id":"null","lang":"de","n":1,"score":0}
{"id":"long","text":"far too long a text","lang":"de","n":1,"score":0}
{"id":"score","text":"five","lang":"en","n":1,"score":1.5}
END
cat >own.json <<'END'
{ "contract": 1, "columns": { "text": "utf8", "lang": "utf8", "n": "integer", "score": "number" }, "required": ["text"],
  "range": { "n": { "min": 0 }, "score": [0, 1] }, "length": { "text": [1, 10] }, "allowed": { "lang": ["en", "de"] }, "unique": ["id"], "evolution": "add" }
END
cat >schema.json <<'END'
{ "$schema": "https://json-schema.org/draft/2020-12/schema", "title": "docs", "type": "object",
  "properties": { "text": { "type": "string", "minLength": 1, "maxLength": 10 }, "lang": { "enum": ["en", "de"] },
    "n": { "type": ["integer", "null"], "exclusiveMinimum": -1 }, "score": { "type": "number", "minimum": 0, "maximum": 1 }, "later": { "type": "string" } },
  "required": ["text"] }
END
cat >suite.json <<'END'
{ "expectation_suite_name": "docs", "expectations": [
  { "expectation_type": "expect_column_values_to_not_be_null", "kwargs": { "column": "text" } },
  { "expectation_type": "expect_column_value_lengths_to_be_between", "kwargs": { "column": "text", "min_value": 1, "max_value": 10 } },
  { "expectation_type": "expect_column_values_to_be_in_set", "kwargs": { "column": "lang", "value_set": ["en", "de"], "mostly": 1.0 } },
  { "expectation_type": "expect_column_values_to_be_between", "kwargs": { "column": "n", "min_value": 0 } },
  { "expectation_type": "expect_column_values_to_be_between", "kwargs": { "column": "score", "min_value": 0, "max_value": 1 } },
  { "expectation_type": "expect_column_values_to_be_of_type", "kwargs": { "column": "score", "type_": "float" } },
  { "expectation_type": "expect_column_values_to_be_unique", "kwargs": { "column": "id" } } ], "meta": { "great_expectations_version": "0.18.0" } }
END
cat >schema.pbtxt <<'END'
# made by tfdv.write_schema_text
feature { name: "text" type: BYTES presence { min_fraction: 1.0 min_count: 1 } shape { dim { size: 1 } } }
feature {
  name: "lang" type: BYTES domain: "lang"
  presence { min_count: 1 } value_count { min: 1 max: 1 }
}
feature { name: "n" type: INT int_domain { min: 0 } presence: { min_count: 1 } }
feature { name: "score" type: FLOAT float_domain { min: 0 max: 1.0 } }
string_domain { name: "lang" value: "en" value: "d\145" }
END
run() {
    cat >one.lua <<L
local s = require "sluice"
local docs = s.files "docs.jsonl" | s.read_jsonl { columns = { lang = "utf8", n = "int64", score = "float64" } }
return s.pipeline { "one", max_bad = 10, docs | s.contract { "$1"$2 } | s.write_jsonl { "out/$1", compression = "none" } }
L
}
for file in own.json schema.json suite.json; do
    run $file ''
    expect 0 "$SLUICE" run one.lua --quiet --run-dir "run.$file"
    is "$(lines "out/$file" | member id | tr '\n' ' ')" 'a1 a2 ' "rows that keep $file"
done
run schema.pbtxt ', length = { text = "1..10" }'
expect 0 "$SLUICE" run one.lua --quiet --run-dir run.tfdv
is "$(lines out/schema.pbtxt | member id | tr '\n' ' ')" 'a1 a2 ' 'rows that keep schema.pbtxt, and what the script adds'
grep -qF '"name": "schema.pbtxt"' out/schema.pbtxt/snapshots/000001.json || fail 'the manifest does not name the contract'

# The file is frozen with the plan: what stands in it later is another contract.
run own.json ''
expect 0 "$SLUICE" prepare one.lua --run-dir run.frozen
mv own.json kept.json
expect 0 "$SLUICE" run run.frozen --quiet
sed 's/"en", "de"/"en", "de", "fr"/' kept.json >own.json
expect 0 "$SLUICE" run one.lua --quiet --run-dir run.own.json
is "$(lines out/own.json | member id | tr '\n' ' ')" 'a1 a2 lang ' 'rows that keep the changed contract'

# What can't be taken is named with its place, unless the script does without.
left() {
    file=$1
    shift
    run "$file" ''
    expect 2 "$SLUICE" check one.lua
    says "$file says what can't be checked here" "$@" 'partial = true'
    run "$file" ', partial = true'
    expect 0 "$SLUICE" check one.lua
    says "left out of $file"
}
echo '{ "properties": { "text": { "type": "string", "format": "uri" }, "n": { "type": "number", "exclusiveMaximum": 5 } }, "anyOf": [ {} ] }' >odd.json
left odd.json "properties.text: 'format'" "properties.n: exclusiveMaximum of a number that is not whole" "the top: 'anyOf'"
cat >odd_suite.json <<'END'
{ "expectations": [ { "type": "expect_column_mean_to_be_between", "kwargs": { "column": "n" } },
  { "type": "expect_column_values_to_not_be_null", "kwargs": { "column": "n", "mostly": 0.9 } } ] }
END
left odd_suite.json 'expectation 1, expect_column_mean_to_be_between' "expectation 2, expect_column_values_to_not_be_null: 'mostly'"
echo 'feature { name: "text" type: BYTES value_count { min: 1 } drift_comparator { } } feature { name: "n" type: INT domain: "x" } default_environment: "T"' >odd.pbtxt
left odd.pbtxt 'feature text: more values than one' "feature text: 'drift_comparator'" "the domain 'x'" "the top: 'default_environment'"

bad() {
    run bad.json ''
    expect 2 "$SLUICE" check one.lua
    says bad.json "$@"
}
echo '{ "contract": 2 }' >bad.json
bad 'found contract = 2'
echo '{ "contract": 1, "rows": 5 }' >bad.json
bad_key() {
    run bad.json ''
    expect 2 "$SLUICE" check one.lua
    says "there is no 'rows'"
}
bad_key
echo '{ "a": 1 }' >bad.json
bad 'found none of'
echo '{ "a": ' >bad.json
bad 'no JSON'
echo 'feature { name: "a' >bad.json
bad 'a text does not end'
echo 'feature { name: "a" ' >bad.json
bad 'a message does not end'
echo 'hello' >bad.json
bad 'a value is expected'
