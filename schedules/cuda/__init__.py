"""Rules for cuda, in the order in which they are tried."""

from gscompile.schedules.cuda.bags import Bags
from gscompile.schedules.cuda.check import Check
from gscompile.schedules.cuda.copies import Copies
from gscompile.schedules.cuda.elements import Elements
from gscompile.schedules.cuda.last_writer import LastWriter
from gscompile.schedules.cuda.listed import Listed
from gscompile.schedules.cuda.map import Cells
from gscompile.schedules.cuda.ordered import Ordered
from gscompile.schedules.cuda.privatised import Privatised
from gscompile.schedules.cuda.reduce import Columns, Folds, Rows, in_order
from gscompile.schedules.cuda.rows import SerialRows
from gscompile.schedules.cuda.scan import Scans
from gscompile.schedules.cuda.scatter import Atomics, Direct
from gscompile.schedules.cuda.segments import Segments
from gscompile.schedules.cuda.sorted_elements import SortedElements
from gscompile.schedules.cuda.sorted_rows import SortedRows
from gscompile.schedules.fold_parts import FoldParts
from gscompile.schedules.rule import Rule

RULES: tuple[Rule, ...] = (
    Check(),
    Copies(),
    Elements(),
    Cells(),
    FoldParts(in_order, even=False),
    Rows(),
    Bags(),
    Columns(),
    Folds(),
    Scans(),
    SerialRows(),
    Segments(),
    Direct(),
    LastWriter(),
    Listed(),
    Ordered(),
    SortedElements(),
    SortedRows(),
    Privatised(),
    Atomics(),
)
