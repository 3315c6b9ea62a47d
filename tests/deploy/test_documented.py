"""What docs/deploy.md shows beside Python: build files and a script, as they stand there."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

import pytest

import gscompile as gs
from gscompile.deploy import webassembly
from tests.deploy.libraries import adding, run, tool
from tests.deploy.test_webassembly import TARGET

TEXT = (Path(__file__).parents[2] / "docs" / "deploy.md").read_text()
PROGRAM = """#include <stdio.h>
#include "%s"
int main(void) {
    static float x[1000 * 8], s[3 * 8], out[1000 * 8];
    static int64_t i[3] = {5, -1, 5};
    s[2 * 8] = 3;
    if (net(x, i, s, out, 3, 1000, NULL, NULL) != GS_OK)
        return 1;
    printf("%%g\\n", (double)out[5 * 8]);
    return 0;
}
"""
NODE = """
const fs = require("fs");
globalThis.fetch = async name => new Response(fs.readFileSync(name), { headers: { "Content-Type": "application/wasm" } });
(async () => {
    try {
        %s
        console.log(...new Float32Array(memory.buffer, out, 128));
    } catch (error) { console.log(error.message); }
})();
"""
FILL = "new Float32Array(memory.buffer, table, 6400).forEach((_, k, all) => all[k] = k);\n"


def block(language: str) -> str:
    """The one of this language."""
    (found,) = re.findall(rf"^```{language}\n(.*?)^```$", TEXT, re.M | re.S)
    return str(found)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A program's, with the libraries that it needs."""
    module = adding().build()
    for name in ("net.so", "net.a"):
        module.export(tmp_path / name)
    (tmp_path / "app.c").write_text(PROGRAM % "net.h")
    return tmp_path


def test_make(folder: Path) -> None:
    (folder / "Makefile").write_text(block("make"))
    for program in ("app", "app-static"):
        run([tool("make"), program], cwd=folder)
        assert run([folder / program], cwd="/") == "3\n"


def test_cmake(folder: Path) -> None:
    (folder / "CMakeLists.txt").write_text(block("cmake"))
    run([tool("cmake"), "-S", folder, "-B", folder / "build"])
    run([tool("cmake"), "--build", folder / "build"])
    assert run([folder / "build" / "app"], cwd="/") == "3\n"


def test_pkg_config(tmp_path: Path) -> None:
    (shown,) = re.findall(r"^    # net\.pc, for `(cc .*?)`;.*\n((?:    .*\n)+)", TEXT, re.M)
    command, lines = shown
    prefix = tmp_path / "prefix"
    for name in ("lib", "include"):
        (prefix / name).mkdir(parents=True)
    library, header = adding().build().export(prefix / "lib" / "libnet.so")
    shutil.move(header, prefix / "include")
    (tmp_path / "net.pc").write_text(lines.replace("/usr/local", str(prefix)).replace("    ", ""))
    (tmp_path / "app.c").write_text(PROGRAM % "libnet.h")
    tool("pkg-config")
    environment = {**os.environ, "PKG_CONFIG_PATH": str(tmp_path), "LD_LIBRARY_PATH": str(library.parent)}
    assert run(["sh", "-c", f"{command} -o app && ./app"], cwd=tmp_path, env=environment) == "3\n"


def test_a_script_of_webassembly(tmp_path: Path) -> None:
    node = tool("node")
    if lacks := webassembly.missing():
        pytest.skip(f"{', '.join(lacks)} of LLVM are not installed")
    b = gs.Builder("lookup")
    b.output(b.take(b.input("table", ("n", 64), "float32"), b.input("i", ("k",), "int64")))
    b.build(TARGET).export(tmp_path / "lookup.wasm")
    script, given = block("js"), "[3n, -1n]"
    assert given in script
    for indices, said in {
        "[3n, -1n]": " ".join(str(64 * row + column) for row in (3, 99) for column in range(64)),
        "[3n, 100n]": "take_2: i[1] = 100 is out of range for axis 0 of data (100, 64): valid are -100 to 99",
    }.items():
        shown = script.replace(given, indices).replace("new BigInt64Array", f"{FILL}new BigInt64Array")
        (tmp_path / "script.js").write_text(NODE % shown)
        assert run([node, "script.js"], cwd=tmp_path) == f"{said}\n"
