NEEDS  := simdjson
DEBIAN := libsimdjson-dev
