"""The tokenizer, at the speed of C: libsluice-tokenizer by ctypes, which gives the GIL away in each call."""

import ctypes
import os
import threading

from .errors import error_of, needed
from .program import INSTALLED, LIBRARIES

_ORDINARY, _ALLOW, _REFUSE = range(3)
_STATUS = {1: 2, 2: 2, 3: 4, 5: 5, 6: 130, 8: 5}  # SLUICE_E_* of sluice.h as exit statuses
_SPECIALS = {"ordinary": _ORDINARY, "allow": _ALLOW, "refuse": _REFUSE}


class _Error(ctypes.Structure):  # struct sluice_error of sluice.h
    _fields_ = [("size", ctypes.c_uint32), ("code", ctypes.c_int32), ("row", ctypes.c_int64), ("field", ctypes.c_char * 64),
                ("message", ctypes.c_char * 944)]


class _Options(ctypes.Structure):  # struct sluice_tokenizer_options
    _fields_ = [("size", ctypes.c_uint64), ("pattern", ctypes.c_char_p), ("specials", ctypes.c_int32)]


def _library_path():
    named = os.environ.get("SLUICE_TOKENIZER_LIB")
    return named or os.path.join(INSTALLED, "lib", "sluice", "libsluice-tokenizer.so")


def _load():
    """Loads the library once; what it is linked to first, from the wheel, in whatever order works."""
    names = sorted(os.listdir(LIBRARIES)) if os.path.isdir(LIBRARIES) and not os.environ.get("SLUICE_TOKENIZER_LIB") else []
    wanted = [n for n in names if n.startswith(("libpcre2", "libutf8proc", "libjansson", "libxxhash", "libnettle", "libzstd"))]
    for name in wanted:
        ctypes.CDLL(os.path.join(LIBRARIES, name), mode=ctypes.RTLD_GLOBAL)
    lib = ctypes.CDLL(_library_path())
    pointer, size, text, err = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.POINTER(_Error)
    lib.sluice_tokenizer_open.argtypes = [text, ctypes.POINTER(_Options), ctypes.POINTER(pointer), err]
    lib.sluice_tokenizer_destroy.argtypes = [pointer]
    lib.sluice_tokenizer_destroy.restype = None
    lib.sluice_tokenizer_vocab_size.argtypes = [pointer]
    lib.sluice_tokenizer_vocab_size.restype = ctypes.c_uint32
    lib.sluice_tokenizer_eos.argtypes = [pointer, ctypes.POINTER(ctypes.c_uint32)]
    lib.sluice_tokenizer_bound.argtypes = [pointer, size]
    lib.sluice_tokenizer_bound.restype = size
    lib.sluice_tokenizer_token.argtypes = [pointer, ctypes.c_uint32, ctypes.POINTER(pointer), ctypes.POINTER(size)]
    lib.sluice_encoder_create.argtypes = [pointer, size, ctypes.POINTER(pointer), err]
    lib.sluice_encoder_destroy.argtypes = [pointer]
    lib.sluice_encoder_destroy.restype = None
    lib.sluice_encode.argtypes = [pointer, text, size, pointer, size, ctypes.POINTER(size), err]
    return lib


_library, _lock = None, threading.Lock()


def _get():
    global _library
    with _lock:
        if _library is None:
            _library = _load()
    return _library


def _raise(error):
    raise error_of(_STATUS.get(error.code, 1), error.message.decode("utf-8", "replace"))


class _Vocabulary:
    """The library's tokenizer. Encoders hold it, so it goes after the last of them."""

    def __init__(self, path, pattern, specials):
        self.lib, self.handle, error = _get(), ctypes.c_void_p(), _Error(size=ctypes.sizeof(_Error))
        options = _Options(ctypes.sizeof(_Options), pattern, specials)
        if self.lib.sluice_tokenizer_open(os.fsencode(path), ctypes.byref(options), ctypes.byref(self.handle), ctypes.byref(error)) != 0:
            _raise(error)

    def __del__(self):
        if getattr(self, "handle", None):
            self.lib.sluice_tokenizer_destroy(self.handle)


