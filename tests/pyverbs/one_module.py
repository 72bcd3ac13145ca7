"""Runs one of rdma-core's pyverbs test modules in this process: one_module.py WORK MODULE DEVICE RESULTS [DONE...].

WORK/tests holds the unpacked tests. For each test not in DONE, RESULTS gets a row with its name when it starts and a row
"name, result, reason" when it ends, so that the caller knows which test was running if this process dies.
"""

import csv
import importlib
import random
import sys
import unittest


class RowResult(unittest.TestResult):
    def __init__(self, writer, file):
        super().__init__()
        self._writer = writer
        self._file = file
        self._outcome = None

    def _row(self, *cells):
        self._writer.writerow(cells)
        self._file.flush()

    def startTest(self, test):
        super().startTest(test)
        name = test.id().split(".", 2)[2]
        print(f"== {name}", flush=True)
        # The tests draw sizes and flags at random: the same ones in every run, so that a row changes for a reason.
        random.seed(name)
        self._outcome = ("passed", "")
        self._row(name)

    def stopTest(self, test):
        super().stopTest(test)
        self._row(test.id().split(".", 2)[2], *self._outcome)

    def _raised(self, result, test, err):
        print(self._exc_info_to_string(err, test), flush=True)
        self._outcome = (result, f"{err[0].__name__}: {err[1]}")

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        self._outcome = ("skipped", reason)

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self._raised("failed", test, err)

    def addError(self, test, err):
        super().addError(test, err)
        self._raised("error", test, err)


def flatten(suite):
    for test in suite:
        if isinstance(test, unittest.TestSuite):
            yield from flatten(test)
        else:
            yield test


def main():
    work, module, device, results = sys.argv[1:5]
    done = set(sys.argv[5:])
    sys.path[:0] = [work, work + "/tests"]
    sys.argv = [sys.argv[0], "--dev", device]
    importlib.import_module("args_parser").parser.parse_args()
    tests = unittest.defaultTestLoader.loadTestsFromModule(importlib.import_module(f"tests.test_{module}"))
    with open(results, "w", newline="", encoding="utf-8") as file:
        result = RowResult(csv.writer(file), file)
        unittest.TestSuite(t for t in flatten(tests) if t.id().split(".", 2)[2] not in done).run(result)


if __name__ == "__main__":
    main()
