"""Rules for llvm, in the order in which they are tried."""

from schedules.llvm.check import Check
from schedules.llvm.copies import Copies
from schedules.llvm.map import Rows
from schedules.llvm.reduce import Columns, Folds
from schedules.llvm.scatter import OwnerComputes
from schedules.rule import Rule

RULES: tuple[Rule, ...] = (Check(), Copies(), Rows(), Columns(), Folds(), OwnerComputes())
