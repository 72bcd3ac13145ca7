"""The command line of benchmarks whose contenders take turns."""
import argparse


def options_of(description, iterations):
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--build", default="build", metavar="DIR", help="release build (default: build)")
    parser.add_argument("--rounds", type=int, default=5, metavar="N", help="each contender in turn, N times (default: 5)")
    parser.add_argument("--iterations", type=int, default=iterations, metavar="N",
                        help=f"round trips a turn (default: {iterations})")
    options = parser.parse_args()
    if options.rounds < 1 or options.iterations < 1000:
        parser.error("at least 1 round of at least 1000 iterations")
    return options
