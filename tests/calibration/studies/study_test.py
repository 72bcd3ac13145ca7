"""What tests of studies' scripts have in common: a script, run in a folder of its own."""

import csv
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

# Stands in for rkv-sim and rkv-real: 1000 operations a second a client, and a note of what it was told. It is begun
# hundreds of times, for which Python takes too long.
PROGRAM = """\
#!/bin/sh
(IFS='\t'; echo "$*") >> {told}
while [ $# -gt 0 ]; do
  case $1 in
    --out) out=$2 ;;
    --clients) clients=$2 ;;
  esac
  shift
done
mkdir "$out"
points=
for n in $(echo "$clients" | tr , ' '); do
  points="$points${{points:+,}}{{\\"clients\\": $n, \\"partial\\": {partial}, \\"lost\\": 0,
    \\"throughput_ops_s\\": ${{n}}000, \\"latency_us\\": {{\\"mean\\": 2, \\"p99\\": 3}}}}"
done
echo "{{\\"points\\": [$points]}}" > "$out/report.json"
"""
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

    def program(self, partial=False):
        """The stand-in's path."""
        path = self.folder / "program"
        path.write_text(PROGRAM.format(told=self.folder / "told", partial=json.dumps(partial)))
        path.chmod(0o755)
        return str(path)

    def told(self):
        """The words of each of its runs."""
        return [line.split("\t") for line in (self.folder / "told").read_text().splitlines()]

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