class _Encoder:
    """An encoder and room for ids; of one thread."""

    def __init__(self, vocabulary):
        self.lib, self.vocabulary = vocabulary.lib, vocabulary
        self.handle, self.error = ctypes.c_void_p(), _Error(size=ctypes.sizeof(_Error))
        self.n, self.room, self.ids = ctypes.c_size_t(), 0, None
        if self.lib.sluice_encoder_create(vocabulary.handle, 0, ctypes.byref(self.handle), ctypes.byref(self.error)) != 0:
            _raise(self.error)

    def __del__(self):
        if getattr(self, "handle", None):
            self.lib.sluice_encoder_destroy(self.handle)

    def encode(self, data):
        """Encodes UTF-8. -> number of ids, which are the first ones of self.ids"""
        need = self.lib.sluice_tokenizer_bound(self.vocabulary.handle, len(data))
        if need > self.room:
            self.room = max(need, 2 * self.room, 4096)
            self.ids = (ctypes.c_uint32 * self.room)()
        if self.lib.sluice_encode(self.handle, data, len(data), ctypes.addressof(self.ids), self.room, ctypes.byref(self.n),
                                  ctypes.byref(self.error)) != 0:
            _raise(self.error)
        return self.n.value


class Tokenizer:
    """A vocabulary: .tiktoken, tokenizer.json or a SentencePiece .model. Shared by threads; ids are numpy arrays of uint32."""

    def __init__(self, path, specials="ordinary", pattern=None):
        if specials not in _SPECIALS:
            raise error_of(2, f"specials: found {specials!r}, expected one of {', '.join(_SPECIALS)}")
        self.path = os.fspath(path)
        self._vocabulary = _Vocabulary(self.path, pattern.encode() if pattern else None, _SPECIALS[specials])
        self._lib, self._handle, self._own = self._vocabulary.lib, self._vocabulary.handle, threading.local()

    def _encoder(self):
        encoder = getattr(self._own, "encoder", None)
        if encoder is None:
            encoder = self._own.encoder = _Encoder(self._vocabulary)
        return encoder

    @property
    def vocab_size(self):
        """The highest id + 1, special tokens included."""
        return self._lib.sluice_tokenizer_vocab_size(self._handle)

    @property
    def eos(self):
        """The id of the token that ends a document, or None."""
        found = ctypes.c_uint32()
        return found.value if self._lib.sluice_tokenizer_eos(self._handle, ctypes.byref(found)) == 0 else None

    def encode(self, text):
        """Ids of a text, as a numpy array of uint32."""
        numpy = needed("numpy", "encode")
        encoder = self._encoder()
        n = encoder.encode(text.encode("utf-8") if isinstance(text, str) else text)
        return numpy.frombuffer(encoder.ids, dtype=numpy.uint32, count=n).copy() if n else numpy.empty(0, numpy.uint32)

    def encode_batch(self, texts):
        """Ids of many texts: (ids, offsets), where text k has ids[offsets[k]:offsets[k + 1]]."""
        numpy = needed("numpy", "encode_batch")
        encoder, datas = self._encoder(), [t.encode("utf-8") if isinstance(t, str) else t for t in texts]
        most = self._lib.sluice_tokenizer_bound(self._handle, max(map(len, datas), default=0))
        offsets = numpy.zeros(len(datas) + 1, numpy.int64)
        ids = numpy.empty(most + sum(map(len, datas)) // 3, numpy.uint32)
        encode, handle, n, error, end = self._lib.sluice_encode, encoder.handle, encoder.n, encoder.error, 0
        there, got, failed = ids.ctypes.data, ctypes.byref(n), ctypes.byref(error)
        for k, data in enumerate(datas):
            if len(ids) - end < most:
                ids = numpy.concatenate([ids[:end], numpy.empty(end + most, numpy.uint32)])
                there = ids.ctypes.data
            if encode(handle, data, len(data), there + 4 * end, most, got, failed) != 0:
                _raise(error)
            end += n.value
            offsets[k + 1] = end
        return ids[:end], offsets

    def count(self, text):
        """How many ids a text has. Needs no numpy."""
        return self._encoder().encode(text.encode("utf-8") if isinstance(text, str) else text)

    def decode_bytes(self, ids):
        """The bytes of ids, one behind the other."""
        bytes_, length, out = ctypes.c_void_p(), ctypes.c_size_t(), []
        for one in ids:
            if self._lib.sluice_tokenizer_token(self._handle, int(one), ctypes.byref(bytes_), ctypes.byref(length)) != 0:
                raise error_of(4, f"no token has the id {int(one)}")
            out.append(ctypes.string_at(bytes_, length.value))
        return b"".join(out)

    def decode(self, ids):
        """The text of ids; what is no UTF-8 becomes U+FFFD."""
        return self.decode_bytes(ids).decode("utf-8", "replace")


def tokenizer(path, **options):
    """Opens a vocabulary file; specials: "ordinary" (text like any other), "allow", "refuse"."""
    return Tokenizer(path, **options)
