"""The SQL dialects of databases.

A dialect combines pieces of SQL and does not depend on expressions. If a database has no exact
equivalent, the method raises `ExpressionError`.
"""

from tamis.errors import ExpressionError
from tamis.sql import regular

# The characters of Unicode's property White_Space.
WHITE_SPACE = (
    "\t\n\x0b\x0c\r \x85\xa0\u1680"
    + "".join(map(chr, range(0x2000, 0x200B)))
    + "\u2028\u2029\u202f\u205f\u3000"
)


class Dialect:
    """The common part of the dialects, in standard SQL."""

    name = ""
    double = "double"
    text = "varchar"

    # Names and constants

    def column(self, name: str) -> str:
        return '"' + name.replace('"', '""') + '"'

    def field(self, owner: str, name: str) -> str:
        return f"({owner}).{self.column(name)}"

    def string(self, text: str) -> str:
        return "'" + text.replace("'", "''") + "'"

    def float(self, text: str) -> str:
        return f"cast('{text}' as {self.double})"

    def timestamp(self, text: str) -> str:
        return f"timestamptz '{text}+00:00'"

    def date(self, text: str) -> str:
        return f"date '{text}'"

    # Text

    def lower(self, text: str) -> str:
        return f"lower({text})"

    def upper(self, _: str) -> str:
        raise ExpressionError("databases convert letters such as ß to other capitals than Tamis")

    def trim(self, text: str) -> str:
        return f"trim({text}, {self.string(WHITE_SPACE)})"

    def length(self, text: str) -> str:
        return f"length({text})"

    def substring(self, text: str, start: int, count: int) -> str:
        return f"substring({text}, {start}, {count})"

    def concat(self, parts: list[str]) -> str:
        return "(" + " || ".join(parts) + ")"

    def starts_with(self, text: str, start: str) -> str:
        return f"starts_with({text}, {start})"

    def ends_with(self, text: str, end: str) -> str:
        return f"ends_with({text}, {end})"

    def contains(self, text: str, part: str) -> str:
        return f"contains({text}, {part})"

    def like(self, text: str, pattern: str) -> str:
        return f"({text} like {self.string(pattern)} escape '\\')"

    def matches(self, text: str, pattern: str) -> str:
        written = regular.translate(pattern, end=r"\z")
        return f"regexp_matches({text}, {self.string(written)})"

    def ordered(self, text: str) -> str:
        """Text, to be ordered by its bytes."""
        return text

    # Numbers

    def operand_digits(self, digits: int) -> int:
        """The digits that operands need, so that a result of this many digits does not overflow."""
        return min(digits, 1)

    def float_arithmetic(self, left: str, operator: str, right: str) -> str:
        return f"({left} {operator} {right})"

    def finite(self, number: str) -> str:
        """A float, or null if it is not finite."""
        for special in ("NaN", "Infinity", "-Infinity"):
            number = f"nullif({number}, {self.float(special)})"
        return number

    # Lists and objects

    def some(self, items: str, variable: str, condition: str) -> str:
        raise NotImplementedError

    def size(self, items: str) -> str:
        return f"len({items})"

    def present(self, value: str) -> str:
        """Whether a list or an object is not null."""
        return f"({value} is not null)"

    # Times

    def now(self) -> str:
        return "now()"

    def as_timestamp(self, time: str) -> str:
        return f"cast({time} as timestamptz)"

    def as_date(self, time: str) -> str:
        return f"cast({time} as date)"

    def microseconds(self, time: str) -> str:
        return f"epoch_us({time})"

    def from_microseconds(self, count: str) -> str:
        return f"make_timestamptz(cast({count} as bigint))"

    def part(self, part: str, time: str) -> str:
        return f"isodow({time})" if part == "weekday" else f"{part}({time})"


class DuckDb(Dialect):
    """DuckDB from 1.4 on."""

    name = "duckdb"

    def operand_digits(self, digits: int) -> int:
        # Decimals of 18 digits are 64-bit integers, and so are results of two of them.
        return 19 if digits > 18 else 1

    def some(self, items: str, variable: str, condition: str) -> str:
        return f"(len(list_filter({items}, lambda {self.column(variable)}: {condition})) > 0)"


