"""The figure shows the numbers of the comparison."""

import contextlib
import io
import json
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "plots"))

import calibration  # noqa: E402 (the path comes first)

POINTS = """transport,completion,clients,metric,value,predicted
uc,busy,1,throughput_ops_s,1000,1100
uc,busy,2,throughput_ops_s,2000,
uc,busy,3,throughput_ops_s,,2500
uc,busy,1,latency_mean_us,900,950
rc,event,1,throughput_ops_s,500,400
rc,event,4,throughput_ops_s,600,700
"""
USL = {"lambda_ops_s": 1000, "sigma": 0.5, "kappa": 0.1}


def curve(transport, completion, metric, usl=None):
    return {"transport": transport, "completion": completion, "metric": metric, "usl": usl}


ERRORS = {
    "fitted_clients": 2,
    "outstanding": 1,
    "curves": [
        curve("uc", "busy", "throughput_ops_s", USL),
        curve("rc", "event", "throughput_ops_s"),
        curve("uc", "busy", "latency_mean_us"),
        curve("uc", "busy", "latency_p99_us"),
    ],
}


class Figure(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.write(ERRORS, POINTS)

    def write(self, errors, points):
        (self.folder / "errors.json").write_text(json.dumps(errors))
        (self.folder / "points.csv").write_text(points)

    def axis(self, title, row):
        figure = calibration.draw(*calibration.load_comparison(str(self.folder)))
        self.addCleanup(calibration.pyplot.close, figure)
        axes = [axis for axis in figure.axes if axis.get_visible() and axis.get_title() == title]
        return axes[row]

    def test_a_panel_has_measured_points_predicted_line_and_dashed_law(self):
        law, predicted, measured = self.axis("UC busy", 0).get_lines()
        self.assertEqual(list(measured.get_xdata()), [1, 2])
        self.assertEqual(list(measured.get_ydata()), [1000, 2000])
        self.assertEqual(measured.get_linestyle(), "None")
        self.assertEqual(list(predicted.get_xdata()), [1, 3])  # what was predicted only, too
        self.assertEqual(list(predicted.get_ydata()), [1100, 2500])
        self.assertFalse(predicted.is_dashed())
        self.assertTrue(law.is_dashed())
        self.assertAlmostEqual(law.get_ydata()[0], 1000)
        self.assertAlmostEqual(law.get_xdata()[-1], 3)
        self.assertAlmostEqual(law.get_ydata()[-1], 1000 * 3 / (1 + 0.5 * 2 + 0.1 * 6))

    def test_the_law_of_latency_is_that_of_a_closed_loop(self):
        self.assertAlmostEqual(calibration.law(USL, 3, "latency_mean_us", 1), 2.6e3)
        self.assertAlmostEqual(calibration.law(USL, 3, "latency_mean_us", 4), 4 * 2.6e3)

    def test_the_fitted_region_is_shaded(self):
        (shade,) = self.axis("UC busy", 0).patches
        self.assertEqual(max(shade.get_xy()[:, 0]), 2)
        self.write({**ERRORS, "fitted_clients": None}, POINTS)
        self.assertEqual(len(self.axis("UC busy", 0).patches), 0)

    def test_latency_is_below_throughput_and_what_was_not_compared_has_no_panel(self):
        self.assertEqual(list(self.axis("UC busy", 1).get_lines()[-1].get_ydata()), [900])
        with self.assertRaises(IndexError):
            self.axis("RC event", 1)

    def run_script(self, *arguments):
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            status = calibration.main([str(argument) for argument in arguments])
        return status, err.getvalue()

    def test_files(self):
        status, err = self.run_script(self.folder, "--out", self.folder / "figures")
        self.assertEqual((status, err), (0, ""))
        names = sorted(path.name for path in (self.folder / "figures").iterdir())
        self.assertEqual(names, ["calibration.pdf", "calibration.png"])

    def test_complaints(self):
        for errors, points, says in (
            ({}, POINTS, "errors.json: there are no curves"),
            (ERRORS, "clients,value\n1,2\n", "points.csv: the columns completion, metric, predicted, transport"),
            (ERRORS, POINTS.replace("rc,", "ud,"), "no points of rc event"),
            ({"curves": []}, POINTS, "nothing to draw"),
        ):
            self.write(errors, points)
            status, err = self.run_script(self.folder, "--out", self.folder)
            self.assertEqual(status, 2)
            self.assertIn(says, err)
        status, err = self.run_script(self.folder / "nowhere", "--out", self.folder)
        self.assertEqual(status, 2)
        self.assertIn("there is no such file", err)


if __name__ == "__main__":
    unittest.main()
