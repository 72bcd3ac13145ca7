"""Runs rkv-sim for its tests (tests/support/program_test.py)."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))
import program_test
from program_test import ENDLESS, interrupt, main

PROFILE = str(pathlib.Path(__file__).parents[2] / "calibration" / "profiles" / "das5.json")


class ProgramTest(program_test.ProgramTest):
    def simulation(self, *arguments, **fields):
        """The command line that simulates the small scenario with these fields."""
        return ["--scenario", self.scenario(**{"transport": "uc", **fields}), "--profile", PROFILE, *arguments]
