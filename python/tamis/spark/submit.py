"""The script that `spark-submit` runs on a cluster: the commands of `tamis spark`.

spark-submit $(python -m tamis.spark.submit --where) match events.parquet s3://bucket/index out
"""

import sys

if __name__ == "__main__":
    if sys.argv[1:] == ["--where"]:
        print(__file__)
        sys.exit()
    from tamis.cli import main

    sys.exit(main(["spark", *sys.argv[1:]]))
