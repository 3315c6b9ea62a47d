"""Rules for llvm, in the order in which they are tried."""

from schedules.llvm.check import Check
from schedules.llvm.chunked import Chunked
from schedules.llvm.copies import Copies
from schedules.llvm.elements import PackedColumns, PickedRows
from schedules.llvm.map import Rows
from schedules.llvm.owned import OwnedRows
from schedules.llvm.privatised import Privatised
from schedules.llvm.reduce import Columns, Folds
from schedules.llvm.scan import Scans
from schedules.llvm.scatter import OwnerComputes
from schedules.rule import Rule

RULES: tuple[Rule, ...] = (
    Check(),
    Copies(),
    PickedRows(),
    PackedColumns(),
    Rows(),
    Columns(),
    Folds(),
    Scans(),
    Privatised(),
    Chunked(),
    OwnedRows(),
    OwnerComputes(),
)
