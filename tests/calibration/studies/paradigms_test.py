"""calibration/studies/paradigms/paradigms.py: what is run, and ratios of it, by hand."""

import os
import sys
import unittest

from study_test import STUDIES, StudyTest

sys.path.insert(0, str(STUDIES / "paradigms"))
import paradigms
from figures import FIGURES, GET, OPERATIONS, PATTERNS, PAYLOAD, PUT, RUNS

ONE = ("--figures", "patterns")
HEAD = "figure,backend,change,series,step,throughput_ops_s,latency_mean_us,latency_p99_us\n"
RATES = {
    "WRITE-READ": 1200,
    "WRITE-WRITE": 500,
    "READ-READ": 300,
    "READ-WRITE": 200,
    "SEND-SEND": 250,
    "SEND-SEND, receives at once": 400,
    "SOCKET-SOCKET": 100,
}


class Paradigms(StudyTest):
    script = "paradigms/paradigms.py"

    def setUp(self):
        super().setUp()
        self.out = str(self.folder / "runs.csv")

    def test_every_series_is_simulated_with_every_change(self):
        lines = self.lines("runs.csv", "simulate", self.program(), self.out, *ONE, "--clients", "2,8")
        drawn = [line for line in lines if line["change"] in PATTERNS.drawn]
        self.assertEqual(len(drawn), len(PATTERNS.drawn) * len(PATTERNS.series) * 2)
        others = (len(PATTERNS.changes) - len(PATTERNS.drawn)) * len(PATTERNS.series)
        self.assertEqual(len(lines) - len(drawn), others)  # with 8 clients only
        self.assertEqual(len(self.told()), len(PATTERNS.changes) * len(PATTERNS.series))
        for line in lines:
            self.assertEqual(float(line["throughput_ops_s"]), 1000 * int(line["step"]))
        for words in self.told():
            self.assertTrue(any(word.endswith("/connectx_ddr.json") for word in words))

    def test_changes_pass_over_what_has_no_meaning(self):
        self.lines("runs.csv", "simulate", self.program(), self.out, *ONE)
        for words in self.told():
            told = " ".join(words)
            self.assertEqual("socket_socket" in told, "queue_pair=null" in told)
            self.assertFalse("socket_socket" in told and "queue_pair." in told)
            self.assertFalse("read_read" in told and "inline_bytes" in told)
            self.assertFalse("think_time" in told and "write_write" in told)
            self.assertEqual("think_time" in told, "--without wakeup_latency" in told)
            self.assertTrue("think_time" not in told or "inline_bytes" in told or "read_read" in told)
        self.assertTrue(any({"--without", "pcie"} <= set(words) for words in self.told()))

    def test_real_runs_are_of_what_is_drawn(self):
        lines = self.lines("runs.csv", "real", self.program(), self.out, *ONE)
        self.assertEqual(len(lines), len(PATTERNS.drawn) * len(PATTERNS.series))
        self.assertEqual({line["backend"] for line in lines}, {"real"})
        for words in self.told():
            self.assertNotIn("--profile", words)
            self.assertIn("load.duration_s=1", words)
            self.assertEqual("device.name=soft0" in words, "transport=tcp" not in words)

    def test_steps_are_values_of_the_axis_fields(self):
        for command in ("simulate", "real"):
            lines = self.lines("runs.csv", command, self.program(), self.out, "--figures", "runs", "--clients", "2,8")
            self.assertEqual(len(lines), len(RUNS.series) * len(RUNS.steps))
            self.assertEqual({int(line["step"]) for line in lines}, set(RUNS.steps))
            self.assertEqual({float(line["throughput_ops_s"]) for line in lines}, {1000})  # of one client
        told = [" ".join(words) for words in self.told()]
        self.assertEqual(len(told), 2 * len(RUNS.series) * len(RUNS.steps))
        for step in RUNS.steps:
            both = f"load.window={step} --set queue_pair.signal_interval={step} "
            self.assertEqual(sum(both in words + " " for words in told), 2 * len(RUNS.series))

    def test_ratios_and_order(self):
        lines = [f'patterns,sim,inlined,"{series}",8,{rate},2,3\n' for series, rate in RATES.items()]
        done = self.run_script("ratios", self.file("runs.csv", HEAD + "".join(lines)))
        self.assertEqual(done.returncode, 0, done.stderr)
        told = done.stdout.splitlines()
        self.assertEqual(next(line for line in told if line.startswith("published")).split()[1:3], ["2.4", "3.9"])
        row = next(line for line in told if line.startswith("inlined"))
        self.assertEqual(row.split()[1:], ["2.40", "4.00", "1.50", "0.80", "0.50", "2.00", "12.00"])
        wrong = told[told.index("-- patterns, sim, 8 clients, inlined: out of the published order") + 1 :]
        self.assertEqual(wrong[0], "READ-WRITE (200) is not above SEND-SEND (250)")
        self.assertEqual(wrong[1], "")

    def test_a_figure_is_drawn(self):
        lines = [
            f'patterns,{backend},inlined,"{series}",{clients},{rate * clients},2,3\n'
            for series, rate in RATES.items()
            for clients in (1, 2)
            for backend in ("sim", "real")
        ]
        image = self.folder / "figure.png"
        done = self.run_script("figure", str(image), self.file("runs.csv", HEAD + "".join(lines)))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertGreater(image.stat().st_size, 10_000)

    def test_figures_make_sense(self):
        for figure in FIGURES.values():
            self.assertLessEqual(set(figure.compared_at), set(figure.steps))
            self.assertLessEqual(set(figure.drawn), set(figure.changes))
            for ratio in figure.ratios:
                self.assertLessEqual({ratio.faster, ratio.slower}, set(figure.series))
            placed = sum(figure.order, ())
            self.assertEqual(len(placed), len(set(placed)))
            self.assertLessEqual(set(placed), set(figure.series))
            self.assertTrue((STUDIES.parents[1] / "scenarios" / f"{figure.scenario}.json").exists())

    @unittest.skipUnless("RKV_SIM" in os.environ, "needs the simulator")
    def test_the_simulator_takes_it_all(self):
        def rate(series, change):
            command = [os.environ["RKV_SIM"], *paradigms.options_of(PATTERNS, series, change)]
            (point,) = paradigms.points([*command, "--profile", paradigms.PROFILE], [2])
            return point["throughput_ops_s"]

        for change in PATTERNS.changes:
            self.assertGreater(rate("WRITE-READ", change), 0, change)
        for series in PATTERNS.series:
            inlined, plain = rate(series, "inlined"), rate(series, "fetched by DMA")
            self.assertGreaterEqual(inlined, plain, series)
            self.assertEqual(inlined == plain, series in ("READ-READ", "SOCKET-SOCKET"), series)

    @unittest.skipUnless("RKV_SIM" in os.environ, "needs the simulator")
    def test_the_simulator_takes_plain_verbs_puts_and_gets(self):
        quick = {"load.duration_s": 0.0002, "load.warm_up_s": 0.00005}
        few_keys = quick | {"keys.count": 1000}
        for figure, more in ((PAYLOAD, quick), (RUNS, quick), (OPERATIONS, quick), (PUT, few_keys), (GET, few_keys)):
            program = [os.environ["RKV_SIM"], "--profile", paradigms.PROFILE]
            for series in figure.series:
                (point,) = paradigms.runs_of(program, figure, series, "as it is", figure.steps[:1], more)
                self.assertGreater(point["throughput_ops_s"], 0, series)

    def test_mistakes_are_told(self):
        for words in (
            ("simulate", str(self.folder / "none"), self.out),
            ("simulate", self.program(), self.out, "--clients", "0"),
            ("simulate", self.program(partial=True), self.out),
            ("ratios", str(self.folder / "none.csv")),
        ):
            done = self.run_script(*words)
            self.assertEqual(done.returncode, 2, words)
            self.assertNotIn("Traceback", done.stderr)
        done = self.run_script("simulate", "/bin/false", self.out)
        self.assertEqual(done.returncode, 1)
        self.assertIn("/bin/false", done.stderr)
        for words in (["--clients", "0"], ["--clients"], ["--faster"]):
            done = self.run_study(*words)
            self.assertEqual(done.returncode, 2, words)
            self.assertIn("run: ", done.stderr)
        self.assertIn("Usage", self.run_study("--help").stdout)


if __name__ == "__main__":
    unittest.main()
