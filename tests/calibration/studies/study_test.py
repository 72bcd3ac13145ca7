"""What tests of studies' scripts have in common: a script, run in a folder of its own."""

import csv
import pathlib
import subprocess
import sys
import tempfile
import unittest

STUDIES = pathlib.Path(__file__).parents[3] / "calibration/studies"


class StudyTest(unittest.TestCase):
    script = None  # below calibration/studies

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def file(self, name, text):
        (self.folder / name).write_text(text)
        return str(self.folder / name)

    def run_script(self, *words):
        command = [sys.executable, "-B", STUDIES / self.script, *words]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    def run_study(self, *words):
        """The study's command, which builds and runs everything unless it is told nonsense or asked for help."""
        command = [STUDIES / self.script.split("/", maxsplit=1)[0] / "run", *words]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    def lines(self, name, *words):
        """Those of the CSV file that the script, with these words, writes."""
        done = self.run_script(*words)
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(self.folder / name, encoding="utf-8") as file:
            return list(csv.DictReader(file))
