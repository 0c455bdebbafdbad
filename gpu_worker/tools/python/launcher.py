"""Starts the sandbox's interpreter with as few rights as this kernel can take away.

The standard library and nothing of ours: it runs as a program of its own (`python -IS launcher.py BINARY …`),
and every layer is tried separately, because kernels and containers differ. `--layers` prints which hold.
The interpreter itself is the first wall and does not depend on any of these.
"""

import contextlib
import ctypes
import json
import os
import platform
import resource
import struct
import sys

PR_SET_NO_NEW_PRIVS = 38
PR_SET_SECCOMP = 22
SECCOMP_MODE_FILTER = 2
NOBODY = 65534
LIMITS = {
    resource.RLIMIT_AS: 1 << 30,
    resource.RLIMIT_CORE: 0,
    resource.RLIMIT_FSIZE: 0,
    resource.RLIMIT_NOFILE: 64,
    resource.RLIMIT_CPU: 600,
}
LIBRARIES = ("/lib", "/lib64", "/usr/lib", "/usr/lib64", "/etc/ld.so.cache")
LANDLOCK_CREATE, LANDLOCK_ADD, LANDLOCK_RESTRICT = 444, 445, 446
READ_AND_EXECUTE = 1 << 0 | 1 << 2 | 1 << 3
"""Landlock's rights to execute and to read files, and to list directories."""
FILE_RIGHTS = {1: 13, 2: 14, 3: 15, 4: 15, 5: 16}
"""How many rights over files each landlock version knows; later versions know those of the fifth."""

ARCHITECTURE = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
FORBIDDEN = {
    "x86_64": (
        *(41, 42, 43, 44, 45, 46, 47, 49, 50, 53, 288),  # sockets
        *(101, 310, 311, 312),  # other processes' memory
        *(155, 161, 165, 166, 167, 169, 175, 176, 246, 313),  # mounts, modules, reboot
        *(248, 249, 250, 272, 298, 308, 321, 323, 425, 426, 427),  # keys, namespaces, bpf, io_uring
        *(62, 200, 234),  # signals to others
    ),
    "aarch64": (
        *(198, 199, 200, 201, 202, 203, 206, 207, 211, 212, 242),
        *(117, 270, 271, 272),
        *(39, 40, 41, 51, 104, 105, 106, 142, 224, 225, 273),
        *(97, 217, 218, 219, 241, 268, 280, 282, 425, 426, 427),
        *(129, 130, 131),
    ),
}
"""System calls the interpreter never needs, by machine; they fail with EPERM."""

libc = ctypes.CDLL(None, use_errno=True)


def main(arguments: list[str]) -> None:
    if arguments == ["--layers"]:
        print(json.dumps(enclosed(sys.executable)))
        return
    binary, *rest = arguments
    program = os.open(binary, os.O_RDONLY)
    enclosed(binary)
    os.execve(program, [binary, *rest], {})


def enclosed(binary: str) -> dict[str, bool]:
    """Take every right away that can be; which layers hold."""
    layers = {"limits": _own_limits(), "no new rights": _no_new_rights()}
    layers["files and network"] = _landlock(binary)
    layers["nobody"] = _nobody()
    layers["system calls"] = _seccomp()
    return layers


def _own_limits() -> bool:
    """What the process may use. It ends by itself when its standard input does."""
    for which, most in LIMITS.items():
        resource.setrlimit(which, (most, most))
    return True


def _no_new_rights() -> bool:
    return libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0


def _nobody() -> bool:
    """Only root can become nobody; everybody else keeps who they are."""
    if os.getuid() != 0:
        return False
    with contextlib.suppress(OSError):  # a container may forbid it
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)
        return True
    return False


def _landlock(binary: str) -> bool:
    """Read and execute the program and its libraries; no other file, no TCP."""
    version = libc.syscall(LANDLOCK_CREATE, None, 0, 1)
    if version < 1:
        return False
    files = (1 << FILE_RIGHTS.get(version, 16)) - 1
    network = 0b11 if version >= 4 else 0
    attributes = struct.pack("=QQ", files, network)[: 16 if version >= 4 else 8]
    rules = libc.syscall(LANDLOCK_CREATE, attributes, len(attributes), 0)
    if rules < 0:
        return False
    for path in (binary, *LIBRARIES):
        _allow(rules, path)
    return libc.syscall(LANDLOCK_RESTRICT, rules, 0) == 0


def _allow(rules: int, path: str) -> None:
    try:
        handle = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except FileNotFoundError:
        return
    rights = READ_AND_EXECUTE if os.path.isdir(path) else READ_AND_EXECUTE & ~(1 << 3)
    libc.syscall(LANDLOCK_ADD, rules, 1, struct.pack("=Qi", rights, handle), 0)
    os.close(handle)


def _seccomp() -> bool:
    """A filter that lets every call pass but the forbidden ones, and none of another machine's."""
    machine = platform.machine()
    if machine not in FORBIDDEN:
        return False
    calls = FORBIDDEN[machine]
    load_arch, load_call = (0x20, 0, 0, 4), (0x20, 0, 0, 0)
    kill, allow, refuse = 0x80000000, 0x7FFF0000, 0x00050001
    lines = [load_arch, (0x15, 1, 0, ARCHITECTURE[machine]), (0x06, 0, 0, kill), load_call]
    lines += [(0x15, len(calls) - at, 0, call) for at, call in enumerate(calls)]
    lines += [(0x06, 0, 0, allow), (0x06, 0, 0, refuse)]
    code = b"".join(struct.pack("=HBBI", *line) for line in lines)
    buffer = ctypes.create_string_buffer(code)
    program = struct.pack("@HP", len(lines), ctypes.addressof(buffer))
    return libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, program, 0, 0) == 0


if __name__ == "__main__":
    main(sys.argv[1:])
