"""The site's pages that are not in docs/: a MkDocs hook that mkdocs.yml names.

README.md, CONTRIBUTING.md and other documents stay where readers of the repository look for them.  Here they join the site,
README.md as its first page, and links between them and the pages in docs/ are rewritten, as all are in one folder there.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parents[2]
OUTSIDE = (
    "README.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    "SECURITY.md",
    "benchmarks/NOTES.md",
    "benchmarks/results/xeon-2core/peers.svg",
    "benchmarks/results/xeon-2core/sizes.svg",
    "tests/onnx/passing.txt",
)


def on_files(files: Files, config: Any, **_: Any) -> Files:
    for name in OUTSIDE:
        files.append(File.generated(config, name, abs_src_path=str(ROOT / name)))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    folder = Path(page.file.abs_src_path).parent
    if folder == ROOT:
        return re.sub(r"(\]\(|src=\")docs/", r"\1", markdown)
    parts = folder.relative_to(ROOT).parts
    if parts[0] != "docs":
        return markdown
    up = "../" * len(parts)  # the way to the repository's root, which is one folder further than the site's
    return markdown.replace(f"]({up}", f"]({up[3:]}")
