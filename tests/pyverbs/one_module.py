"""Runs one of rdma-core's pyverbs test modules in this process: one_module.py WORK MODULE DEVICE RESULTS [DONE...].

WORK/tests holds the unpacked tests. For each test not in DONE, RESULTS gets a row with its name when it starts and a row
"name, result, reason" when it ends, so that the caller knows which test was running if this process dies.

A process that has opened soft0 must not fork, which the tests of module rdmacm do to have two sides. Each of them runs in a
process of its own, and what it asks of the device before it forks, a child asks. They learn of an interface's address from
sysfs, where soft0 has no entry; here they are told.
"""

import csv
import importlib
import os
import pickle
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


def ask_device_in_child(base):
    """Patches the base classes of tests that fork."""
    set_up = base.RDMACMBaseTest.setUp

    def set_up_by_child(test):
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                set_up(test)
                os.write(writing, pickle.dumps((test.dev_name, test.ib_port, test.gid_index, test.ip_addr)))
            finally:
                os._exit(0)
        os.waitpid(child, 0)
        os.close(writing)
        test.pkey_index = 0
        test.dev_name, test.ib_port, test.gid_index, test.ip_addr = pickle.loads(os.read(reading, 4096))
        os.close(reading)

    base.RDMACMBaseTest.setUp = set_up_by_child
    base.RDMATestCase._get_ip_mac = lambda test, *where: test.args.append([*where, "127.0.0.1", None])
    base.RDMATestCase.is_eth_and_has_roce_hw_bug = lambda test: False


def run_in_child(test, result):
    child = os.fork()
    if child == 0:
        try:
            unittest.TestSuite([test]).run(result)
        finally:
            os._exit(0)
    os.waitpid(child, 0)


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
    forks = module == "rdmacm"
    if forks:
        ask_device_in_child(importlib.import_module("tests.base"))
    tests = unittest.defaultTestLoader.loadTestsFromModule(importlib.import_module(f"tests.test_{module}"))
    with open(results, "w", newline="", encoding="utf-8") as file:
        result = RowResult(csv.writer(file), file)
        remaining = [test for test in flatten(tests) if test.id().split(".", 2)[2] not in done]
        if forks:
            for test in remaining:
                run_in_child(test, result)
        else:
            unittest.TestSuite(remaining).run(result)


if __name__ == "__main__":
    main()
