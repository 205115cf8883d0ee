"""XPath filters: which of many standing XPath expressions does an XML document satisfy?

>>> from tamis import xml
>>> filters = xml.Filter()
>>> filters.add("cheap", "//product[@id]/price[. < 300]")
>>> filters.add("final", "not(//draft)")
>>> filters.match(b"<catalog><product id='1'><price>299</price></product></catalog>")
['cheap', 'final']
>>> print(filters.explain("cheap", "<catalog><product><price>1</price></product></catalog>"))
false    //product[@id]/price[. < 300]    -- its steps select 0 nodes
"""

from typing import Literal, TypeAlias

from tamis._tamis import Filter, FilterSubscription
from tamis._tamis import XmlExplanation as Explanation
from tamis._tamis import XmlLimits as Limits
from tamis._tamis import XmlMatch as Match
from tamis._tamis import XmlNode as Node
from tamis._tamis import XmlStream as Stream

Engine: TypeAlias = Literal[
    "auto", "yfilter", "yfilter-unsorted", "yfilter-inline", "hybrid", "xfilter", "scan"
]

open = Filter.open

__all__ = [
    "Engine",
    "Explanation",
    "Filter",
    "FilterSubscription",
    "Limits",
    "Match",
    "Node",
    "Stream",
    "open",
]
