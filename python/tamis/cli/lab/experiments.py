"""The common part of the commands on experiments."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from tamis.cli.output import CommandError
from tamis.lab import experiments, records
from tamis.lab.experiments import ExperimentError

Names = Annotated[list[str], Parameter(negative="")]
Scale = Literal["full", "small"]
Records = Annotated[Path, Parameter(name="--records")]
Machine = Annotated[str | None, Parameter(name="--machine")]


@contextmanager
def errors() -> Iterator[None]:
    """Turn invalid experiments and missing packages into messages."""
    try:
        yield
    except ExperimentError as error:
        raise CommandError(str(error)) from error
    except ModuleNotFoundError as error:
        missing = (error.name or "").partition(".")[0]
        if missing not in ("matplotlib", "pyarrow"):
            raise
        raise CommandError(f"this needs {missing}: pip install 'tamis[lab]'") from error


def open_records(folder: Path, machine: str | None) -> records.Records:
    """The records of a machine, of this one by default."""
    return records.Records(folder / (machine or records.here()))


def collect(
    names: Sequence[str], scale: Scale, seed: int, kept: records.Records
) -> list[records.Results]:
    """The results of these experiments; those without any record are left out."""
    every = [records.collect(each, kept, scale, seed) for each in experiments.find(*names)]
    measured = [each for each in every if each.rows]
    if not measured:
        raise CommandError(
            f"there are no records of these at scale {scale} in {kept.folder}: tamis lab run first"
        )
    return measured
