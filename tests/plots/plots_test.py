#!/usr/bin/python3
"""Draws the figures of the committed reports and checks them against these reports."""
import contextlib
import io
import json
import os
import pathlib
import shutil
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
FIXTURE = HERE / "fixture"
sys.path.insert(0, str(HERE.parents[1] / "plots"))

import plot  # noqa: E402 (the path comes first)
import load  # noqa: E402
from figures import box, cdf, latency, throughput, timeline  # noqa: E402


def report(name):
    return json.loads((FIXTURE / name / "report.json").read_text())


def runs(*names, **options):
    return load.load_runs([str(FIXTURE / name) for name in names], **options)


class Folder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def plot(self, *arguments):
        """Exit status, what was printed, and what was complained about."""
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            try:
                status = plot.main([str(argument) for argument in arguments])
            except SystemExit as end:
                status = end.code
        return status, out.getvalue(), err.getvalue()


class Frames(unittest.TestCase):
    def test_throughput_is_the_reports(self):
        data = throughput.frame(runs("real", "sim"))
        for label, name in (("UC busy", "real"), ("UC busy (simulated)", "sim")):
            curve = data[data["label"] == label]
            points = report(name)["points"]
            self.assertEqual(list(curve["clients"]), [point["clients"] for point in points])
            self.assertEqual(list(curve["throughput_ops_s"]), [point["throughput_ops_s"] for point in points])
            self.assertEqual(list(curve["partial"]), [point["partial"] for point in points])

    def test_latency_is_the_reports(self):
        data = latency.frame(runs("real"))
        self.assertEqual(list(data["latency_mean_us"]), [p["latency_us"]["mean"] for p in report("real")["points"]])

    def test_boxes_are_the_reports(self):
        data = box.frame(runs("sim"))
        for name in ("whisker_low", "p25", "p50", "p75", "whisker_high"):
            expected = [point["latency_us"][name] for point in report("sim")["points"]]
            self.assertEqual(list(data[f"latency_{name}_us"]), expected)

    def test_distribution_ascends_to_one_and_agrees_with_the_percentiles(self):
        data = cdf.frame(runs("real"))
        for point in report("real")["points"]:
            curve = data[data["clients"] == point["clients"]]
            self.assertTrue(curve["latency_us"].is_monotonic_increasing and curve["latency_us"].is_unique)
            self.assertTrue(curve["cum_prob"].is_monotonic_increasing)
            self.assertEqual(curve["cum_prob"].iloc[-1], 1.0)
            self.assertEqual(curve["latency_us"].iloc[-1], point["latency_us"]["max"])
            for name, share in (("p50", 0.5), ("p95", 0.95)):
                reached = curve[curve["cum_prob"] >= share]["latency_us"].iloc[0]
                self.assertAlmostEqual(reached, point["latency_us"][name], delta=0.01 * reached)

    def test_traces_of_both_formats_hold_what_was_written(self):
        for name, clients in (("trace_1.csv", 1), ("trace_4.bin", 4)):
            trace = load.load_trace(str(FIXTURE / "real" / name))
            self.assertEqual(len(trace), 60 * clients)
            self.assertEqual(sorted(trace["client"].unique()), list(range(clients)))
            last = trace[trace["client"] == clients - 1].iloc[1]
            # write_fixture.cpp: 5000 + 500 client + 20 i + i * 7919 % 1000, with i = 1
            self.assertAlmostEqual(last["latency_us"], 5.939 + 0.5 * (clients - 1))

    def test_a_long_trace_is_drawn_as_means(self):
        data, window = timeline.frame(str(FIXTURE / "real" / "trace_4.bin"))
        self.assertEqual((len(data), window), (240, 1))
        shortest, timeline.MOST_POINTS_A_CLIENT = timeline.MOST_POINTS_A_CLIENT, 7
        self.addCleanup(setattr, timeline, "MOST_POINTS_A_CLIENT", shortest)
        means, window = timeline.frame(str(FIXTURE / "real" / "trace_4.bin"))
        self.assertEqual((len(means), window), (4 * 7, 9))
        first = data[data["client"] == 2]["latency_us"].iloc[:9].mean()
        self.assertAlmostEqual(means[means["client"] == 2]["latency_us"].iloc[0], first)


