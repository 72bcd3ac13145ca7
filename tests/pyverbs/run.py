#!/usr/bin/python3
"""Runs rdma-core's own pyverbs tests on the soft RNIC and compares the results with expected.csv.

Needs Debian's python3-pyverbs, which is built for /usr/bin/python3 and has the tests, as rdma-core's documentation.
Exit status: 0 when every row is as expected, 1 when a row differs, 2 when the tests cannot be run.
"""

import argparse
import csv
import difflib
import glob
import gzip
import io
import os
import re
import shutil
import signal
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "support"))
from debian_package import CannotFetch, download, unpack  # noqa: E402

EXPECTED = os.path.join(HERE, "expected.csv")
PACKAGE = "python3-pyverbs"
DOCUMENTATION = "/usr/share/doc/rdma-core/tests"  # where PACKAGE has the tests
DEVICE = "soft0"
COLUMNS = ["module", "test", "result", "reason"]

# Skips that tell of the machine, not of the device: elsewhere such a test may run, and must then pass.
MACHINE = "machine: "
REASONS = [
    (r".*huge pages.*", MACHINE + "no huge pages of 2 MiB"),
    (r"cuda-python.*", MACHINE + "no CUDA"),
    (r".*/dev/dri/.*", MACHINE + "no GPU to allocate a dma-buf from"),
    # Which of the two comes first depends on who runs the tests.
    (r"To Create RAW QP must be done by root.*", "Create Raw Packet QP is not supported"),
    (r"Must be run by root on Ethernet link layer", "Create Raw Packet QP is not supported"),
    (r"Create (RAW|Raw).*QP.*not supported", "Create Raw Packet QP is not supported"),
    (r"Create QP type 8 is not supported", "Create Raw Packet QP is not supported"),
]


class CannotRun(Exception):
    """The tests cannot be run here; the message says what to do."""


def unpack_tests(work):
    """Puts the test modules and what they import into work/tests; the modules' names."""
    source = DOCUMENTATION
    if not glob.glob(source + "/run_tests.py*"):  # documentation is left out of slimmed-down systems
        source = download_tests(work)
    target = os.path.join(work, "tests")
    shutil.rmtree(target, ignore_errors=True)
    os.makedirs(target)
    for path in glob.glob(source + "/*.py") + glob.glob(source + "/*.py.gz"):
        name = os.path.basename(path).removesuffix(".gz")
        opener = gzip.open if path.endswith(".gz") else open
        with opener(path, "rb") as packed, open(os.path.join(target, name), "wb") as plain:
            shutil.copyfileobj(packed, plain)
    return sorted(name.removeprefix("test_").removesuffix(".py") for name in os.listdir(target) if name.startswith("test_"))


def download_tests(work):
    folder = os.path.join(work, "rdma-core")
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    try:
        (archive,) = download(folder, PACKAGE)
        unpack(archive, folder, f".{DOCUMENTATION}/*")
    except (OSError, subprocess.CalledProcessError, CannotFetch) as error:
        raise CannotRun(f"{DOCUMENTATION} is missing and the package {PACKAGE} could not be fetched: {error}") from error
    return folder + DOCUMENTATION


def normalised(text):
    text = " ".join(text.split())
    for pattern, replacement in REASONS:
        if re.fullmatch(pattern, text):
            return replacement
    text = re.sub(r"0x[0-9a-fA-F]+", "0x..", text)
    return re.sub(r"\b\d+\.\d+ ?(s|ms|us)\b", ".. s", text)


