"""Saved indexes and graphs anywhere: in a local folder, on HDFS, in an object store.

`folder` knows files, `manifest` the versions of an index, `cache` verified local copies. The Spark
pipeline and the server open what they read through these; all of it needs pyarrow, none pyspark.
"""
