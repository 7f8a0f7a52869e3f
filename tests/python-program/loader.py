# SPDX-License-Identifier: MIT OR Apache-2.0
"""A scheduler's program in Python: it calls libbpf as C does.

loader.py LIBBPF OBJECT loads the object, attaches its scheduler `counting_ops`, and looks each
100 ms at what that counts. After the fifth look slices have 1 ms.
"""

import ctypes
import os
import signal
import sys
import time


def libbpf(path: str) -> ctypes.CDLL:
    """Load the library, with the types of the functions that are called here."""
    library = ctypes.CDLL(path, use_errno=True)
    pointer, text, number = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int
    signatures = {
        "bpf_object__open": (pointer, [text]),
        "bpf_object__load": (number, [pointer]),
        "bpf_object__close": (None, [pointer]),
        "bpf_object__find_map_by_name": (pointer, [pointer, text]),
        "bpf_map__attach_struct_ops": (pointer, [pointer]),
        "bpf_map__initial_value": (pointer, [pointer, ctypes.POINTER(ctypes.c_size_t)]),
        "bpf_map__fd": (number, [pointer]),
        "bpf_map_lookup_elem": (number, [number, pointer, pointer]),
        "bpf_link__destroy": (number, [pointer]),
        "libbpf_num_possible_cpus": (number, []),
    }
    for name, (result, arguments) in signatures.items():
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    return library


class Scheduler:
    """A loaded object, attached."""

    def __init__(self, library: ctypes.CDLL, path: str) -> None:
        self.library = library
        self.object = self.found(library.bpf_object__open(path.encode()), path)
        self.variable(b".rodata").value = 20_000_000
        if library.bpf_object__load(self.object):
            raise OSError(ctypes.get_errno(), "cannot load")
        self.link = self.found(
            library.bpf_map__attach_struct_ops(self.map(b"counting_ops")), "counting_ops"
        )

    @staticmethod
    def found(what: int | None, name: str) -> int:
        """Give back what a call returned, unless that is NULL."""
        if not what:
            error = ctypes.get_errno()
            raise OSError(error, f"{name}: {os.strerror(error)}")
        return what

    def map(self, name: bytes) -> int:
        """Find a map of the object."""
        found = self.library.bpf_object__find_map_by_name(self.object, name)
        return self.found(found, name.decode())

    def variable(self, section: bytes) -> ctypes.c_uint64:
        """Find the first variable of a data section: memory that the scheduler has, too."""
        size = ctypes.c_size_t()
        at = self.library.bpf_map__initial_value(self.map(section), ctypes.byref(size))
        return ctypes.c_uint64.from_address(self.found(at, section.decode()))

    def enqueued(self) -> int:
        """Sum the counters of all CPUs up."""
        counters = (ctypes.c_uint64 * self.library.libbpf_num_possible_cpus())()
        key = ctypes.c_uint32(0)
        fd = self.library.bpf_map__fd(self.map(b"enqueued"))
        if self.library.bpf_map_lookup_elem(fd, ctypes.byref(key), counters):
            raise OSError(ctypes.get_errno(), "cannot look it up")
        return sum(counters)

    def close(self) -> None:
        """Detach it."""
        self.library.bpf_link__destroy(self.link)
        self.library.bpf_object__close(self.object)


def main() -> None:
    """Run until it is interrupted."""
    scheduler = Scheduler(libbpf(sys.argv[1]), sys.argv[2])
    print("attached")
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    start, look = time.monotonic(), 0
    try:
        while True:
            time.sleep(0.1)
            look += 1
            after = time.monotonic() - start
            print(f"look {look} after {after:.2f}s: {scheduler.enqueued()} enqueued", flush=True)
            if look == 5:
                scheduler.variable(b".data.slice").value = 1_000_000
    except KeyboardInterrupt:
        scheduler.close()


if __name__ == "__main__":
    main()
