#!/usr/bin/python3
"""Judges a verbs device by the tests of verbs and of the seam, and compares what fails with differences.csv.

    verbs_suite.py BUILD OUT DEVICE [PEER]

Runs the programs of BUILD on the device of that name (with a peer: that of the seam, between the two), leaves what they say
in OUT, and prints a line a program. Each row of differences.csv is a test that is known to fail, always or sometimes, on the
kernel's rdma_rxe, or not to be run on it, and what that driver does. Exit status: 0 when those that always fail do and only
known ones fail, 1 when the table is not right, 2 when a program cannot be run.
"""
import csv
import os
import pathlib
import re
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
TABLE = HERE / "differences.csv"
# Tests of the seam that no device has a part in, or only soft0
NOT_OF_THE_DEVICE = "~[runtime]~[real_host]~[real_device]~[stream]"
DEADLINE_S = 30  # of a wait inside a test of verbs,
KNOWN_DEADLINE_S = 1  # and where it is known to be in vain
PROGRAM_S = 150
PASSED = re.compile(r"^passed: (.*)$", re.MULTILINE)  # tests/main/main.cpp


def programs(build, devices):
    """The test programs that judge any verbs device, or two."""
    of_the_seam = build / "tests/port/port_real_test"
    return [of_the_seam] if len(devices) > 1 else [*sorted(build.glob("tests/soft/verbs_*_test")), of_the_seam]


def names(program):
    """Of a program's tests. (The number of tests is its exit status then.)"""
    listed = subprocess.run(
        (program, NOT_OF_THE_DEVICE, "--list-test-names-only"), stdout=subprocess.PIPE, text=True, check=False
    )
    return [line.strip() for line in listed.stdout.splitlines() if line.strip()]


def failures(program, tests, devices, deadline_s, said):
    """Which of these tests fail; those that did not come to an end do. What the program said is then in a file."""
    chosen = said.with_suffix(".tests")
    # Catch2 takes a comma for the end of a name.
    chosen.write_text("".join(test.replace(",", "\\,") + "\n" for test in tests), encoding="utf-8")
    environment = {
        **os.environ,
        "RKV_TEST_DEVICE": devices[0],
        "RKV_TEST_PEER_DEVICE": devices[-1],
        "RKV_TEST_DEADLINE_S": str(deadline_s),
    }
    command = (program, "--input-file", chosen, "--reporter", "line_a_test")
    with open(said, "w", encoding="utf-8") as log:
        try:
            subprocess.run(command, env=environment, stdout=log, stderr=log, timeout=PROGRAM_S, check=False)
        except subprocess.TimeoutExpired:
            print(f"{program.name}: did not end within {PROGRAM_S} s")
    passed = set(PASSED.findall(said.read_text(encoding="utf-8", errors="replace")))
    return [test for test in tests if test not in passed]


def main(build, out, devices):
    wanted = programs(build, devices)
    missing = [str(program) for program in wanted if not os.access(program, os.X_OK)]
    if missing:
        print(f"verbs_suite: not built: {', '.join(missing)}", file=sys.stderr)
        return 2
    out.mkdir(parents=True, exist_ok=True)
    with open(TABLE, newline="", encoding="utf-8") as table:
        rows = [row for row in csv.DictReader(table) if row["program"] in {program.name for program in wanted}]
    known = {(row["program"], row["test"]): row["fails"] for row in rows}
    tests_of = {program: names(program) for program in wanted}
    there_are = {(program.name, test) for program, tests in tests_of.items() for test in tests}
    wrong = [f"{program.name}: has no tests, or cannot be run" for program, tests in tests_of.items() if not tests]
    wrong += [f"is in {TABLE.name}, but there is no such test: {row}" for row in sorted(known.keys() - there_are)]
    if wrong:
        print("verbs_suite:", *wrong, sep="\n", file=sys.stderr)
        return 2
    found = set()
    # What is known to fail comes last: the kernel may be the worse for it.
    for are_known, deadline_s in ((False, DEADLINE_S), (True, KNOWN_DEADLINE_S)):
        for program in wanted:
            start = time.monotonic()
            tests = [
                test
                for test in tests_of[program]
                if ((program.name, test) in known) == are_known and known.get((program.name, test)) != "not run"
            ]
            if not tests:
                continue
            kind = "known" if are_known else "others"
            failed = failures(program, tests, devices, deadline_s, out / f"{program.name}_{kind}.txt")
            found.update((program.name, test) for test in failed)
            known_ones = "tests that are known to fail" if are_known else "tests"
            took_s = time.monotonic() - start
            print(f"{program.name}: {len(failed)} of {len(tests)} {known_ones} failed, {took_s:.0f} s", flush=True)
    for program, test in (row for row, fails in known.items() if fails == "not run"):
        print(f"not run: {program}: {test}")
    expected = {row for row, fails in known.items() if fails == "always"}
    for program, test in sorted(found - known.keys()):
        print(f"FAILED, and is not in {TABLE.name}: {program}: {test}")
    for program, test in sorted(expected - found):
        print(f"passed, but is in {TABLE.name}: {program}: {test}")
    return 0 if found <= known.keys() and expected <= found else 1


if __name__ == "__main__":
    if len(sys.argv) not in (4, 5):
        sys.exit(__doc__)
    sys.exit(main(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), sys.argv[3:]))
