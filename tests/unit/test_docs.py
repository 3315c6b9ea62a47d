"""The documents against the code: programs run, tables are complete, and every path, name and link leads somewhere."""

from __future__ import annotations

import importlib
import pkgutil
import re
from pathlib import Path
from typing import Any

import pytest

import gscompile as gs
import gscompile.dialects
from gscompile.ir.ops.reductions import REDUCTIONS
from gscompile.ir.types import DTYPES

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(DOCS.glob("*.md"))]
REFERENCE = sorted((DOCS / "reference").rglob("*.md"))
WRITTEN = {"conformance.md", "onnx.md"}  # by programs, with tests of their own; onnx.md's example needs a package
WITHOUT_PROGRAM = {"README.md", "CONTRIBUTING.md", "glossary.md", *WRITTEN}  # which a page about a concept ends in
METHODS = {n for n in dir(gs.Builder) if not n.startswith("_") and callable(getattr(gs.Builder, n))}
AROUND = {"input", "create_input", "output", "graph", "build", "prim_func", "check_status"}


def text(page: str) -> str:
    return (DOCS / page).read_text()


def relative(path: Path) -> str:
    return str(path.relative_to(ROOT))


def prose(markdown: str) -> str:
    """What is outside of programs."""
    return re.sub(r"^```.*?^```", "", markdown, flags=re.S | re.M)


def code_in(markdown: str) -> str:
    """What stands between backticks outside of programs."""
    return " ".join(re.findall(r"`([^`\n]+)`", prose(markdown)))


def words(markdown: str) -> set[str]:
    """The names in code, calls and operators included."""
    return set(re.findall(r"[a-z][a-z_0-9]*", code_in(markdown)))


# -- programs ---------------------------------------------------------------------------------------------------------

PROGRAMS = [
    pytest.param(relative(p), code, id=f"{p.stem}{k}")
    for p in PAGES
    if p.name not in WRITTEN
    for k, code in enumerate(re.findall(r"```python\n(.*?)```", p.read_text(), re.S))
]


@pytest.mark.parametrize("page,code", PROGRAMS)
def test_programs_run(page: str, code: str, capsys: pytest.CaptureFixture[str]) -> None:
    if re.search(r"^(from|import) onnx", code, re.M):
        pytest.importorskip("onnx", reason="the extra [onnx] is not installed")
    exec(compile(code, page, "exec", dont_inherit=True), {"__name__": "program"})
    assert capsys.readouterr().out


@pytest.mark.parametrize("path", [p for p in PAGES if p.name not in WITHOUT_PROGRAM], ids=lambda p: p.stem)
def test_a_page_about_a_concept_ends_in_a_program(path: Path) -> None:
    assert re.search(r"\n```python\n(?:(?!\n```).)*\n```\s*\Z", path.read_text(), re.S)


# -- tables -----------------------------------------------------------------------------------------------------------


def test_the_table_of_operators_is_complete() -> None:
    assert AROUND < METHODS
    assert METHODS - AROUND - words(text("operators.md").split("What the index-based")[0]) == set()


def test_the_table_of_operators_names_nothing_else() -> None:
    rows = [line.split("|") for line in text("operators.md").splitlines() if line.startswith("| `")]
    called = {n for row in rows for n in re.findall(r"`([a-z_]+)[(`]", row[1])}
    assert called and called <= METHODS


def test_policies_reductions_and_dtypes() -> None:
    assert {b.value for b in gs.Bounds} == set(re.findall(r'^\| `"([a-z]+)"`', text("bounds.md"), re.M))
    rows = re.findall(r'^\| `("[a-z" ]+")', text("duplicates.md"), re.M)
    assert set(REDUCTIONS) == set(re.findall(r"[a-z]+", " ".join(rows)))
    named = words(text("dtypes.md"))
    assert all(d in named or d.startswith(("int", "uint")) for d in DTYPES)


def test_every_dialect_has_its_pages() -> None:
    dialects = {m.name for m in pkgutil.iter_modules(gscompile.dialects.__path__) if not m.name.startswith("_")}
    assert {p.stem for p in (DOCS / "reference" / "dialects").glob("*.md")} == dialects
    assert dialects == set(re.findall(r"\[(\w+)\]\(reference/dialects/\1.md\)", text("dialects.md")))


@pytest.mark.parametrize("name", sorted(METHODS))
def test_every_method_says_what_it_does(name: str) -> None:
    assert (getattr(gs.Builder, name).__doc__ or "").strip()


# -- paths, names and links -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", [*PAGES, *REFERENCE], ids=relative)
def test_paths_exist(path: Path) -> None:
    named = re.findall(
        r"(?:gscompile|schedules|tests|docs|benchmarks|tutorials|\.ci)/[\w./-]*", code_in(path.read_text())
    )
    missing = [n for n in named if "NAME" not in n and not (ROOT / n).exists()]
    assert not missing


def found(name: str) -> bool:
    """Whether a dotted name is a module, or what stands in one."""
    parts = name.split(".")
    for k in range(len(parts), 0, -1):
        try:
            here: Any = importlib.import_module(".".join(parts[:k]))
        except ModuleNotFoundError:
            continue
        except gs.MissingExtraError:
            return True  # nothing can be said of it here
        for part in parts[k:]:
            if part in getattr(here, "__annotations__", {}):
                return True
            if not hasattr(here, part):
                return False
            here = getattr(here, part)
        return True
    return False


@pytest.mark.parametrize("path", [*PAGES, *REFERENCE], ids=relative)
def test_names_exist(path: Path) -> None:
    markdown = path.read_text()
    named = re.findall(r"(?<![\w./'\[])(?:gscompile|schedules|gs)(?:\.[A-Za-z_]\w*)+", code_in(markdown))
    named += re.findall(r"^::: (\S+)", markdown, re.M)
    missing = [n for n in named if not found(re.sub(r"^gs\.", "gscompile.", n))]
    assert not missing


def slug(heading: str) -> str:
    """The anchor of a heading, as GitHub and MkDocs make it."""
    own = re.search(r"\{ #(\S+) \}", heading)
    return own[1] if own else re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


def anchors(path: Path) -> set[str]:
    return {slug(h) for h in re.findall(r"^#+ (.*)$", path.read_text(), re.M)}


@pytest.mark.parametrize("path", [*PAGES, *REFERENCE, ROOT / "benchmarks" / "NOTES.md"], ids=relative)
def test_links_lead_somewhere(path: Path) -> None:
    for target, anchor in re.findall(r"\]\((?!https?:)([^)#\s]*)(?:#([^)\s]+))?\)", prose(path.read_text())):
        there = path.parent / target if target else path
        assert there.exists(), target
        assert not anchor or anchor in anchors(there), f"{target}#{anchor}"


def test_the_site_has_every_page() -> None:
    nav = (ROOT / "mkdocs.yml").read_text().split("\nnav:")[1]
    listed = set(re.findall(r"([\w./-]+\.md)", nav))
    pages = {str(p.relative_to(DOCS)) for p in DOCS.rglob("*.md")}
    assert pages | {"README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md", "benchmarks/NOTES.md"} == listed
