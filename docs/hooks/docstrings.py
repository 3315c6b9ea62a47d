"""Docstrings as Markdown, for the API reference: a Griffe extension that mkdocs.yml names.

In the code, docstrings use a few forms that read well in an editor and that ``help()`` shows as they are, but that Markdown would
run together.  Here they are rewritten while the pages are built:

* roles, ``:meth:`~x.y``` and the like, become links.  A name is looked up where it stands, then outwards, then as a full path.
  One that does not exist is a warning, so ``mkdocs build --strict`` fails; what exists but is on no page stays plain code;
* ``name: text`` at the beginning of a line and ````name``  text`` become items of a list;
* ``::`` before indented code becomes a colon;
* errors that share the lines of a ``Raises:`` section become an entry each;
* a rule's "See the module's text" is followed by that text, as the page of rules shows no modules.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

import griffe

logger = griffe.get_logger(__name__)

ROLE = re.compile(r":(?:attr|class|data|func|meth|mod):`(~?)([\w.]+)`")
PARAMETER = re.compile(r"^([a-z_]+(?:, [a-z_]+)*)((?: \([^)]*\))?): ")
TERM = re.compile(r"^(``\w+``)  +")
ERROR = re.compile(r"[A-Z]\w*Error\b")
BETWEEN_ERRORS = re.compile(rf"(?<=[.;,])\s+(?={ERROR.pattern})")
MODULE = "See the module's text"


class Docstrings(griffe.Extension):
    """Rewrites the docstrings of a package once all of it is loaded, when names can be looked up."""

    def on_package(self, *, pkg: griffe.Module, loader: griffe.GriffeLoader, **_: Any) -> None:
        for obj in objects(pkg):
            if obj.docstring:
                if obj.module.docstring and obj.docstring.value.startswith(MODULE):
                    obj.docstring.value = obj.module.docstring.value
                text = ROLE.sub(lambda m, obj=obj: link(obj, m[2], bool(m[1]), loader), obj.docstring.value)  # type: ignore[misc]
                lines = (line[:-1] if line.endswith("::") else line for line in text.splitlines())
                obj.docstring.value = "\n".join(listed(errors_apart(lines)))


def objects(obj: griffe.Object) -> Iterator[griffe.Object]:
    """An object and all that is defined in it."""
    yield obj
    for member in obj.members.values():
        if not member.is_alias:
            yield from objects(member)  # type: ignore[arg-type]


def link(obj: griffe.Object, name: str, short: bool, loader: griffe.GriffeLoader) -> str:
    """A role's Markdown."""
    shown = name.rpartition(".")[2] if short else name
    scope: Any = obj
    while scope is not None:
        if found := resolved(loader, f"{scope.path}.{name}"):
            return reference(found, shown)
        scope = scope.parent
    if found := resolved(loader, name):
        return reference(found, shown)
    if name.partition(".")[0] != "gscompile" or name.startswith(f"{obj.package.path}."):
        logger.warning("%s: no such name: %s", obj.path, name)
    return f"[`{shown}`][{name}]"  # of the other package: MkDocs warns where no page has it


def resolved(loader: griffe.GriffeLoader, path: str) -> str | None:
    """Where an object of the loaded packages is defined, by a path that may be inherited or imported; None if there is none."""
    try:
        found: str = loader.modules_collection[path].canonical_path
    except (KeyError, ValueError, griffe.AliasResolutionError):
        return None
    return found


def reference(path: str, shown: str) -> str:
    """A link to an object if it is on a page, else its name."""
    return f'<autoref optional identifier="{path}"><code>{shown}</code></autoref>'


def errors_apart(lines: Iterable[str]) -> Iterator[str]:
    """The lines, with an entry for each error in a ``Raises:`` section; what goes on in the next line is indented further."""
    inside = first = False
    for line in lines:
        if line.startswith("Raises:"):
            inside = first = True
            yield line
            continue
        inside = inside and line.startswith("    ")
        for part in BETWEEN_ERRORS.split(line) if inside else ():
            entry = part.strip()
            if first or ERROR.match(entry):
                yield f"    {entry}" if ":" in entry else f"    {entry.rstrip(',.;')}:"
            else:
                yield f"        {entry}"
            first = False
        if not inside:
            yield line


def listed(lines: Iterable[str]) -> Iterator[str]:
    """The lines, with those that begin with what they are about made items of a list, until a paragraph begins."""
    item = False
    for line in lines:
        begun = PARAMETER.match(line) or TERM.match(line)
        if begun:
            if not item:
                yield ""  # a list begins after an empty line
            about = begun[1] if begun.re is TERM else f"`{begun[1]}`{begun[2]}"
            yield f"- {about}: {line[begun.end() :]}"
        elif item and line.strip():
            yield f"    {line}"
        else:
            yield line
        item = bool(begun) or (item and bool(line.strip()))
