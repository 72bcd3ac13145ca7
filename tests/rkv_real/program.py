"""Runs rkv-real for its tests (tests/support/program_test.py)."""

import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))
import program_test
from program_test import ENDLESS, PATIENCE_S, SMALL, interrupt, main

# Exchanges over slots of memory, and the transports that allow them.
SLOTS = (
    ("write_write", "rc"), ("write_write", "uc"), ("write_read", "rc"), ("read_write", "rc"), ("read_read", "rc"),
    ("write_send", "uc"),
)  # fmt: skip


# Those in which a side WRITEs, so that the other may be told of it.
TOLD = tuple(one for one in SLOTS if "write" in one[0])


class ProgramTest(program_test.ProgramTest):
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