def run_module(module, work, library, timeout):
    """One row a test. A test that kills or blocks its process is an error; the ones after it run in a new process."""
    rows, done = [], []
    log_path = os.path.join(work, f"test_{module}.log")
    with open(log_path, "w", encoding="utf-8") as log:
        while True:
            results = os.path.join(work, f"test_{module}.csv")
            if os.path.exists(results):
                os.remove(results)
            command = [sys.executable, "-B", os.path.join(HERE, "one_module.py"), work, module, DEVICE, results] + done
            environment = dict(os.environ, LD_PRELOAD=library, PYTHONHASHSEED="0")
            process = subprocess.Popen(command, env=environment, stdout=log, stderr=subprocess.STDOUT)
            try:
                status = process.wait(timeout)
                end = f"the process ended with status {status}" if status >= 0 else \
                    f"the process was killed by {signal.Signals(-status).name}"
            except subprocess.TimeoutExpired:
                process.kill()
                status = process.wait()
                end = "did not end in time"
            finished, unfinished = read_results(results)
            rows += [[module, test, result, normalised(reason)] for test, result, reason in finished]
            done += [test for test, _, _ in finished]
            if unfinished is None:
                if not rows:
                    raise CannotRun(f"test_{module} ran no test; see {log_path}")
                if status != 0:
                    rows.append([module, "(after the last test)", "error", end])
                return rows
            rows.append([module, unfinished, "error", end])
            done.append(unfinished)


def read_results(path):
    """The tests that ended, and the one that was started and did not."""
    finished, started = [], None
    if os.path.exists(path):
        with open(path, newline="", encoding="utf-8") as results:
            for row in csv.reader(results):
                if len(row) == 1:
                    started = row[0]
                elif len(row) == 3:
                    finished.append(row)
                    started = None
    return finished, started


def as_csv(rows):
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    writer.writerows(rows)
    return text.getvalue()


def read_expected():
    if not os.path.exists(EXPECTED):
        return []
    with open(EXPECTED, newline="", encoding="utf-8") as table:
        return list(csv.reader(table))[1:]


def allow_for_machine(rows, expected):
    """A row whose expected skip is the machine's may also pass, or be skipped for a reason of the device."""
    skips = {(module, test): reason for module, test, result, reason in expected
             if result == "skipped" and reason.startswith(MACHINE)}
    return [[module, test, "skipped", skips[module, test]]
            if (module, test) in skips and result in ("passed", "skipped") else [module, test, result, reason]
            for module, test, result, reason in rows]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--library", required=True, help="path of librkv-soft.so")
    parser.add_argument("--work", required=True, help="folder for the unpacked tests and the logs")
    parser.add_argument("--module", action="append", help="only this module (may be repeated)")
    parser.add_argument("--timeout", type=float, default=120, help="seconds for one module's process (default: %(default)s)")
    parser.add_argument("--update", action="store_true", help="rewrite expected.csv with what was found")
    options = parser.parse_args()
    if options.update and options.module:
        parser.error("--update writes the whole table: leave out --module")
    work = os.path.abspath(options.work)
    library = os.path.abspath(options.library)
    if not os.path.exists(library):
        raise CannotRun(f"there is no {library}: build the target rkv_soft")
    if subprocess.run([sys.executable, "-c", "import pyverbs.device"], capture_output=True, check=False).returncode != 0:
        raise CannotRun(f"{sys.executable} cannot import pyverbs: install python3-pyverbs and use /usr/bin/python3")
    os.makedirs(work, exist_ok=True)
    there_are = unpack_tests(work)

    modules = options.module or there_are
    unknown = set(modules) - set(there_are)
    if unknown:
        parser.error(f"there is no module {', '.join(sorted(unknown))}; there are {', '.join(there_are)}")
    rows = []
    for module in modules:
        rows += run_module(module, work, library, options.timeout)
    rows.sort()
    counts = {result: sum(row[2] == result for row in rows) for result in ("passed", "skipped", "failed", "error")}
    print(f"{len(rows)} pyverbs tests on {DEVICE}: " + ", ".join(f"{count} {result}" for result, count in counts.items()))

    if options.update:
        with open(EXPECTED, "w", encoding="utf-8") as table:
            table.write(as_csv(rows))
        print(f"wrote {EXPECTED}")
        return 0
    expected = [row for row in read_expected() if row[0] in modules]
    found = allow_for_machine(rows, expected)
    if found == expected:
        return 0
    sys.stdout.writelines(difflib.unified_diff(as_csv(expected).splitlines(True), as_csv(found).splitlines(True),
                                               "expected.csv", "this run", n=0))
    print(f"Logs: {work}/test_*.log. If the change is meant, run this with --update and commit the table.")
    return 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except CannotRun as problem:
        print(problem, file=sys.stderr)
        sys.exit(2)
