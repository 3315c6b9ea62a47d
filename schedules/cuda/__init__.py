"""Rules for cuda, in the order in which they are tried."""

from schedules.cuda.check import Check
from schedules.cuda.map import Cells, Vectors
from schedules.cuda.ordered import Ordered
from schedules.cuda.reduce import Folds
from schedules.cuda.scan import Scans
from schedules.cuda.scatter import Atomics, Direct, LastWriter
from schedules.rule import Rule

RULES: tuple[Rule, ...] = (Check(), Vectors(), Cells(), Folds(), Scans(), Direct(), LastWriter(), Ordered(), Atomics())