class Curves(unittest.TestCase):
    def test_what_is_drawn_is_the_frame_real_solid_simulated_dashed(self):
        both = runs("real", "sim")
        ((_, figure),) = throughput.draw(both)
        lines = figure.axes[0].get_lines()
        self.assertEqual([line.get_label() for line in lines], ["UC busy", "UC busy (simulated)"])
        for line, name in zip(lines, ("real", "sim")):
            points = report(name)["points"]
            self.assertEqual(list(line.get_xdata()), [point["clients"] for point in points])
            self.assertEqual(list(line.get_ydata()), [point["throughput_ops_s"] for point in points])
        self.assertEqual([line.is_dashed() for line in lines], [False, True])
        self.assertEqual(lines[0].get_color(), lines[1].get_color())
        self.assertIn("operations/s", figure.axes[0].get_ylabel())

    def test_alike_runs_get_their_directory_as_name_and_a_colour_each(self):
        with tempfile.TemporaryDirectory() as folder:
            shutil.copytree(FIXTURE / "sim", pathlib.Path(folder) / "other")
            alike = load.load_runs([str(FIXTURE / "sim"), os.path.join(folder, "other")])
        self.assertEqual([run.label for run in alike], ["UC busy (simulated), sim", "UC busy (simulated), other"])
        self.assertNotEqual(alike[0].series, alike[1].series)


class Overlays(Folder):
    def report_of(self, folder, backend, scenario, factor):
        """A copy of a fixture's report, of another scenario of the same transport and completion."""
        shutil.copytree(FIXTURE / "sim", self.folder / folder)
        document = report("sim")
        document["backend"] = backend
        document["scenario"]["name"] = scenario
        for point in document["points"]:
            point["throughput_ops_s"] *= factor
        (self.folder / folder / "report.json").write_text(json.dumps(document))
        return str(self.folder / folder)

    def test_each_simulation_lies_over_the_real_run_of_its_scenario(self):
        both = load.load_runs([
            self.report_of("a", "real", "uc_etc", 1.0), self.report_of("b", "real", "uc_ycsb", 2.0),
            self.report_of("c", "sim", "uc_ycsb", 2.1), self.report_of("d", "sim", "uc_etc", 1.1),
            str(self.other_transport()),
        ])  # fmt: skip
        self.assertEqual([run.label for run in both], [
            "UC busy, uc_etc", "UC busy, uc_ycsb", "UC busy, uc_ycsb (simulated)", "UC busy, uc_etc (simulated)",
            "RC busy",
        ])  # fmt: skip
        ((_, figure),) = throughput.draw(both)
        etc, ycsb, ycsb_simulated, etc_simulated, other = figure.axes[0].get_lines()
        for real, simulated in ((etc, etc_simulated), (ycsb, ycsb_simulated)):
            self.assertEqual(real.get_color(), simulated.get_color())
            self.assertEqual(real.get_marker(), simulated.get_marker())
            self.assertEqual((real.is_dashed(), simulated.is_dashed()), (False, True))
            self.assertEqual(real.get_markerfacecolor(), real.get_color())
            self.assertEqual(simulated.get_markerfacecolor(), "white")  # hollow
            self.assertEqual(simulated.get_markeredgecolor(), simulated.get_color())
        self.assertEqual(len({line.get_color() for line in (etc, ycsb, other)}), 3)
        self.assertEqual(len({line.get_marker() for line in (etc, ycsb, other)}), 3)
        legend = [text.get_text() for text in figure.axes[0].get_legend().get_texts()]
        self.assertEqual(legend[:5], [run.label for run in both])

    def other_transport(self):
        folder = pathlib.Path(self.report_of("e", "real", "rc", 0.5))
        document = json.loads((folder / "report.json").read_text())
        document["scenario"]["transport"] = "rc"
        (folder / "report.json").write_text(json.dumps(document))
        return folder


