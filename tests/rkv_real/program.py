"""Runs rkv-real for its tests (tests/support/program_test.py)."""

import pathlib
import re
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))
import program_test
from program_test import ENDLESS, PATIENCE_S, SMALL, interrupt, main

# Exchanges over slots of memory, and the transports that allow them.
SLOTS = (
    ("write_write", "rc"), ("write_write", "uc"), ("write_read", "rc"), ("read_write", "rc"), ("read_read", "rc"),
    ("write_send", "uc"),
)  # fmt: skip

# Operations are on their way when a point is about this old. What is asserted does not depend on it.
A_WHILE_S = 0.5
# Of each process's own packets, so in both directions; of UC and UD messages are lost, of RC packets.
BAD_WIRE = {"RKV_SOFT_DROP": "0.02", "RKV_SOFT_DUPLICATE": "0.02", "RKV_SOFT_REORDER": "0.02"}
# Workload verbs over rc, whose threads poll.
VERBS = {"transport": "rc", "workload": "verbs", "completion": {"mode": "busy"}, "keys": None, "check": None}
# Its operations, and the transports that allow them.
OPERATIONS_OF_VERBS = (
    ("send", "rc"), ("send", "uc"), ("write", "rc"), ("write", "uc"), ("read", "rc"), ("compare_and_swap", "rc"),
    ("fetch_and_add", "rc"),
)  # fmt: skip


# Those in which a side WRITEs, so that the other may be told of it.
TOLD = tuple(one for one in SLOTS if "write" in one[0])


class ProgramTest(program_test.ProgramTest):
    def verbs_load(self, **fields):
        """A scenario of workload verbs."""
        return self.scenario(**{**VERBS, **fields})

    def operation_of_verbs(self, operation, transport, operations, **fields):
        """So many of it; no SEND is without a receive."""
        receives = {"queue_pair": {"receive_depth": 512}} if operation == "send" else {}
        verbs = {"operation": operation, "bytes": 8, "queue_pairs": 2}
        return self.verbs_load(
            transport=transport, verbs=verbs, load={"total_operations": operations}, **receives, **fields
        )

    def slots(self, exchange, transport, **fields):
        """A scenario of an exchange over slots, whose sides poll."""
        polling = {"completion": {"mode": "busy"}, "clients": 1, **fields}
        return self.scenario(f"{exchange}_{transport}", exchange=exchange, transport=transport, **polling)

    def told(self, exchange, transport, **fields):
        """One whose sides sleep until they are told of WRITEs, and which has several clients."""
        sleeping = {"completion": {"mode": "event"}, "clients": 3, "slots": {"immediate": True}, **fields}
        return self.slots(exchange, transport, **sleeping)

    def server(self, *arguments):
        """A server process and the address that it listens on."""
        process = self.start("--role", "server", "--listen", "127.0.0.1:0", *arguments)
        line = self.line_of(process, "listening on")
        return process, re.search(r"listening on (\S+)", line).group(1)

    def under_way(self, path, *arguments):
        """A run in the middle of its first point."""
        process = self.start("--scenario", path, "--out", "out", *arguments)
        self.wait_for_point(0)
        self.a_while(process)
        return process

    def a_while(self, process):
        """Lets it run on."""
        try:
            process.wait(A_WHILE_S)
        except subprocess.TimeoutExpired:
            pass

    def line_of(self, process, text):
        """The next line of its stderr with this text."""
        for line in process.stderr:
            if text in line:
                return line
        self.fail(f"ended without saying {text!r}")

    def ends_interrupted(self, process):
        """The point that it was at, as its report has it."""
        code, out, err = self.finish(process)
        self.assertEqual(code, 130, out + err)
        self.assertIn("interrupted", err)
        (point,) = self.report()["points"]
        self.assertTrue(point["partial"])
        self.assertEqual(point["partial_reason"], "interrupted")
        self.assertEqual(point["check_violations"]["count"], 0)
        return point


class WireTest(ProgramTest):
    """Server and clients in processes of their own on soft0, which reach each other over its wire."""

    def serve(self, *arguments, environment=None):
        """A server process and the address that it listens on."""
        server = self.start(
            "--role", "server", "--listen", "127.0.0.1:0", "--device", "soft0", *arguments, environment=environment
        )  # fmt: skip
        return server, self.line_of(server, "listening on").rsplit(maxsplit=1)[-1]

    def run_two(self, *arguments, environment=None, out="out"):
        server, address = self.serve("--once", environment=environment)
        text, err = self.run_well(
            "--role", "client", "--server", address, "--device", "soft0", *arguments, "--out", out,
            environment=environment,
        )  # fmt: skip
        code, _, said = self.finish(server)
        self.assertEqual(code, 0, text + err + said)
        return self.report(out)
