"""`tamis lab rivals`: list settings in which another matcher was faster than the default."""

from tamis.cli.lab.experiments import Machine, Records, errors, open_records
from tamis.cli.output import VALID, CommandError, write
from tamis.lab import verdicts
from tamis.lab.records import FOLDER, number

USAGE = "Usage: tamis lab rivals [OPTIONS]"
EXAMPLES = """
Examples:

    tamis lab rivals
    tamis lab rivals --factor 1.3 --runs 2
"""


def rivals(
    *,
    factor: float = 1.15,
    runs: int = 1,
    records: Records = FOLDER,
    machine: Machine = None,
) -> int:
    """List the recorded settings in which another matcher was faster than the default.

    Needs `tamis[lab]`.

    Args:
        factor: The minimum factor by which it must be faster.
        runs: The number of latest runs in which it must be.
        records: The folder of all records.
        machine: The folder within it; named after this machine by default.
    """
    if runs < 1:
        raise CommandError("--runs must be at least 1")
    with errors():
        kept = open_records(records, machine)
        found = verdicts.rivals(kept.all(), factor, runs)
    if not found.compared and not found.incomparable:
        raise CommandError(f"there are no records in {kept.folder}: tamis lab run first")
    for each in found.rivals:
        setting = ", ".join(f"{name} {value}" for name, value in each.parameters.items())
        times = " and ".join(
            f"{number(mine)} against {number(theirs)} us"
            for mine, theirs in zip(each.default_us, each.rival_us, strict=True)
        )
        options = f" {each.options}" if each.options else ""
        write(
            f"{each.factor:.2f}x  {each.workload} ({setting}): {each.matcher}{options}, {times} "
            f"[{each.experiment}]"
        )
    write(
        f"{len(found.rivals)} faster by more than {factor:g}x, in {found.compared} settings; "
        f"{found.incomparable} settings without the default"
    )
    return VALID
