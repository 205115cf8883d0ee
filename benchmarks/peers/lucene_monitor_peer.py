"""Maven's `lucene-monitor`: the part of Lucene that percolators use, without a cluster."""

import shutil
import subprocess
from pathlib import Path

from benchmarks.peers.normal import refuse
from benchmarks.peers.process import BUILD, Process

VERSION = "9.11.1"  # Lucene 10 needs Java 21
POM = f"""\
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>peers</groupId><artifactId>lucene</artifactId><version>1</version>
  <packaging>pom</packaging>
  <dependencies><dependency>
    <groupId>org.apache.lucene</groupId><artifactId>lucene-monitor</artifactId>
    <version>{VERSION}</version>
  </dependency></dependencies>
</project>
"""


class Engine(Process):
    """Equalities are terms, orderings are point ranges; uses the default presearcher."""

    def __init__(self, missing: str) -> None:
        folder = BUILD / "lucene"
        if shutil.which("mvn") is None or shutil.which("javac") is None:
            raise refuse("anything: there is no Maven, or no Java compiler")
        if not (folder / "LuceneMonitor.class").exists():
            folder.mkdir(parents=True, exist_ok=True)
            (folder / "pom.xml").write_text(POM, encoding="utf-8")
            fetch = ["mvn", "-q", "-B", "dependency:copy-dependencies", "-DoutputDirectory=."]
            subprocess.run(fetch, cwd=folder, check=True)
            source = Path(__file__).with_name("LuceneMonitor.java")
            compile = ["javac", "-cp", "*", "-d", ".", str(source)]
            subprocess.run(compile, cwd=folder, check=True)
        command = ["java", "-Xmx6g", "-XX:+UseSerialGC", "-cp", ".:*", "LuceneMonitor"]
        super().__init__(missing, command, folder)
