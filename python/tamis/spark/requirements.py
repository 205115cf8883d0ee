"""The PySpark versions that the pipeline supports.

PySpark 4.1 added the two functions that it needs: `repartitionById`, which sends a row to the task
of its shard, and `arrow_udf`, which hands a SQL function whole batches of Arrow.
"""

import re
from importlib import metadata

OLDEST = (4, 1)


def explain_import_error(error: ImportError) -> ImportError:
    """The error to raise if the pipeline cannot be imported.

    Args:
        error: The original error.
    """
    missing = error.name if isinstance(error, ModuleNotFoundError) else None
    if missing is not None and not missing.startswith(("tamis", "pyspark.")):
        message = f"tamis.spark needs {missing}: pip install 'tamis[spark]'"
        return ModuleNotFoundError(message, name=missing)
    version = metadata.version("pyspark")
    found = re.match(r"(\d+)\.(\d+)", version)
    if found is not None and (int(found[1]), int(found[2])) < OLDEST:
        return ImportError(
            f"tamis.spark needs PySpark {OLDEST[0]}.{OLDEST[1]} or newer, and this is {version}: "
            "older ones have neither `repartitionById` nor `arrow_udf`"
        )
    return error
