#!/usr/bin/python3
"""Fetches Debian's stock kernel for the virtual machine: vmlinux and the modules that it loads, extracted, not installed.

    kernel.py FOLDER    prints the folder in FOLDER that holds the kernel; made the first time, with apt-get's help

vmlinuz is decompressed here: the virtual machine would take as long again as for all of its boot.
"""
import contextlib
import lzma
import pathlib
import shutil
import struct
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
METAPACKAGE = "linux-image-amd64"  # not the -cloud one: that has neither rdma_rxe nor 9p
# Documentation/x86/boot.rst
SETUP_SECTORS = 0x1F1
PAYLOAD = 0x248  # offset and length, of what follows the setup sectors
SECTOR_BYTES = 512


class CannotFetch(Exception):
    """There is no kernel; the message says why."""


def output(*command, **options):
    """What a command prints."""
    try:
        return subprocess.run(command, check=True, stdout=subprocess.PIPE, **options).stdout
    except (OSError, subprocess.CalledProcessError) as error:
        raise CannotFetch(str(error)) from error


def package():
    """The package of the newest stock kernel that apt knows of, and its version."""
    lines = output("apt-cache", "depends", "--important", METAPACKAGE, text=True).splitlines()
    names = [line.split()[1] for line in lines if line.strip().startswith("Depends:")]
    if not names:
        raise CannotFetch(f"apt knows no {METAPACKAGE} (apt-get update?)")
    shown = output("apt-cache", "show", "--no-all-versions", names[0], text=True).splitlines()
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


def fetch(name, folder):
    """Fills a folder with a package's kernel and modules."""
    output("apt-get", "--quiet", "--quiet", "download", name, cwd=folder)
    (archive,) = folder.glob("*.deb")
    files = [f"*/{module}.ko" for module in modules()]
    with subprocess.Popen(("dpkg-deb", "--fsys-tarfile", archive), stdout=subprocess.PIPE) as unpacked:
        output("tar", "-x", "--wildcards", "./boot/vmlinuz*", *files, stdin=unpacked.stdout, cwd=folder)
    (compressed,) = folder.glob("boot/vmlinuz*")
    (folder / "vmlinux").write_bytes(vmlinux(compressed.read_bytes()))
    for module in modules():
        (found,) = folder.glob(f"lib/modules/**/{module}.ko")
        found.rename(folder / found.name)
    archive.unlink()
    shutil.rmtree(folder / "boot")
    shutil.rmtree(folder / "lib")


def is_whole(folder):
    return all((folder / file).exists() for file in ("vmlinux", *(f"{module}.ko" for module in modules())))


def kernel(cache):
    """The folder of the newest kernel; where apt has none, of one that was fetched before."""
    try:
        name, version = package()
    except CannotFetch:
        before = [folder for folder in cache.glob("linux-image-*") if is_whole(folder)]
        if not before:
            raise
        return before[0]
    wanted = cache / f"{name}_{version}"
    if is_whole(wanted):
        return wanted
    cache.mkdir(parents=True, exist_ok=True)
    folder = pathlib.Path(tempfile.mkdtemp(dir=cache))
    try:
        folder.chmod(0o755)  # apt-get's own user writes nothing, but looks
        fetch(name, folder)
        shutil.rmtree(wanted, ignore_errors=True)
        with contextlib.suppress(OSError):  # another one was faster
            folder.rename(wanted)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return wanted


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    try:
        print(kernel(pathlib.Path(sys.argv[1])))
    except CannotFetch as problem:
        sys.exit(f"kernel.py: no kernel: {problem}")
