# twins.sh - the inline functions of the SDK's headers are functions of libsluice-sdk.so, all of them and nothing else, for callers without a compiler.
. "$SRC/tests/lib.sh"

# The name before the parameters in each definition that begins with SLUICE_INLINE.
for header in "$SRC"/sdk/sluice*.h; do
    grep -v '#define' "$header" | tr '\n' ' ' | grep -o 'SLUICE_INLINE [^#(;]*(' | sed 's/($//;s/.*[ *]//'
done | LC_ALL=C sort >inlines
[ "$(wc -l <inlines)" -ge 25 ] || fail "found only $(wc -l <inlines) inline functions in sdk/*.h"
nm -D --defined-only "$BUILD/libsluice-sdk.so" | sed -n 's/.* T //p' | LC_ALL=C sort >twins
if ! diff inlines twins >differences; then
    cat differences >&2
    fail 'the inline functions of sdk/*.h (<) and the functions of libsluice-sdk.so (>) differ'
fi

# No header defines an inline function in another way, which would leave it without a twin.
if grep -nE '^ *static inline' "$SRC"/sdk/*.h; then
    fail 'an inline function is not marked SLUICE_INLINE'
fi

# A twin is called as a foreign function.
if grep -q -e -fsanitize= "$BUILD/flags"; then exit 0; fi
"${PYTHON:-python3}" - "$BUILD/libsluice-sdk.so" <<'END' || fail 'the twins do not work when called from Python'
import ctypes, sys
lib = ctypes.CDLL(sys.argv[1])
class Bytes(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("size", ctypes.c_uint64), ("capacity", ctypes.c_uint64)]
offsets, data = Bytes(), Bytes()
for text in (b"one", b"", b"three"):
    assert lib.sluice_bytes_add_text(ctypes.byref(offsets), ctypes.byref(data), text, ctypes.c_uint64(len(text))) == 1
assert ctypes.string_at(data.data, data.size) == b"onethree"
assert list((ctypes.c_int32 * 4).from_address(offsets.data)) == [0, 3, 3, 8]
lib.sluice_bytes_free(ctypes.byref(offsets))
lib.sluice_bytes_free(ctypes.byref(data))
assert data.data is None and data.size == 0
END