class Postgres(Dialect):
    """PostgreSQL from 14 on."""

    name = "postgres"
    double = "double precision"
    text = "text"

    def string(self, text: str) -> str:
        if "\0" in text:
            raise ExpressionError("PostgreSQL has no text with the character U+0000")
        escaped = text.replace("'", "''")
        return "E'" + escaped.replace("\\", "\\\\") + "'" if "\\" in text else f"'{escaped}'"

    def lower(self, text: str) -> str:
        # ICU's lower case is longer for one letter, and different for a final sigma.
        return f"lower(translate({text}, '\u0130\u03a3', 'i\u03c3') collate \"und-x-icu\")"

    def trim(self, text: str) -> str:
        return f"btrim({text}, {self.string(WHITE_SPACE)})"

    def ends_with(self, text: str, end: str) -> str:
        return f"(right({text}, length({end})) = {end})"

    def contains(self, text: str, part: str) -> str:
        return f"(position({part} in {text}) > 0)"

    def like(self, text: str, pattern: str) -> str:
        return f"({text} like {self.string(pattern)} escape E'\\\\')"

    def matches(self, text: str, pattern: str) -> str:
        return f"({text} ~ {self.string(regular.translate(pattern, end=chr(92) + 'Z'))})"

    def ordered(self, text: str) -> str:
        return f'{text} collate "C"'

    def float_arithmetic(self, *_: str) -> str:
        raise ExpressionError("PostgreSQL fails if floats overflow or become too small")

    def some(self, items: str, variable: str, condition: str) -> str:
        # In a `select` list, an element that is a row stays one value.
        elements = f"(select unnest({items}) as {self.column(variable)}) as elements"
        return f"(exists (select 1 from {elements} where {condition}))"

    def size(self, items: str) -> str:
        return f"cardinality({items})"

    def present(self, value: str) -> str:
        # `is not null` would test whether all fields of a row are not null.
        return f"({value} is distinct from null)"

    def microseconds(self, time: str) -> str:
        return f"(extract(epoch from {time}) * 1000000)"

    def from_microseconds(self, count: str) -> str:
        return f"(timestamptz 'epoch' + ({count}) * interval '1 microsecond')"

    def part(self, part: str, time: str) -> str:
        return f"floor(extract({'isodow' if part == 'weekday' else part} from {time}))"


class Spark(Dialect):
    """Spark SQL from 4.0 on."""

    name = "spark"
    text = "string"

    def column(self, name: str) -> str:
        return "`" + name.replace("`", "``") + "`"

    def field(self, owner: str, name: str) -> str:
        return f"{owner}.{self.column(name)}"

    def string(self, text: str) -> str:
        # `${name}` would be replaced by a variable.
        escaped = text.replace("\\", "\\\\").replace("'", "\\'").replace("${", "\\u0024{")
        return f"'{escaped}'"

    def timestamp(self, text: str) -> str:
        return f"timestamp '{text}Z'"

    def lower(self, text: str) -> str:
        # Java's lower case is longer for one letter, and different for a final sigma.
        return f"lower(translate({text}, '\u0130\u03a3', 'i\u03c3'))"

    def trim(self, text: str) -> str:
        return f"trim(both {self.string(WHITE_SPACE)} from {text})"

    def concat(self, parts: list[str]) -> str:
        return f"concat({', '.join(parts)})"

    def starts_with(self, text: str, start: str) -> str:
        return f"startswith({text}, {start})"

    def ends_with(self, text: str, end: str) -> str:
        return f"endswith({text}, {end})"

    def like(self, text: str, pattern: str) -> str:
        return f"({text} like {self.string(pattern)})"

    def matches(self, text: str, pattern: str) -> str:
        return f"({text} rlike {self.string(regular.translate(pattern, end=chr(92) + 'z'))})"

    def some(self, items: str, variable: str, condition: str) -> str:
        return f"exists({items}, {self.column(variable)} -> {condition})"

    def size(self, items: str) -> str:
        return f"array_size({items})"

    def as_timestamp(self, time: str) -> str:
        return f"cast({time} as timestamp)"

    def microseconds(self, time: str) -> str:
        return f"unix_micros({time})"

    def from_microseconds(self, count: str) -> str:
        return f"timestamp_micros(cast({count} as bigint))"

    def part(self, part: str, time: str) -> str:
        return f"(weekday({time}) + 1)" if part == "weekday" else f"{part}({time})"


DIALECTS: dict[str, type[Dialect]] = {each.name: each for each in (Spark, DuckDb, Postgres)}
