# SPDX-License-Identifier: Apache-2.0
"""The C library by ctypes: contexts, arrays, models. Nothing here computes: it converts, checks, calls and names."""
from __future__ import annotations

import contextlib
import ctypes
import json
import os
import sys
import threading
import time
from collections.abc import Iterator
from typing import Any

import numpy as np

from samebits import _prototypes as c

_NAMES = {"win32": "samebits.dll", "darwin": "libsamebits.dylib"}
PATH = os.environ.get("SAMEBITS_LIBRARY") or os.path.join(os.path.dirname(os.path.abspath(__file__)), _NAMES.get(sys.platform, "libsamebits.so"))
lib = ctypes.CDLL(PATH)
for _name, (_result, _arguments) in c.FUNCTIONS.items():
    _function = getattr(lib, _name)
    _function.restype, _function.argtypes = _result, _arguments

DTYPES = {np.dtype(name): value for name, value in (
    ("float32", c.SB_F32), ("float64", c.SB_F64), ("int32", c.SB_I32), ("int64", c.SB_I64), ("uint8", c.SB_U8), ("uint32", c.SB_U32),
    ("uint64", c.SB_U64))}
_BACK = {value: dtype for dtype, value in DTYPES.items()}


class Error(Exception):
    """What the library refused: `status` ("SB_ERR_SHAPE"), `argument`, and the sentence."""

    def __init__(self, status, argument, sentence):
        super().__init__(sentence)
        self.status, self.argument = status, argument

    def __reduce__(self):
        return type(self), (self.status, self.argument, str(self))


class InvalidError(Error, ValueError):
    """An argument, a shape, a dtype or a number that is refused."""


class FormatError(Error, ValueError):
    """A file that is not what it should be."""


class UnsupportedError(Error, NotImplementedError):
    """Known, and not there."""


class FileError(Error, OSError):
    """The operating system refused a file operation."""

    def __str__(self):
        return self.args[0] if self.args else ""


class StateError(Error, RuntimeError):
    """Called at the wrong time."""


class OutOfMemoryError(Error, MemoryError):
    """Out of memory."""


_KINDS = {c.SB_ERR_FORMAT: FormatError, c.SB_ERR_UNSUPPORTED: UnsupportedError, c.SB_ERR_IO: FileError, c.SB_ERR_STATE: StateError,
          c.SB_ERR_MEMORY: OutOfMemoryError, c.SB_ERR_DEVICE: StateError, c.SB_ERR_INTERRUPTED: StateError, c.SB_ERR_WORKER: StateError,
          c.SB_ERR_INTERNAL: Error}


def check(name, *arguments):
    """Calls a function whose last argument is the error, and raises it."""
    error = c.sb_error()
    status = getattr(lib, name)(*arguments, ctypes.byref(error))
    if status != c.SB_OK:
        sentence = error.message.decode("utf-8", "replace") or lib.sb_status_name(status).decode()
        raise _KINDS.get(status, InvalidError)(lib.sb_status_name(status).decode(), error.argument.decode("utf-8", "replace"), sentence)


def whole(text):
    """Bytes for C, where a text ends at its first NUL: what stands behind one would be lost unseen."""
    if b"\0" in text:
        raise ValueError("embedded null byte")
    return text


def text_of(name, value):
    """The bytes of a text for C; name: of the argument that it is."""
    if not isinstance(value, str):
        raise TypeError(f"{name}: expected a text, got {value!r}")
    return whole(value.encode())


# ---- the configuration, and contexts: one a thread, device and number of threads


_global: dict[str, Any] = {"device": None, "threads": 0}


class _Local(threading.local):
    def __init__(self) -> None:
        self.config: list[dict[str, Any]] = []
        self.contexts: dict[tuple[Any, ...], _Context] = {}


_local = _Local()


def get_config() -> dict[str, Any]:
    """The device and the number of threads that estimators use: None and 0 where the environment says (SAMEBITS_DEVICE, SAMEBITS_THREADS).

    >>> import samebits
    >>> samebits.get_config()
    {'device': None, 'threads': 0}
    """
    return dict(_local.config[-1] if _local.config else _global)


def set_config(*, device: str | None = None, threads: int | None = None) -> None:
    """From now on estimators use this device, and this number of threads (None: as before), on every thread of the process that is not
    within a config_context. No bit of any result depends on either.

    >>> import samebits
    >>> samebits.set_config(threads=2)
    >>> samebits.get_config()["threads"]
    2
    >>> samebits.set_config(threads=0)
    """
    changed = {key: value for key, value in (("device", device), ("threads", threads)) if value is not None}
    _checked({**get_config(), **changed})
    (_local.config[-1] if _local.config else _global).update(changed)


