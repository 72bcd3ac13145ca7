#!/usr/bin/python3
"""Fetches what the virtual machine starts from, out of Debian's packages, which are not installed: the stock kernel
(vmlinux), the modules that it loads, and a busybox.

    kernel.py FOLDER    prints the folder in FOLDER that holds them; made the first time, with apt-get's help

vmlinuz is decompressed here: the virtual machine would take as long again as for all of its boot. Exit status: 77 when apt
cannot supply the packages, 1 when they are not as expected.
"""
import contextlib
import lzma
import pathlib
import shutil
import struct
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "support"))
from debian_package import CannotFetch, apt, download, unpack  # noqa: E402

METAPACKAGE = "linux-image-amd64"  # not the -cloud one: that has neither rdma_rxe nor 9p
BUSYBOX = "busybox-static"  # installed it would displace the plain busybox
ORDER = "order"  # the file with the modules' names in the order of loading
NOT_TO_BE_HAD = 77
# Documentation/x86/boot.rst
SETUP_SECTORS = 0x1F1
PAYLOAD = 0x248  # offset and length, of what follows the setup sectors
SECTOR_BYTES = 512


def package():
    """The package of the newest stock kernel that apt knows of, and its version."""
    lines = apt("apt-cache", "depends", "--important", METAPACKAGE).splitlines()
    names = [line.split()[1] for line in lines if line.strip().startswith("Depends:")]
    if not names:
        raise CannotFetch(f"apt knows no {METAPACKAGE} (apt-get update?)")
    shown = apt("apt-cache", "show", "--no-all-versions", names[0]).splitlines()
    return names[0], next(line.split()[1] for line in shown if line.startswith("Version:"))


def vmlinux(vmlinuz):
    """The kernel in a bzImage."""
    offset, length = struct.unpack_from("<II", vmlinuz, PAYLOAD)
    start = (vmlinuz[SETUP_SECTORS] + 1) * SECTOR_BYTES + offset
    return lzma.LZMADecompressor().decompress(vmlinuz[start : start + length])


def modules():
    """Names of the modules to load, in that order."""
    lines = (HERE / "modules.txt").read_text().splitlines()
    return [line for line in lines if line and not line.startswith("#")]


def fill(folder, kernel_package):
    """Fetches the packages and leaves in the folder what is wanted of them."""
    with tempfile.TemporaryDirectory(dir=folder) as name:
        packed = pathlib.Path(name)
        for one in (folder, packed):
            one.chmod(0o755)  # apt-get's own user looks
        kernel_archive, busybox_archive = download(packed, kernel_package, BUSYBOX)
        unpack(kernel_archive, packed, "./boot/vmlinuz*", *(f"*/{module}.ko" for module in modules()))
        (compressed,) = packed.glob("boot/vmlinuz*")
        (folder / "vmlinux").write_bytes(vmlinux(compressed.read_bytes()))
        for module in modules():
            (found,) = packed.glob(f"lib/modules/**/{module}.ko")
            found.rename(folder / found.name)
        unpack(busybox_archive, packed, "./bin/busybox")
        (packed / "bin/busybox").rename(folder / "busybox")
    (folder / ORDER).write_text("\n".join(modules()) + "\n")  # the last: with it the folder is whole


def is_whole(folder):
    order = folder / ORDER
    return order.exists() and order.read_text().split() == modules()


def fetch(cache):
    """The folder of the newest kernel that apt has, which is filled when it is not there."""
    name, version = package()
    wanted = cache / f"{name}_{version}"
    if is_whole(wanted):
        return wanted
    cache.mkdir(parents=True, exist_ok=True)
    folder = pathlib.Path(tempfile.mkdtemp(dir=cache))
    try:
        fill(folder, name)
        if not is_whole(wanted):  # another process may have been faster
            shutil.rmtree(wanted, ignore_errors=True)
            with contextlib.suppress(FileExistsError):
                folder.rename(wanted)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return wanted


def kernel(cache):
    """As fetch(), or what was fetched last when apt cannot supply it now."""
    try:
        return fetch(cache)
    except CannotFetch:
        before = [folder for folder in cache.glob("linux-image-*") if is_whole(folder)]
        if not before:
            raise
        return max(before, key=lambda folder: (folder / ORDER).stat().st_mtime)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    try:
        print(kernel(pathlib.Path(sys.argv[1])))
    except CannotFetch as problem:
        print(f"kernel.py: no kernel: {problem}", file=sys.stderr)
        sys.exit(NOT_TO_BE_HAD)
