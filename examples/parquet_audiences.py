"""Audiences of a Parquet file: which of 10,000 rules match which customers, and how often.

Rules and customers are generated here, so that the script runs anywhere. With your own files, start
at `main` with `tamis.Index.from_csv("rules.csv")` and `parquet.read_table("customers.parquet")`.
"""

import csv
import random
import tempfile
from pathlib import Path

from pyarrow import Table, parquet

import tamis

STATES = ["CA", "OR", "WA", "NY", "TX"]
INTERESTS = ["running", "chess", "yoga", "music", "trail"]


def write_rules(path: Path) -> None:
    """Write 10,000 audiences, and one with a typo."""
    chance = random.Random(1)
    with path.open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["id", "expression"])
        for number in range(10_000):
            age, total = chance.randint(18, 80), chance.randint(800, 999)
            state, interest = chance.choice(STATES), chance.choice(INTERESTS)
            rule = f"age between {age} and {age + 2} and state = '{state}' and total > {total}"
            rows.writerow([f"audience-{number}", f"{rule} and interests = '{interest}'"])
        rows.writerow(["typo", "age betwen 18 and 25"])


def write_customers(path: Path) -> None:
    """Write 20,000 customers: integers, texts, lists and floats."""
    chance = random.Random(2)
    customers = [
        {
            "customer": number,
            "age": chance.randint(18, 90),
            "state": chance.choice(STATES),
            "interests": chance.sample(INTERESTS, 2),
            "total": chance.randint(0, 99_999) / 100,
        }
        for number in range(20_000)
    ]
    parquet.write_table(Table.from_pylist(customers), path)


def main(folder: Path) -> None:
    index, loaded = tamis.Index.from_csv(folder / "rules.csv", on_error="collect")
    for bad in loaded.refused:
        print(f"line {bad.line}, {bad.id}: {bad.message.splitlines()[0]}")

    customers = parquet.read_table(folder / "customers.parquet")
    pairs = index.match_batch(customers)  # a table: `event`, the row, and `subscription`
    found = pairs.append_column("customer", customers["customer"].take(pairs["event"]))
    parquet.write_table(found.select(["customer", "subscription"]), folder / "audiences.parquet")
    print(f"{found.num_rows} matches in {customers.num_rows} rows, {len(index)} rules")
    print(found.select(["customer", "subscription"]).slice(0, 2).to_pylist())

    counts = index.match_batch(customers, count=True)  # a table: `subscription` and `count`
    largest = counts.sort_by([("count", "descending"), ("subscription", "ascending")]).slice(0, 2)
    print(largest.to_pylist())
    print(f"{len(index) - counts.num_rows} rules match nobody")

    first = found.slice(0, 1).to_pylist()[0]
    row = customers.slice(first["event"], 1).to_pylist()[0]
    print(index.explain(first["subscription"], row))


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as made:
        write_rules(Path(made) / "rules.csv")
        write_customers(Path(made) / "customers.parquet")
        main(Path(made))