@contextlib.contextmanager
def config_context(*, device: str | None = None, threads: int | None = None) -> Iterator[None]:
    """Within it estimators of this thread use this device, and this number of threads. No bit of any result depends on either.

    >>> import samebits
    >>> with samebits.config_context(threads=1):
    ...     samebits.threads()
    1
    """
    config = get_config()
    config.update((key, value) for key, value in (("device", device), ("threads", threads)) if value is not None)
    _local.config.append(_checked(config))
    try:
        yield
    finally:
        _local.config.pop()


def _checked(config: dict[str, Any]) -> dict[str, Any]:
    """The configuration, if a context can have it."""
    _context_of(config)
    return config


class _Context:
    def __init__(self, device, threads):
        self.handle = ctypes.c_void_p()
        options = c.sb_context_options(size=ctypes.sizeof(c.sb_context_options), device=whole(device.encode()) if device else None, threads=threads)
        check("sb_context_new", ctypes.byref(options), ctypes.byref(self.handle))

    def __del__(self):
        if getattr(self, "handle", None) and lib:
            lib.sb_context_free(self.handle)


def _context_of(config: dict[str, Any]) -> ctypes.c_void_p:
    key = device, number = config["device"], config["threads"]
    if device is not None and not isinstance(device, str):
        raise TypeError(f"device: {device!r} is no name of a device (\"cpu\", \"cuda:0\") and not None")
    if not isinstance(number, (int, np.integer)):
        raise TypeError(f"threads: {number!r} is no whole number")
    if not 0 <= number <= 1024:
        raise InvalidError("SB_ERR_ARGUMENT", "threads", f"threads: {number} is not in 1 to 1024 (0: as the machine has)")
    if key not in _local.contexts:
        _local.contexts[key] = _Context(*key)
    return _local.contexts[key].handle


def context() -> ctypes.c_void_p:
    """The context of this thread under its configuration."""
    return _context_of(_local.config[-1] if _local.config else _global)


def device_name() -> str:
    """The name of the device that estimators use now."""
    return lib.sb_context_device(context()).decode()


def threads() -> int:
    """The number of threads that estimators use now.

    >>> import samebits
    >>> samebits.threads() >= 1
    True
    """
    return lib.sb_context_threads(context())


# ---- arrays


class Array:
    """A view of a numpy array's memory, which stays alive with it; on a device that has its own memory, a copy there."""

    def __init__(self, array):
        array = np.asarray(array, order="C")
        array = array if array.flags.aligned else array.copy()
        if array.dtype not in DTYPES:
            raise TypeError(f"an array of {array.dtype}: expected one of {', '.join(str(d) for d in DTYPES)}")
        self.kept, self.handle = array, ctypes.c_void_p()
        shape = (ctypes.c_int64 * max(array.ndim, 1))(*array.shape)
        ctx, dtype, data = context(), DTYPES[array.dtype], array.ctypes.data_as(ctypes.c_void_p)
        if device_name() == "cpu":
            check("sb_array_wrap", ctx, dtype, array.ndim, shape, data, ctypes.byref(self.handle))
        else:
            check("sb_array_new", ctx, dtype, array.ndim, shape, ctypes.byref(self.handle))
            check("sb_array_write", self.handle, data, array.nbytes)

    def __del__(self):
        if getattr(self, "handle", None) and lib:
            lib.sb_array_free(self.handle)


def to_numpy(handle):
    """A copy of an array of the library; one number where it has no axes."""
    ndim, shape = lib.sb_array_ndim(handle), lib.sb_array_shape(handle)
    out = np.empty(tuple(shape[i] for i in range(ndim)), dtype=_BACK[lib.sb_array_dtype(handle)])
    check("sb_array_read", handle, out.ctypes.data_as(ctypes.c_void_p), out.nbytes)
    return out if ndim else out[()].item()


class _Held:
    """An array of the library that lives as long as the numpy array made of it."""

    def __init__(self, handle, address, shape, dtype):
        self.handle = handle
        self.__array_interface__ = {"version": 3, "data": (address, False), "shape": shape, "typestr": dtype.str}

    def __del__(self):
        if lib:
            lib.sb_array_free(self.handle)


