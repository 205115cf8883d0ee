"""An ad exchange as a graph: an impression reaches buyers over networks that all accept it.

Publishers sell to networks, networks to other networks, and those to advertisers. Each has a
condition, and so may each contract (edge). An advertiser may buy an impression if there is a path
to it on which everybody accepts it; a contract's fee is the cost of its edge.
"""

import tamis

NODES = [
    ("news.example", None),
    ("blog.example", None),
    ("EuroNet", "country in ('DE', 'FR', 'NL') and not category = 'gambling'"),
    ("SportNet", "topic = 'sports' and viewable >= 0.6"),
    ("AudioNet", "format = 'audio'"),
    ("shoes", "topic in ('sports'^5, 'fashion'^3) and age between 16 and 40"),
    ("airline", "country = 'DE'^4 and device != 'tv'"),
    ("bank", "age >= 18^2 and exists(consent)"),
]
EDGES = [
    # seller, buyer, contract, fee
    ("news.example", "EuroNet", None, 0.10),
    ("news.example", "SportNet", "hour between 6 and 22", 0.25),
    ("blog.example", "AudioNet", None, 0.05),
    ("EuroNet", "airline", None, 0.20),
    ("EuroNet", "SportNet", "adsize = '300x250'", 0.05),
    ("SportNet", "shoes", None, 0.30),
    ("EuroNet", "bank", "adsize in ('300x250', '728x90')", 0.40),
    ("AudioNet", "bank", None, 0.10),
]


def build() -> tamis.Graph:
    exchange = tamis.Graph()
    for name, expression in NODES:
        exchange.add_node(name, expression)
    for seller, buyer, contract, fee in EDGES:
        exchange.add_edge(seller, buyer, expression=contract, cost=fee)
    return exchange


def main() -> None:
    exchange = build()
    impression = {
        "country": "DE",
        "topic": "sports",
        "category": "news",
        "age": 31,
        "viewable": 0.7,
        "hour": 23,
        "adsize": "300x250",
        "device": "phone",
    }
    buyers = exchange.match(impression, source="news.example", sinks_only=True)
    print("may buy:", ", ".join(sorted(buyers)))
    for delivery in exchange.top(impression, source="news.example", n=2):
        path = " > ".join(delivery.path)
        print(f"{delivery.id}: worth {delivery.score:g}, fees {delivery.cost:.2f}, over {path}")
    print(exchange.explain(impression, source="news.example", target="bank"))

    exchange.remove_edge("EuroNet", "SportNet")  # a contract ends; the next match sees it
    print("may buy:", ", ".join(exchange.match(impression, source="news.example", sinks_only=True)))


if __name__ == "__main__":
    main()
