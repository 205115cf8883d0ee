"""News by content and attributes: subscribers test parts of an XML story, and its source.

The story is an XML document; its source and its urgency are attributes of the event. One
expression tests both. All XPath expressions share one automaton, so the document
is read once, however many subscribers there are.
"""

import tamis
from tamis import xml

SUBSCRIBERS = {
    "climate-desk": "xpath('//topic[@code = \"climate\"]') and urgency <= 3",
    "sports-wire": "xpath('/story/meta/topic[starts-with(@code, \"sport\")]') and source = 'wire'",
    "photo-desk": "xpath('count(//media[@type = \"photo\"]) > 1')",
    "markets": "xpath('//quote[@symbol = \"ACME\"]/change[. < -5]') or urgency = 1",
    "archive": "not xpath('//embargo') and source in ('wire', 'staff')",
}

STORIES = [
    (
        {"source": "wire", "urgency": 2},
        b"""<story><meta><topic code="climate"/><topic code="economy"/></meta>
        <body><p>Rivers ran low.</p><media type="photo"/><media type="photo"/></body></story>""",
    ),
    (
        {"source": "staff", "urgency": 4},
        b"""<story><meta><topic code="economy"/><embargo until="2026-12-01"/></meta>
        <body><quote symbol="ACME"><change>-7.5</change></quote></body></story>""",
    ),
    (
        {"source": "wire", "urgency": 5},
        b"""<story><meta><topic code="sport.cycling"/></meta><body><p>Rain.</p></body></story>""",
    ),
]


def main() -> None:
    index = tamis.Index()
    index.add_many(SUBSCRIBERS)
    events = [event for event, _ in STORIES]
    documents = [document for _, document in STORIES]
    for event, ids in zip(events, index.match_batch(events, documents=documents), strict=True):
        print(f"{event['source']}, urgency {event['urgency']}: {', '.join(ids)}")
    print(index.explain("archive", events[1], document=documents[1]))

    # An XML filter also returns the nodes that it selects, for a summary or a highlight.
    quotes = xml.Filter()
    quotes.add("falls", "//quote[change < 0]/@symbol")
    for match in quotes.match(documents[1], nodes=True):
        for node in match.nodes:
            print(match.id, node.path, node.text)


if __name__ == "__main__":
    main()
