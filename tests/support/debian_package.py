"""Files out of Debian packages that are fetched with apt-get's help and not installed."""

import os
import pathlib
import subprocess


class CannotFetch(Exception):
    """apt cannot supply a package; the message says why."""


def apt(*command, **options):
    """What a command of apt's prints, in English."""
    try:
        environment = {**os.environ, "LC_ALL": "C"}
        return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=environment, **options).stdout
    except (OSError, subprocess.CalledProcessError) as error:
        raise CannotFetch(str(error)) from error


def download(folder, *names):
    """Fetches packages into an empty folder; their files, in the order of the names."""
    apt("apt-get", "--quiet", "--quiet", "download", *names, cwd=folder)
    return [next(pathlib.Path(folder).glob(f"{name}_*.deb")) for name in names]


def unpack(archive, folder, *patterns):
    """Files of a package, by tar's patterns."""
    with subprocess.Popen(("dpkg-deb", "--fsys-tarfile", archive), stdout=subprocess.PIPE) as unpacked:
        subprocess.run(("tar", "-x", "--wildcards", *patterns), check=True, stdin=unpacked.stdout, cwd=folder)
