"""rkv-calibrate predict and fit from outside: a fit to predicted curves, what is left when one fails, mistakes."""

import csv
import json
import pathlib
import sys

ROOT = pathlib.Path(__file__).parents[3]
sys.path.insert(0, str(ROOT / "tests/support"))
from program_test import ProgramTest, main

HEADER = "transport,completion,clients,metric,value\n"
PLACES = [("uc", "busy", 1), ("uc", "busy", 2), ("tcp", "busy", 1), ("tcp", "busy", 2)]
METRICS = ("throughput_ops_s", "latency_mean_us")
SHORT = ["--scenario-dir", ROOT / "scenarios", "--whole"]
SHORT += [f"--set=load.{field}" for field in ("total_operations=300", "connect_pause_ms=0", "start_stagger_ms=0")]
MODERN = ROOT / "calibration/profiles/modern_100g.json"
BOTH_WAYS = "throughput_both_ways_ops_s"
DAS5 = ROOT / "calibration/profiles/das5.json"


class FitAndPredict(ProgramTest):
    def file(self, name, text):
        (self.folder / name).write_text(text)
        return name

    def named(self, value=""):
        return self.file(
            "points.csv",
            HEADER + "".join(f"{t},{c},{n},{metric},{value}\n" for t, c, n in PLACES for metric in METRICS),
        )

    def predicted(self, name):
        with open(self.folder / name, encoding="utf-8") as file:
            return [float(row["predicted"]) for row in csv.DictReader(file)]

    def predict(self, out, *options):
        self.run_well("predict", "--profile", DAS5, "--points", self.named(), *SHORT, *options, "--out", out)
        return self.predicted(out)

    def test_predictions_are_repeatable_and_follow_the_profile(self):
        first = self.predict("first.csv")
        self.assertEqual(len(first), len(PLACES) * len(METRICS))
        self.assertEqual(first, self.predict("again.csv", "--jobs", "1"))
        slower = self.predict("slower.csv", "--set-profile", "tcp.send_ns=9000")
        self.assertEqual(slower[:4], first[:4])
        for before, after in zip(first[5::2], slower[5::2]):  # latencies of TCP: two sends an operation
            self.assertGreater(after, before + 2 * 5)

    def test_a_fit_to_predicted_curves_finds_the_profile(self):
        truth = self.predict("truth.csv", "--set-profile", "tcp.send_ns=4500")
        rows = zip([(*place, metric) for place in PLACES for metric in METRICS], truth)
        measured = self.file("measured.csv", HEADER + "".join(f"{t},{c},{n},{m},{v}\n" for (t, c, n, m), v in rows))
        common = ["fit", "--profile", DAS5, "--measurements", measured, *SHORT, "--free", "tcp.send_ns"]
        out, _ = self.run_well(*common, "--out", "fitted.json")
        self.assertIn("identified", out)
        profile = json.loads((self.folder / "fitted.json").read_text())
        self.assertAlmostEqual(profile["tcp"]["send_ns"], 4500, delta=45)
        report = json.loads((self.folder / "fitted.fit.json").read_text())
        self.assertEqual(report["parameters"][0]["path"], "tcp.send_ns")
        self.assertEqual(report["run"]["command_line"][1:3], ["fit", "--profile"])
        # One that ends too early leaves its report, and no profile.
        code, _, err = self.run_program(*common, "--iterations", "1", "--out", "early.json")
        self.assertEqual(code, 1)
        self.assertIn("not converged", err)
        self.assertTrue((self.folder / "early.fit.json").exists())
        self.assertFalse((self.folder / "early.json").exists())

    def test_mistakes(self):
        points = self.named("30000")
        bad = self.file("bad.csv", HEADER + "uc,busy,1,throughput,5\n")
        fit = ["fit", "--profile", DAS5, *SHORT, "--out", "out.json"]
        self.refused(*fit, "--measurements", bad, "--free", "tcp.send_ns", says=["bad.csv:2", "throughput"])
        self.refused(*fit, "--measurements", "nowhere.csv", "--free", "tcp.send_ns", says=["nowhere.csv"])
        self.refused(*fit, "--measurements", points, says=["--free", "--parameters"])
        good = self.file("good.csv", HEADER + "uc,busy,1,latency_mean_us,40\n")
        self.refused(*fit, "--measurements", good, "--free", "tcp.sent_ns", says=["no field tcp.sent_ns"])
        free = ["--measurements", good, "--free", "tcp.send_ns"]
        self.refused(*fit, *free, "--model-error-of", "latency=0.1", says=["no metric latency", "latency_mean_us"])
        for error in ("", "=", "=0.1x", "=2"):
            self.refused(*fit, *free, "--model-error-of", f"latency_mean_us{error}", says=["METRIC=ERROR", "0.001 to 1"])
        predict = ["predict", "--profile", DAS5, *SHORT]
        self.refused(*predict, "--points", bad, "--out", "out.csv", says=["bad.csv:2"])
        self.refused(*predict, "--points", good, "--out", "no/out.csv", says=["no folder"])
        self.refused(*predict, "--points", good, "--out", good, says=["good.csv", "--force"])
        (self.folder / "taken").mkdir()
        self.refused(*predict, "--points", good, "--out", "taken", "--force", says=["taken is not a file"])

    def of_verbs(self, metric, scenario, value=""):
        return self.file(
            f"{metric}.csv",
            f"transport,completion,clients,metric,value,scenario\nrc,busy,1,{metric},{value},{scenario}\n",
        )

    def test_both_ways(self):
        short = ["--set", "load.duration_s=0.0002", "--set", "load.warm_up_s=0", "--scenario-dir", ROOT / "scenarios"]
        values = []
        for metric in ("throughput_ops_s", BOTH_WAYS):
            points = self.of_verbs(metric, "rc_random_reads verbs.queue_pairs=2")
            self.run_well("predict", "--profile", MODERN, "--points", points, *short, "--out", f"{metric}.out.csv")
            values += self.predicted(f"{metric}.out.csv")
        one, both = values
        self.assertGreater(both, 1.9 * one)
        self.assertLess(both, 2.1 * one)

    def test_both_ways_of_a_scenario_that_has_one(self):
        points = self.of_verbs(BOTH_WAYS, "rc_random_reads verbs.both_ways=false", value="1000000")
        common = ["--profile", MODERN, "--scenario-dir", ROOT / "scenarios"]
        says = [f"{BOTH_WAYS}.csv:2", "verbs.both_ways", "rc_random_reads", "throughput_ops_s"]
        self.refused("predict", "--points", points, *common, "--out", "out.csv", says=says)
        self.refused(
            "fit", "--measurements", points, *common, "--free", "nic.doorbell_ns", "--out", "out.json", says=says
        )

    def test_what_cannot_be_sampled_is_refused_before_anything_starts(self):
        measured = self.file("measured.csv", HEADER + "uc,busy,1,latency_mean_us,40\n")
        common = ["--profile", DAS5, "--scenario-dir", ROOT / "scenarios", "--set", "load.window=2"]
        says = ["uc_nonblocking", "/load/window", "--whole"]
        self.refused("predict", "--points", measured, *common, "--out", "out.csv", says=says)
        fit = ["fit", "--measurements", measured, *common, "--free", "nic.uc.send_ns"]
        self.refused(*fit, "--out", "out.json", says=says)


if __name__ == "__main__":
    main()