def adopt(handle):
    """The same without a copy where the memory is the processor's; the array is numpy's from now on."""
    ndim, shape, address = lib.sb_array_ndim(handle), lib.sb_array_shape(handle), lib.sb_array_data(handle)
    if ndim and address:
        return np.asarray(_Held(handle, address, tuple(shape[i] for i in range(ndim)), _BACK[lib.sb_array_dtype(handle)]))
    try:
        return to_numpy(handle)
    finally:
        lib.sb_array_free(handle)


# ---- models


class Data:
    """What a method is given, as the library takes it; x may be a CSR matrix."""

    def __init__(self, x, y=None, weights=None, classes=None, rows=0, settings=None):
        sparse = (x.indptr, x.indices) if hasattr(x, "indptr") else (None, None)
        self.kept = [None if a is None else Array(a) for a in (x if sparse[0] is None else x.data, y, weights, *sparse)]
        handles = [a and a.handle for a in self.kept]
        self.struct = c.sb_data(size=ctypes.sizeof(c.sb_data), x=handles[0], y=handles[1], weights=handles[2], indptr=handles[3], indices=handles[4],
                                columns=x.shape[1] if handles[3] else 0, classes=classes and classes.encode(),
                                rows=rows, settings=settings.encode() if settings else None)


class Model:
    """A model of the library: parameters, a fit, methods, arrays; it pickles as the bytes of its file."""

    def __init__(self, algorithm):
        handle = ctypes.c_void_p()
        check("sb_model_new", context(), algorithm.encode(), ctypes.byref(handle))
        self._keep(handle)

    def _keep(self, handle):
        self.handle, self.device, self.copies = handle, device_name(), {}

    def here(self):
        """This model where the context is: itself, or a copy on that device, which is kept."""
        at = device_name()
        if at == self.device:
            return self
        if at not in self.copies:
            self.copies[at] = restore(self.store())
        return self.copies[at]

    def __del__(self):
        if getattr(self, "handle", None) and lib:
            lib.sb_model_free(self.handle)

    def __reduce__(self):
        return restore, (self.store(),)

    def __deepcopy__(self, memo):
        return restore(self.store())

    def set(self, name, value):
        if isinstance(value, np.ndarray):
            array = Array(value)
            check("sb_model_set_array", context(), self.handle, name.encode(), array.handle)
        else:
            check("sb_model_set", self.handle, name.encode(), value.encode())

    def fit(self, method, x, y=None, weights=None, classes=None, told=""):
        """told: by what name a long fit says on standard error how far it is."""
        raised, last = [], int(time.monotonic())

        def progress(user, done, total):  # (a signal's handler runs here, and what it raises ends the fit)
            nonlocal last
            try:
                now = int(time.monotonic())
                if told and now != last:
                    print(f"{told}: {done} of at most {total}", file=sys.stderr, flush=True)
                last = now
                return len(raised)
            except BaseException as error:  # pylint: disable=broad-except
                raised.append(error)
                return 1

        self.copies = {}
        data = Data(x, y, weights, classes)
        data.struct.progress = type(data.struct.progress)(progress)
        try:
            check("sb_model_fit", context(), self.handle, method.encode(), ctypes.byref(data.struct))
        except Error:
            if raised:
                raise raised[0] from None
            raise

    def call(self, method, x, y=None, weights=None, rows=0, settings=None, count=1):
        """The result of a method, or a tuple of `count` of them."""
        data = Data(x, y, weights, rows=rows, settings=settings)
        out = (ctypes.c_void_p * count)()
        check("sb_model_call_many", context(), self.here().handle, method.encode(), ctypes.byref(data.struct), count, out)
        results = tuple(adopt(handle) for handle in out)
        return results if count > 1 else results[0]

    def take(self, dtype, sizes, arrays, classes=None):
        """A fit that was made elsewhere: the type of its data, sizes by name, arrays by name, the names of classes as JSON."""
        kept = [Array(a) for a in arrays.values()]
        fitted = c.sb_fitted(
            size=ctypes.sizeof(c.sb_fitted), dtype=DTYPES[np.dtype(dtype)], size_count=len(sizes), array_count=len(kept),
            size_names=(ctypes.c_char_p * len(sizes))(*(name.encode() for name in sizes)), sizes=(ctypes.c_int64 * len(sizes))(*sizes.values()),
            array_names=(ctypes.c_char_p * len(kept))(*(name.encode() for name in arrays)), arrays=(ctypes.c_void_p * len(kept))(*(a.handle for a in kept)),
            classes=None if classes is None else classes.encode())
        check("sb_model_take", context(), self.handle, ctypes.byref(fitted))

    def array(self, name):
        handle = lib.sb_model_array(self.handle, name.encode())
        return to_numpy(handle) if handle else None

    def warnings(self):
        """[(category, sentence)]"""
        lines = lib.sb_model_warnings(self.handle).decode().splitlines()
        return [tuple(line.split(": ", 1)) for line in lines]

    def note(self, key):
        text = lib.sb_model_note(self.handle, key.encode())
        return None if text is None else text.decode()

    def set_note(self, key, text):
        check("sb_model_set_note", self.handle, whole(key.encode()), None if text is None else whole(text.encode()))

    def _head(self):
        """The header of the model's file, and what stands behind it."""
        data = self.store()
        end = int.from_bytes(data[:8], "little")
        return json.loads(data[8:][:end]), data[8:][end:]

    def parameters(self):
        """{name: text}, all that reach a bit, as a model's file has them."""
        return json.loads(self._head()[0]["__metadata__"]["model"])["parameters"]

    def parameter_arrays(self):
        """{name: array}, those that are arrays."""
        head, data = self._head()
        found = {name.removeprefix("parameter."): row for name, row in head.items() if name.startswith("parameter.")}
        return {name: np.frombuffer(data[slice(*row["data_offsets"])], dtype=np.float64).reshape(row["shape"]) for name, row in found.items()}

    def features(self):
        """The number of features of the fit."""
        return lib.sb_model_features(self.handle)

    def algorithm(self):
        return lib.sb_model_algorithm(self.handle).decode()

    def digest(self):
        out = (ctypes.c_uint8 * 32)()
        check("sb_model_digest", context(), self.here().handle, out)
        return bytes(out).hex()

    def save(self, path):
        check("sb_model_save", self.handle, whole(os.fsencode(path)))

    def store(self):
        size = ctypes.c_int64()
        check("sb_model_store", self.handle, None, 0, ctypes.byref(size))
        bytes_ = ctypes.create_string_buffer(size.value)
        check("sb_model_store", self.handle, bytes_, size.value, ctypes.byref(size))
        return bytes_.raw


