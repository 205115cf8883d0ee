"""Which versions of PySpark does the pipeline run on?

4.1 brought the two functions that it is built on: `repartitionById`, which sends a row to the task
of its shard, and `arrow_udf`, which hands a SQL function whole batches of Arrow.
"""

import re
from importlib import metadata

OLDEST = (4, 1)


def explain_import_error(error: ImportError) -> ImportError:
    """What to say where the modules of the pipeline cannot be imported.

    Args:
        error: What Python says.
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
