"""What studies of published sweeps have in common: points for rkv-calibrate, errors of its predictions, a command line.

A study reads its sweeps into a table with one line a measured value: KEY, `value` in operations a second, `spread`
(standard deviation), and what else it wants, such as a column of the group that a line belongs to.
"""

import argparse
import sys

import pandas

KEY = ["transport", "clients", "scenario"]
COLUMNS = ["transport", "completion", "clients", "metric", "value", "spread", "scenario"]


def scenario_text(name, fields):
    """A scenario with other values, as rkv-calibrate reads it."""
    return " ".join([name, *(f"{path}={value}" for path, value in fields.items())])


def write_points(lines, out, metric="throughput_ops_s"):
    """Writes what is fitted to or predicted. The same scenario twice: replicates, which rkv-calibrate averages."""
    lines.assign(completion="busy", metric=metric)[COLUMNS].to_csv(out, index=False)


def thinned(lines, group, step):
    """Every step-th line of each group."""
    return lines[lines.groupby(group).cumcount() % step == 0]


def with_predictions(lines, path, how="left"):
    """The lines with what rkv-calibrate predicted for them."""
    predicted = pandas.read_csv(path)[[*KEY, "predicted"]].drop_duplicates(KEY)
    return lines.merge(predicted, on=KEY, how=how)


def print_errors(lines, group, least_spread, only=None):
    """Root mean squares of the relative errors of each group, alike and weighted by the spreads."""
    lines = lines.assign(
        error=lines["predicted"] / lines["value"] - 1,
        weight=(lines["spread"] / lines["value"]).clip(lower=least_spread) ** -2,
    )
    groups = list(lines.groupby(group, sort=False))
    groups = [one for one in groups if one[0] == only] if only else [*groups, ("all", lines)]
    print(f"{'':52} {'points':>6} {'rms':>7} {'weighted':>9} {'worst':>8}")
    for name, part in groups:
        square = part["error"] ** 2
        weighted = (square * part["weight"]).sum() / part["weight"].sum()
        worst = part["error"].loc[part["error"].abs().idxmax()]
        print(
            f"{name:52} {len(part):6} {100 * square.mean() ** 0.5:5.1f} % {100 * weighted**0.5:7.1f} % "
            f"{100 * worst:+6.0f} %"
        )


def long_form(lines, columns, rate):
    """Measured and predicted values one below the other, in millions, for drawing."""
    long = lines.melt(id_vars=columns, value_vars=["value", "predicted"], var_name="which", value_name=rate)
    long[rate] /= 1e6
    long["which"] = long["which"].replace("value", "measured")
    return long


def add_arguments(name, command, group, choices=None):
    """What the commands points, errors and figure take, of lines in such groups."""
    if name == "points":
        command.add_argument("out", help="file to write")
        command.add_argument("--without", metavar=group, choices=choices)
        command.add_argument("--thin", type=int, default=1, metavar="N")
    if name in ("errors", "figure"):
        command.add_argument("predicted", help="what rkv-calibrate predict wrote")
    if name == "errors":
        command.add_argument("--only", metavar=group, choices=choices)
    if name == "figure":
        command.add_argument("out", help="image to write")


def run_command(description, actions, add_own_arguments):
    """A command line of one command an action. add_own_arguments(name, parser) says what each takes."""
    parser = argparse.ArgumentParser(description=description.splitlines()[0])
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for name, action in actions.items():
        command = commands.add_parser(name, help=action.__doc__)
        command.set_defaults(action=action)
        command.add_argument("sweeps", help="CSV file of the published values")
        add_own_arguments(name, command)
    arguments = parser.parse_args()
    try:
        arguments.action(arguments)
    except (OSError, KeyError, ValueError) as error:
        print(f"{parser.prog}: {arguments.sweeps}: {error}", file=sys.stderr)
        sys.exit(2)