def _given(handle):
    model = Model.__new__(Model)
    model._keep(handle)  # pylint: disable=protected-access
    return model


def restore(data):
    """The model whose file has these bytes."""
    handle = ctypes.c_void_p()
    check("sb_model_restore", context(), data, len(data), ctypes.byref(handle))
    return _given(handle)


def load(path):
    """The model of a file."""
    handle = ctypes.c_void_p()
    check("sb_model_load", context(), whole(os.fsencode(path)), ctypes.byref(handle))
    return _given(handle)


# ---- metrics, digests, reports


def metric(name, truth, prediction, weights=None, classes=0, settings=()):
    """A metric of the library: a number, or an array. settings: ["average=macro", ...]"""
    arrays = [None if a is None else Array(a) for a in (truth, prediction, weights)]
    handles = [a and a.handle for a in arrays]
    texts = (ctypes.c_char_p * len(settings))(*(text.encode() for text in settings))
    data = c.sb_metric_data(size=ctypes.sizeof(c.sb_metric_data), truth=handles[0], prediction=handles[1], weights=handles[2], classes=classes,
                            settings=texts, setting_count=len(settings))
    out = ctypes.c_void_p()
    check("sb_metric", context(), name.encode(), ctypes.byref(data), ctypes.byref(out))
    return adopt(out)


def digest_arrays(arrays):
    """The tree digest (contract T10) of arrays by name."""
    kept = [Array(a) for a in arrays.values()]
    names = (ctypes.c_char_p * len(kept))(*(text_of("a name of an array", name) for name in arrays))
    handles = (ctypes.c_void_p * len(kept))(*(a.handle for a in kept))
    out = (ctypes.c_uint8 * 32)()
    check("sb_digest_arrays", context(), len(kept), names, handles, out)
    return bytes(out).hex()


def report(name, *arguments, page=None):
    """Calls a function that gives a report: (verdict, lines, JSON text). page: a file for its page."""
    handle = ctypes.c_void_p()
    check(name, *arguments, ctypes.byref(handle))
    try:
        if page is not None:
            check("sb_report_write_page", handle, page)
        return lib.sb_report_verdict(handle), lib.sb_report_text(handle).decode(), lib.sb_report_json(handle).decode()
    finally:
        lib.sb_report_free(handle)
