"""How do public engines compare, in the same run and on the same bytes?

    make peers                    # installs them into an environment of their own

The workload *conjunctive* at 10,000 and 100,000 expressions, every engine in a process of its own.
One whose matches differ from those of a scan is reported as such, without any time. One that is not
installed, cannot express the workload, or takes longer than the limit says so.

`python -m peers SIZE ... --time-limit SECONDS --events N` takes others, in the folder above.
"""

import argparse
import importlib.util
import sys

from tamis import lab
from tamis._tamis import Workload

PEERS = {
    "a_tree": "peers.a_tree_peer:Engine",
    "mokaccino": "peers.mokaccino_peer:Engine",
    "rule_engine": "peers.rule_engine_peer:Engine",
}
HEADER = ("matcher", "build s", "peak MiB", "best us", "events/s", "matches", "timed")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("sizes", nargs="*", type=int, default=[10_000, 100_000])
    parser.add_argument("--time-limit", type=float, default=240.0)
    parser.add_argument("--events", type=int, default=200)
    parser.add_argument("--sample", type=int, default=20)
    parser.add_argument("--workload", default="conjunctive")
    parser.add_argument("--peers", nargs="*", default=list(PEERS))
    given = parser.parse_args()
    installed = [name for name in given.peers if importlib.util.find_spec(name)]
    for name in sorted(set(given.peers) - set(installed)):
        print(f"{name} is not installed for Python {sys.version.split()[0]}")
    for size in given.sizes:
        source = Workload(given.workload, size=size)
        found = lab.compare(
            enumerate(source.expression_texts(0, size)),
            [text.encode() for text in source.event_texts(0, given.events)],
            matchers=["compiled", *(PEERS[name] for name in installed)],
            missing=source.missing,
            time_limit=given.time_limit,
            sample=given.sample,
        )
        print(f"\n{given.workload}, {size:,} expressions, {given.events} events")
        print("".join(f"{name:>14}" for name in HEADER))
        ours = found.measurements[0]
        for each in found.measurements:
            name = each.matcher.partition(".")[2].partition("_peer")[0] or f"tamis {each.matcher}"
            if each.best_us is None:
                print(f"{name:>14}  {each.status}: {each.reason}", flush=True)
                continue
            peak = (each.peak_bytes or 0) / (1 << 20)
            line = f"{each.build_seconds:14.2f}{peak:14.1f}{each.best_us:14.1f}"
            line += f"{each.events_per_second:14,.0f}{each.matches_per_event:14.1f}{each.timed:14}"
            if each is not ours and ours.best_us and ours.peak_bytes and each.peak_bytes:
                times, part = each.best_us / ours.best_us, each.peak_bytes / ours.peak_bytes
                line += f"   tamis: {times:.0f} times the events/s, 1/{part:.1f} of the memory"
            print(f"{name:>14}{line}", flush=True)


if __name__ == "__main__":
    main()
