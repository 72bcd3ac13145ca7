"""rkv-calibrate compare from outside: what it prints and makes, and that mistakes leave nothing behind."""

import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "support"))
from program_test import ProgramTest, main

HEADER = "transport,completion,clients,metric,value\n"
MEASURED = HEADER + "".join(f"RC,busy,{n},throughput_ops_s,{1000 * n}\n" for n in (1, 2, 4, 8))
PREDICTED = HEADER + "".join(f"rc,busy,{n},throughput_ops_s,{1100 * n}\n" for n in (1, 2, 4, 8))


class Compare(ProgramTest):
    def file(self, name, text):
        (self.folder / name).write_text(text)
        return name

    def sides(self):
        return self.file("measured.csv", MEASURED), self.file("predicted.csv", PREDICTED)

    def test_help_explains(self):
        out, _ = self.run_well("compare", "--help")
        for text in ("MEASURED", "--fitted-clients", "--out", "Universal Scalability Law", "Examples:", "Exit status"):
            self.assertIn(text, out)
        self.assertIn("compare", self.run_well("--help")[0])

    def test_errors_are_printed_and_nothing_is_written(self):
        sides = self.sides()
        before = self.files()
        out, err = self.run_well("compare", *sides, "--fitted-clients", "2")
        self.assertEqual(err, "")
        self.assertIn("10.0 %", out)
        self.assertIn("up to 2", out)
        self.assertIn("above 2", out)
        self.assertEqual(self.files(), before)

    def test_out_is_made_as_a_whole_and_can_be_compared_again(self):
        (self.folder / "out").mkdir()  # an empty directory may be there
        out, _ = self.run_well("compare", *self.sides(), "--out", "out/")
        made = self.folder / "out"
        names = ["calibration.pdf", "calibration.png", "errors.json", "points.csv"]
        self.assertEqual(sorted(path.name for path in made.iterdir()), names)
        self.assertEqual([path.name for path in self.folder.iterdir() if path.name.startswith(".")], [])
        errors = json.loads((made / "errors.json").read_text())
        error = errors["curves"][0]["errors"]["all"]["predicted"]["mean_absolute_error_percent"]
        self.assertAlmostEqual(error, 10)
        self.assertIn("out/calibration.pdf", out)
        again, _ = self.run_well("compare", "out/points.csv")
        table = out.split("\n\n")[1]
        self.assertIn(table, again)

    def test_replicates_are_told(self):
        measured = self.file("measured.csv", MEASURED + "rc,busy,8,throughput_ops_s,8002\n")
        _, err = self.run_well("compare", measured, self.file("predicted.csv", PREDICTED))
        self.assertIn("measured.csv: points that occur several times were averaged", err)

    def test_mistakes(self):
        measured, predicted = self.sides()
        bad = self.file("bad.csv", HEADER + "rc,busy,0,throughput_ops_s,5\n")
        ud = self.file("ud.csv", HEADER + "ud,busy,1,throughput_ops_s,5\n")
        self.refused("compare", says=["MEASURED"])
        self.refused("compare", bad, predicted, "--out", "out", says=["bad.csv:2: clients", "1 to 65536"])
        self.refused("compare", measured, bad, "--out", "out", says=["bad.csv:2: clients"])
        self.refused("compare", measured, "nowhere.csv", "--out", "out", says=["nowhere.csv: there is no such file"])
        self.refused("compare", measured, ud, "--out", "out", says=["no point in common"])
        self.refused("compare", measured, says=["measured.csv", "predicted", "PREDICTED"])
        self.refused("compare", measured, predicted, "--fitted-clients", "0", says=["--fitted-clients"])
        self.refused("compare", measured, predicted, "--out", "measured.csv", says=["measured.csv", "not a directory"])

    def test_what_is_there_is_not_overwritten(self):
        sides = self.sides()
        (self.folder / "out").mkdir()
        (self.folder / "out" / "precious.txt").write_text("mine")
        self.refused("compare", *sides, "--out", "out", says=["out", "never overwritten"])


if __name__ == "__main__":
    main()
