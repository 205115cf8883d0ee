"""Random documents and XPath expressions, with the results of lxml."""

import random

from lxml import etree

NAMESPACES = {"p": "urn:p", "q": "urn:q"}
VARIABLES: dict[str, str | float | bool] = {"n": 2, "s": "x", "b": True}
IDS = ["n0", "n1", "n2", "n3", "n4"]
ID_TYPES = "<!DOCTYPE a [<!ATTLIST a i ID #IMPLIED><!ATTLIST b i ID #IMPLIED>]>"


class Documents:
    """Random documents with few names and values, so that queries often match."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.ids: list[str] = []

    def name(self) -> str:
        return self.random.choice(["a", "a", "b", "b", "c", "d", "p:a", "q:b"])

    def text(self) -> str:
        return self.random.choice(
            [
                "1",
                "2",
                "3.5",
                "-1",
                "x",
                "xy",
                " 2 ",
                "ab c",
                "&lt;",
                "<![CDATA[1]]>",
                "&#50;",
                "",
                "é",
            ]
        )

    def element(self, depth: int) -> str:
        choose = self.random
        name = self.name()
        attributes = "".join(
            f' {attribute}="{choose.choice(["1", "2", "3", "x", "", "10"])}"'
            for attribute in ("x", "y", "p:x", "xml:lang")
            if choose.random() < 0.25
        )
        if self.ids and choose.random() < 0.3:
            # Unique, because lxml refuses duplicate ids.
            attributes += f' i="{self.ids.pop()}"'
        if choose.random() < 0.1:
            attributes += f' r="{" ".join(choose.sample(IDS, 2))}"'
        content = [self.text() if choose.random() < 0.5 else ""]
        for _ in range(choose.choice([0, 1, 2, 3]) if depth > 0 else 0):
            kind = choose.random()
            if kind < 0.85:
                content.append(self.element(depth - 1))
            elif kind < 0.92:
                content.append("<!--2-->")
            else:
                content.append("<?a 1?>")
            if choose.random() < 0.3:
                content.append(self.text())
        return f"<{name}{attributes}>{''.join(content)}</{name}>"

    def document(self) -> bytes:
        self.ids = self.random.sample(IDS, len(IDS))
        inner = self.element(self.random.randint(1, 6))
        default = ' xmlns="urn:q"' if self.random.random() < 0.1 else ""
        head = self.random.choice(["", "<?xml version='1.0'?>", "<!--1-->\n"])
        head += self.random.choice(["", ID_TYPES])
        return f'{head}<a xmlns:p="urn:p" xmlns:q="urn:q"{default} x="1">{inner}</a>'.encode()


class Queries:
    """Random XPath expressions that filters support."""

    def __init__(self, seed: int, *, variables: bool = False) -> None:
        self.random = random.Random(seed)
        self.variables = variables

    def test(self) -> str:
        return self.random.choice(
            [
                "a",
                "a",
                "b",
                "b",
                "c",
                "d",
                "*",
                "*",
                "p:a",
                "q:b",
                "p:*",
                "text()",
                "node()",
                "comment()",
                "processing-instruction()",
            ]
        )

    def name(self) -> str:
        return self.random.choice(["a", "a", "b", "b", "c", "d", "*", "p:a", "q:*"])

    def literal(self) -> str:
        if self.variables and self.random.random() < 0.3:
            return self.random.choice(["$n", "$s", "$b", "$n - 1", "concat($s, 'y')"])
        return self.random.choice(["'1'", "'x'", "''", "1", "2", "3.5", "'ab c'", "-1", "0", "10"])

    def comparison(self) -> str:
        return self.random.choice(["=", "=", "!=", "<", "<=", ">", ">="])

    def predicate(self, depth: int) -> str:
        choose = self.random
        kind = choose.random()
        if kind < 0.3:
            source = choose.choice(["@x", "@y", "@p:x", ".", "text()", "@*"])
            return f"{source} {self.comparison()} {self.literal()}"
        if kind < 0.4:
            return choose.choice(["@x", "@y", "@p:x", "text()", "not(@x)", "*", "contains(., 'x')"])
        if kind < 0.5:
            if self.variables and choose.random() < 0.2:
                return choose.choice(["$n", "position() = $n", "position() < $n", "$b", "not($s)"])
            return choose.choice(
                [
                    "1",
                    "2",
                    "last()",
                    "position() = 2",
                    "position() < last()",
                    "last() - 1",
                    "position() mod 2 = 1",
                ]
            )
        if depth > 0:
            return self.expression(depth - 1)
        return self.path(0)

    def step(self, depth: int) -> str:
        choose = self.random
        kind = choose.random()
        if kind < 0.72:
            step = self.name()
        elif kind < 0.8:
            step = choose.choice(["@x", "@*", "@p:x", ".", "..", "text()", "node()"])
            if step in (".", ".."):
                return step
        else:
            axes = [
                "child",
                "descendant",
                "descendant-or-self",
                "self",
                "parent",
                "ancestor",
                "ancestor-or-self",
                "following-sibling",
                "preceding-sibling",
                "attribute",
            ]
            step = f"{choose.choice(axes)}::{self.test()}"
            if choose.random() < 0.2:
                # Only from elements: in libxml2, the content of an element does not follow its
                # attributes.
                step = f"self::*/{choose.choice(['following', 'preceding'])}::{self.test()}"
        for _ in range(choose.choice([0, 0, 0, 1, 1, 2]) if depth > 0 else 0):
            step += f"[{self.predicate(depth - 1)}]"
        return step

    def path(self, depth: int, *, absolute: bool = False) -> str:
        choose = self.random
        kind = choose.random()
        if depth > 0 and kind < 0.08:
            inner = self.path(depth - 1, absolute=absolute)
            start = f"({inner})[{choose.choice(['1', '2', 'last()', '@x'])}]/"
        elif depth > 0 and kind < 0.13:
            argument = choose.choice(["'n1'", "'n0  n3'", "//@r", "'x'"])
            # No positions: in libxml2, the elements are in the order of the ids.
            start = f"id({argument})" + choose.choice(["/", "//", "[@x]//"])
        else:
            start = choose.choice(["/", "//", "//", "//", *([] if absolute else ["", ".//"])])
        steps = [self.step(depth) for _ in range(choose.choice([1, 1, 2, 2, 3, 4]))]
        path = start + steps[0]
        for step in steps[1:]:
            path += choose.choice(["/", "/", "//"]) + step
        return path

    def expression(self, depth: int) -> str:
        choose = self.random
        kind = choose.random()
        if kind < 0.55 or depth == 0:
            return self.path(depth)
        if kind < 0.65:
            return f"{self.path(depth)} {self.comparison()} {self.literal()}"
        if kind < 0.70:
            return f"{self.path(depth - 1)} {self.comparison()} {self.path(depth - 1)}"
        if kind < 0.80:
            connective = choose.choice(["and", "or"])
            return f"({self.expression(depth - 1)} {connective} {self.expression(depth - 1)})"
        if kind < 0.85:
            return f"not({self.expression(depth - 1)})"
        if kind < 0.88:
            return f"{self.path(depth - 1)} | {self.path(depth - 1)}"
        path = self.path(depth - 1)
        return choose.choice(
            [
                f"count({path}) {self.comparison()} {choose.randint(0, 3)}",
                f"sum({path}) > 2",
                f"contains({path}, 'x')",
                f"starts-with({path}, '1')",
                f"string-length({path}) > 1",
                f"normalize-space({path}) = '2'",
                f"name({path}) = 'p:a'",
                f"local-name({path}) = 'a'",
                f"namespace-uri({path}) = 'urn:p'",
                f"substring({path}, 1, 1) = 'x'",
                f"substring-before({path}, 'y') = 'x'",
                f"substring-after({path}, 'x') = 'y'",
                f"translate({path}, 'xy', 'z') = 'z'",
                f"concat({path}, '!') = '1!'",
                f"number({path}) = 2",
                f"round({path}) = 4",
                f"floor({path}) = 3",
                f"ceiling({path}) = 4",
                f"boolean({path})",
                f"{path} = true()",
                f"{path} + 1 = 3",
                f"{path} * 2 div 2 - 1 mod 2 < -{path}",
                f"string({path}) = string(//b)",
                "lang('x') or //*[lang('x')]",
            ]
        )

    def streamable(self) -> str:
        """A path that engines decide from names and values, or with one nested path."""
        choose = self.random
        path = ""
        for _ in range(choose.randint(1, 5)):
            path += choose.choice(["/", "//"]) + self.name()
            while choose.random() < 0.3:
                source = choose.choice(["@x", "@y", "@p:x", ".", "text()"])
                path += choose.choice(
                    [
                        f"[{source} {self.comparison()} {self.literal()}]",
                        f"[{self.literal()} {self.comparison()} {source}]",
                        f"[@x][{source} = '1']",
                        f"[@x = 1 and @y {self.comparison()} 2]",
                        f"[contains({source}, 'x')]",
                        f"[starts-with(@x, {self.literal()})]",
                        f"[{self.name()}/{self.name()}]",
                        f"[.//{self.name()}[@x]]",
                    ]
                )
        return path + choose.choice(["", "", "", "/@x", "/text()"])

    def selecting(self, count: int, depth: int) -> list[str]:
        """Expressions that select the same nodes from any context."""
        found: dict[str, None] = {}
        while len(found) < count:
            paths = [
                self.path(depth, absolute=True) for _ in range(self.random.choice([1, 1, 1, 2]))
            ]
            found[" | ".join(paths)] = None
        return list(found)

    def distinct(self, count: int, depth: int = 2) -> list[str]:
        found: dict[str, None] = {}
        while len(found) < count:
            found[self.streamable() if depth == 0 else self.expression(depth)] = None
        return list(found)


def judge(queries: list[str], documents: list[bytes]) -> list[list[int]]:
    """The results of lxml: for each document, the positions of the true queries."""
    # A predicate makes the document node the context, unlike lxml.
    compiled = [
        etree.XPath(f"boolean(/self::node()[boolean({query})])", namespaces=NAMESPACES)
        for query in queries
    ]
    results = []
    for document in documents:
        tree = etree.fromstring(document).getroottree()
        results.append([at for at, query in enumerate(compiled) if query(tree, **VARIABLES)])
    return results
