"""Random documents and XPath expressions, and lxml as their judge."""

import random

from lxml import etree

NAMESPACES = {"p": "urn:p", "q": "urn:q"}


class Documents:
    """Random documents in which few names and values meet often."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

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
        inner = self.element(self.random.randint(1, 6))
        default = ' xmlns="urn:q"' if self.random.random() < 0.1 else ""
        head = self.random.choice(["", "<?xml version='1.0'?>", "<!--1-->\n"])
        return f'{head}<a xmlns:p="urn:p" xmlns:q="urn:q"{default} x="1">{inner}</a>'.encode()


class Queries:
    """Random XPath expressions of the language that filters take."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

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
                # From elements alone: to libxml2 the content of an element does not follow its
                # attributes.
                step = f"self::*/{choose.choice(['following', 'preceding'])}::{self.test()}"
        for _ in range(choose.choice([0, 0, 0, 1, 1, 2]) if depth > 0 else 0):
            step += f"[{self.predicate(depth - 1)}]"
        return step

    def path(self, depth: int) -> str:
        choose = self.random
        if depth > 0 and choose.random() < 0.08:
            start = f"({self.path(depth - 1)})[{choose.choice(['1', '2', 'last()', '@x'])}]/"
        else:
            start = choose.choice(["/", "//", "//", "//", "", ".//"])
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
        """A path that engines decide from names and values alone, or with one nested path."""
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

    def distinct(self, count: int, depth: int = 2) -> list[str]:
        found: dict[str, None] = {}
        while len(found) < count:
            found[self.streamable() if depth == 0 else self.expression(depth)] = None
        return list(found)


def judge(queries: list[str], documents: list[bytes]) -> list[list[int]]:
    """What lxml says: of each document, the positions of the queries that are true."""
    # A predicate makes the document node the context, which lxml does not.
    compiled = [
        etree.XPath(f"boolean(/self::node()[boolean({query})])", namespaces=NAMESPACES)
        for query in queries
    ]
    results = []
    for document in documents:
        tree = etree.fromstring(document).getroottree()
        results.append([at for at, query in enumerate(compiled) if query(tree)])
    return results
