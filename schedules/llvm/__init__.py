"""Rules for llvm, in the order in which they are tried."""

from gscompile.schedules.fold_parts import FoldParts
from gscompile.schedules.llvm.bags import Bags
from gscompile.schedules.llvm.check import Check
from gscompile.schedules.llvm.chunked import Chunked
from gscompile.schedules.llvm.copies import Copies
from gscompile.schedules.llvm.listed import ListedRows
from gscompile.schedules.llvm.map import Rows
from gscompile.schedules.llvm.owned import OwnedRows
from gscompile.schedules.llvm.packed_columns import PackedColumns
from gscompile.schedules.llvm.picked_rows import PickedRows
from gscompile.schedules.llvm.privatised import Privatised
from gscompile.schedules.llvm.reduce import Columns, Folds, in_order
from gscompile.schedules.llvm.rows import SerialRows
from gscompile.schedules.llvm.scan import Scans
from gscompile.schedules.llvm.scatter import OwnerComputes
from gscompile.schedules.rule import Rule

RULES: tuple[Rule, ...] = (
    Check(),
    Copies(),
    PickedRows(),
    PackedColumns(),
    ListedRows(),
    Rows(),
    FoldParts(in_order, even=True),
    Bags(),
    Columns(),
    Folds(),
    Scans(),
    SerialRows(),
    Privatised(),
    Chunked(),
    OwnedRows(),
    OwnerComputes(),
)

# those that use no local buffers but small ones, and gain nothing by threads
SERIAL_RULES: tuple[Rule, ...] = (
    Check(),
    Copies(),
    Rows(),
    FoldParts(in_order, even=True),
    Bags(),
    Columns(),
    Folds(),
    Scans(),
    SerialRows(),
    OwnerComputes(),
)