class Files(Folder):
    def test_every_figure_is_a_pdf_and_a_png(self):
        status, printed, complaint = self.plot(FIXTURE / "real", FIXTURE / "sim", "--out", self.folder / "figures")
        self.assertEqual((status, complaint), (0, ""))
        names = {"throughput", "latency_mean", "latency_box", "latency_cdf", "latency_over_time_uc_busy_1",
                 "latency_over_time_uc_busy_4"}
        files = {path.name for path in (self.folder / "figures").iterdir()}
        self.assertEqual(files, {f"{name}.{ending}" for name in names for ending in ("pdf", "png")})
        self.assertEqual(len(printed.splitlines()), len(files))
        for path in (self.folder / "figures").iterdir():
            content = path.read_bytes()
            if path.suffix == ".png":
                self.assertTrue(content.startswith(b"\x89PNG\r\n\x1a\n") and content.endswith(b"IEND\xaeB`\x82"))
            else:
                self.assertTrue(content.startswith(b"%PDF-") and content.rstrip().endswith(b"%%EOF"))
            self.assertGreater(len(content), 5000)

    def test_options_choose_figures_points_and_names(self):
        status, printed, _ = self.plot(FIXTURE / "real", "--out", self.folder, "--kind", "cdf", "timeline",
                                       "--clients", "1", "--labels", "Mine", "--log")
        self.assertEqual(status, 0)
        names = sorted(os.path.basename(line) for line in printed.splitlines())
        self.assertEqual(names, ["latency_cdf.pdf", "latency_cdf.png", "latency_over_time_mine_1.pdf",
                                 "latency_over_time_mine_1.png"])


class Complaints(Folder):
    def check(self, message, *arguments):
        status, printed, complaint = self.plot(*arguments, "--out", self.folder / "figures")
        self.assertEqual((status, printed), (2, ""))
        self.assertIn(message, complaint)
        self.assertNotIn("Traceback", complaint)

    def changed(self, change):
        """A copy of the simulated report in which change(report) was made."""
        copy = self.folder / "changed"
        shutil.copytree(FIXTURE / "sim", copy)
        document = report("sim")
        change(document)
        (copy / "report.json").write_text(json.dumps(document))
        return copy

    def test_no_report(self):
        self.check("there is no such file", self.folder)

    def test_not_json(self):
        (self.folder / "report.json").write_text("{")
        self.check("cannot be read", self.folder)

    def test_another_schema_version(self):
        self.check("schema_version is 2, these plots read version 1",
                   self.changed(lambda document: document.update(schema_version=2)))

    def test_a_missing_member(self):
        self.check("/points/1/throughput_ops_s", self.changed(lambda d: d["points"][1].pop("throughput_ops_s")))

    def test_a_latency_that_is_no_number(self):
        self.check("/points/0/latency_us/p50",
                   self.changed(lambda d: d["points"][0]["latency_us"].update(p50="fast")))

    def test_a_distribution_that_is_gone(self):
        self.check("latency_9.hgrm: there is no such file",
                   self.changed(lambda d: d["points"][0].update(histogram_file="latency_9.hgrm")), "--kind", "cdf")

    def test_a_file_elsewhere(self):
        self.check("is not the name of a file",
                   self.changed(lambda d: d["points"][0].update(trace_file="../../etc/passwd")), "--kind", "timeline")

    def test_a_cut_trace(self):
        folder = self.folder / "cut"
        shutil.copytree(FIXTURE / "real", folder)
        trace = folder / "trace_4.bin"
        trace.write_bytes(trace.read_bytes()[:-40])
        self.check("239 records instead of 240", folder, "--kind", "timeline", "--clients", "4")

    def test_a_figure_without_data(self):
        self.check("--kind timeline: the reports have no data", FIXTURE / "sim", "--kind", "timeline")

    def test_no_points(self):
        self.check("no points to draw", self.changed(lambda document: document.update(points=[])))

    def test_labels_that_do_not_fit(self):
        self.check("1 labels for 2 reports", FIXTURE / "real", FIXTURE / "sim", "--labels", "one")
        self.check("the same label", FIXTURE / "real", FIXTURE / "sim", "--labels", "one", "one")

    def test_an_unknown_kind(self):
        self.check("invalid choice", FIXTURE / "real", "--kind", "pie")


if __name__ == "__main__":
    unittest.main()
