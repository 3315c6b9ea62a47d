"""The C of an exported library: a header for its users, and what stands between a function of C and a kernel."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from textwrap import dedent

from gscompile.deploy import text
from gscompile.deploy import weights as external
from gscompile.deploy.explain import explain
from gscompile.deploy.features import Feature
from gscompile.errors import index_changed
from gscompile.ir.dims import Dim, product, shape_str
from gscompile.ir.graph import Graph, Value
from gscompile.runtime.interface import Argument, Interface
from gscompile.runtime.weights import Weights

HERE = Path(__file__).parent
LAUNCH, SCRATCH = (HERE.parent / "runtime" / name for name in ("_launch.h", "_scratch.h"))


@dataclass(frozen=True, slots=True)
class Level:
    """A CPU that kernels were compiled for.

    Attributes:
        name: its; empty where there is one level.
        features: what it must have.
    """

    name: str
    features: tuple[Feature, ...]


@dataclass(frozen=True, slots=True)
class Function:
    """A graph as a function of C.

    Attributes:
        name: its function's.
        checks: the gather or scatter that each slot of the status record is about.
        constants: bytes of each constant.
        places: of the constants in a file; empty where they are in the library.
        names: of its parameters.
    """

    name: str
    graph: Graph
    interface: Interface
    checks: Sequence[Value]
    constants: Sequence[memoryview]
    places: Sequence[int] = ()
    names: Mapping[str, str] = field(init=False)

    def __post_init__(self) -> None:
        taken: list[str] = []
        names: dict[str, str] = {}
        faces = [("in", v.name) for v in self.interface.inputs] + [("out", v.name) for v in self.interface.outputs]
        for role, name in [*faces, *(("size", n) for n in self.interface.symbols)]:
            plain = text.identifier(name)
            names[f"{role} {name}"] = new = text.identifier(plain if plain not in taken else f"{plain}_{role}", taken)
            taken.append(new)
        object.__setattr__(self, "names", names)

    @property
    def inputs(self) -> list[tuple[str, Argument]]:
        """With their names in C."""
        return [(self.names[f"in {v.name}"], v) for v in self.interface.inputs]

    @property
    def outputs(self) -> list[tuple[str, Argument]]:
        return [(self.names[f"out {v.name}"], v) for v in self.interface.outputs]

    @property
    def sizes(self) -> list[str]:
        """The names of its sizes in C."""
        return [self.names[f"size {n}"] for n in self.interface.symbols]

    def size(self, symbol: str) -> str:
        """A size, in an array of all."""
        return f"size[{self.interface.symbols.index(symbol)}]"

    def dim(self, dim: Dim) -> str:
        """A dimension, of the sizes in that array."""
        return text.size(dim, self.size)

    @property
    def status_bytes(self) -> int:
        """Of the record at the begin of its scratch memory; none on CPUs, where it is on the stack."""
        return (8 * self.interface.kept_length + 63) // 64 * 64 if self.on_gpu else 0

    @property
    def on_gpu(self) -> bool:
        """Whether its kernels are a GPU's."""
        return self.interface.device != "cpu"

    @property
    def workspace(self) -> Dim:
        """Bytes of scratch memory."""
        return self.interface.workspace + self.status_bytes

    def parameters(self) -> str:
        """Of its function."""
        found = [f"const {text.element(v.dtype)} *{name}" for name, v in self.inputs]
        found += [f"{text.element(v.dtype)} *{name}" for name, v in self.outputs]
        found += [f"int64_t {name}" for name in self.sizes]
        return ", ".join([*found, "const gs_options *options", "gs_error *error"])

    def size_parameters(self) -> str:
        return ", ".join(f"int64_t {name}" for name in self.sizes) or "void"

    def comment(self) -> str:
        """What it takes and gives, as a comment of C."""
        lines = [f" * {name}: {v.dtype} {shape_str(v.shape)}" for name, v in self.inputs]
        for number, (name, v) in enumerate(self.outputs):
            over = self.interface.in_place.get(number)
            place = "" if over is None else f"; may be {self.inputs[over][0]}'s storage"
            lines.append(f" * {name}: {v.dtype} {shape_str(v.shape)}, written{place}")
        for c in self.interface.constraints:
            lines.append(f" * where {c.lhs} {c.relation} {c.rhs}")
        body = "\n".join(lines).replace("*/", "* /").encode("ascii", "backslashreplace").decode()
        return f"/* {self.name}\n *\n{body}\n *\n * Returns a gs_code; error may be NULL. */"


def header(functions: Sequence[Function], stem: str, made_by: str, weights: Weights | None) -> str:
    """The library's header."""
    public, guard = (HERE / "public.h").read_text(), f"{stem.upper()}_H"
    declared = [] if weights is None else [external.declaration(stem, weights)]
    for f in functions:
        if isinstance(f.workspace, int) and f.workspace < 1 << 31:
            declared.append(f"enum {{ {f.name}_workspace_bytes = {f.workspace} }}; /* for any sizes */\n")
        declared.append(f"{f.comment()}\nint {f.name}({f.parameters()});\n")
        declared.append(
            f"/* Bytes of scratch memory that {f.name} takes; -1 where sizes are wrong. */\n"
            f"int64_t {f.name}_workspace({f.size_parameters()});\n"
        )
        if f.on_gpu:
            declared.append(
                f"/* Waits for a CUstream.  The error of the first call of {f.name} with options->deferred, in the current\n"
                f" * context and since this was last asked, that found an index out of range; GS_OK for none. */\n"
                f"int {f.name}_check(void *stream, gs_error *error);\n"
            )
    body = "\n".join(declared)
    return (
        f"/* {made_by} */\n#ifndef {guard}\n#define {guard}\n\n{public}\n"
        f'#ifdef __cplusplus\nextern "C" {{\n#endif\n\n{body}\n#ifdef __cplusplus\n}}\n#endif\n#endif\n'
    )


def source(
    functions: Sequence[Function],
    levels: Sequence[Level],
    stem: str,
    manifest: bytes,
    freestanding: bool,
    weights: Weights | None,
) -> str:
    """The library's own C file."""
    system = ["freestanding.h"] if freestanding else ["libc.h", LAUNCH, SCRATCH, "hosted.h"]
    parts = [
        "#define _GNU_SOURCE\n",
        *((HERE / file).read_text() for file in ("public.h", *system, "run.h", "cpu.h")),
        f"__attribute__((used)) static const unsigned char gs_manifest[] = {{{text.bytes_of(manifest)}}};\n",
        _levels(levels),
    ]
    if weights is not None:
        parts.append(external.code(stem, weights))
    parts += [function(f, number, *_kernels(f, levels, number)) for number, f in enumerate(functions)]
    return "\n".join(parts if freestanding else [*parts, _for_loaders(functions, levels, stem)])


def public(functions: Sequence[Function], stem: str, freestanding: bool) -> list[str]:
    """The library's symbols."""
    own = [] if freestanding else [f"{stem}_lacks", f"{stem}_use_launcher"]
    ends = ("", "_workspace") if freestanding else ("", "_workspace", "_kernel", "_explain")
    return [*own, *(f"{f.name}{end}" for f in functions for end in ends)]


def constant_name(number: int, constant: int) -> str:
    """The symbol of a function's constant."""
    return f"gs_constant_{number}_{constant}"


def kernel_symbol(name: str, level: int) -> str:
    """What a kernel is called in the object file of a level."""
    return f"gs_kernel_{name}_{level}"


def _levels(levels: Sequence[Level]) -> str:
    lists = []
    for k, level in enumerate(levels):
        rows = ", ".join(f"{{{text.string(f.name)}, {f.leaf}, {f.word}, {f.bit}, {f.state}}}" for f in level.features)
        lists.append(f"static const GsFeature gs_level_{k}[] = {{{rows}{', ' if rows else ''}{{NULL, 0, 0, 0, 0}}}};")
    names = ", ".join(f"gs_level_{k}" for k in range(len(levels)))
    return "\n".join(lists) + dedent(
        f"""
        static const GsFeature *const gs_levels[] = {{{names}}}; /* the best first */

        static int gs_find_level(void) {{
            int best = 0;
            while (best < {len(levels)} && gs_lacks(gs_levels[best]) != NULL)
                ++best;
            return best;
        }}

        /* The number of the best level that this CPU has; {len(levels)} where it has none. */
        static int gs_level(void) {{
            static atomic_int known; /* plus 1 */
            int level = atomic_load(&known);
            if (level == 0)
                atomic_store(&known, level = gs_find_level() + 1);
            return level - 1;
        }}
        """
    )


def _for_loaders(functions: Sequence[Function], levels: Sequence[Level], stem: str) -> str:
    """What a process calls that loads the library and runs its kernels itself."""
    count = len(levels)
    parts = [
        f"""
        /* What the CPU lacks, NULL for nothing. */
        GS_PUBLIC const char *{stem}_lacks(void);
        GS_PUBLIC const char *{stem}_lacks(void) {{
            return gs_level() < {count} ? NULL : gs_lacks(gs_levels[{count} - 1])->name;
        }}

        /* Who runs tasks of kernels that are called directly. */
        GS_PUBLIC void {stem}_use_launcher(GsLaunch launcher);
        GS_PUBLIC void {stem}_use_launcher(GsLaunch launcher) {{ atomic_store(&gs_elsewhere, launcher); }}
        """
    ]
    parts += [
        f"""
        GS_PUBLIC GsKernel {f.name}_kernel(void);
        GS_PUBLIC GsKernel {f.name}_kernel(void) {{ return gs_level() < {count} ? gs_kernels_{number}[gs_level()] : NULL; }}

        GS_PUBLIC void {f.name}_explain(int32_t check, int64_t at, int64_t number, const int64_t *size, gs_error *error);
        GS_PUBLIC void {f.name}_explain(int32_t check, int64_t at, int64_t number, const int64_t *size, gs_error *error) {{
            gs_explain_{number}(check, at, number, size, error);
        }}
        """
        for number, f in enumerate(functions)
    ]
    return "\n".join(map(dedent, parts))


def arguments(f: Function) -> int:
    """How many a kernel has, beside constants."""
    return len(f.interface.inputs) + len(f.interface.outputs) + 2 + f.on_gpu + len(f.interface.symbols) + 2


def _kernels(f: Function, levels: Sequence[Level], number: int) -> tuple[str, str]:
    """The kernels of a graph for CPUs, and what runs them."""
    kernels = [kernel_symbol(f.name, level) for level in range(len(levels))]
    declared = "\n".join(f"int {k}(void *, GsAny *, int32_t, GsAny *);" for k in kernels)
    count = arguments(f)
    if f.constants:
        declared += _constants(f, number)
        adapted = [f"gs_adapted_{number}_{k}" for k in range(len(kernels))]
        for own, kernel in zip(adapted, kernels, strict=True):
            given = f"{kernel}, {len(f.interface.inputs)}, constants, {len(f.constants)}"
            declared += (
                f"\nstatic int {own}(void *self, GsAny *args, int32_t count, GsAny *result) {{\n"
                f"    GsAny all[{count + len(f.constants)}];\n    const void *constants[{len(f.constants)}];\n    (void)self;\n"
                f"    if (gs_constants_{number}(constants) != 0)\n        return -1;\n"
                f"    return gs_with_constants({given}, all, args, count, result);\n}}"
            )
        kernels = adapted
    declared += f"\nstatic const GsKernel gs_kernels_{number}[] = {{{', '.join(kernels)}}};"
    shown, last = text.string(f.interface.name), len(levels)
    run = (
        f"    if (gs_level() == {last})\n"
        f'        GS_FAIL(error, GS_CPU, "%s: this CPU lacks %s", {shown}, gs_lacks(gs_levels[{last} - 1])->name);\n'
        f"    GsKernel kernel = gs_kernels_{number}[gs_level()];\n"
        f"    return gs_run(&gs_graph_{number}, kernel, arrays, size, workspace, options, args, status, error);"
    )
    return declared, run


def function(f: Function, number: int, declared: str, run: str) -> str:
    """A graph's function.

    Args:
        declared: what ``run`` refers to.
        run: its last statements, once its arguments were found good.
    """
    face = f.interface
    shown = text.string(face.name)
    changed = text.string(str(index_changed(face.name)))
    return dedent(
        """
        {declared}

        {explain}

        static const GsGraph gs_graph_{number} = {{{shown}, {inputs}, {outputs}, {sizes}, {checks},
                                                   gs_explain_{number}, {changed}}};

        /* Bytes of scratch memory; sets bad where sizes are negative or too large. */
        static int64_t gs_workspace_{number}(const int64_t *size, int *bad_) {{
            int bad = 0;
            for (int k = 0; k < {sizes}; ++k)
                bad |= size[k] < 0;
            int64_t workspace = bad ? -1 : {workspace};
            *bad_ |= bad;
            return bad ? -1 : workspace;
        }}

        GS_PUBLIC int64_t {name}_workspace({size_parameters});
        GS_PUBLIC int64_t {name}_workspace({size_parameters}) {{
            int bad = 0;
            const int64_t size[] = {{{size_list}}};
            return gs_workspace_{number}(size, &bad);
        }}

        GS_PUBLIC int {name}({parameters});
        GS_PUBLIC int {name}({parameters}) {{
            int bad = 0;
            const int64_t size[] = {{{size_list}}};
            int64_t workspace = gs_workspace_{number}(size, &bad);
        {negative}
            if (bad)
                GS_FAIL(error, GS_SIZE, "%s: sizes are too large", {shown});
        {rules}
            const GsArray arrays[] = {{
        {arrays}
            }};
            if (bad)
                GS_FAIL(error, GS_SIZE, "%s: a tensor would have more than 2^63 - 1 bytes", {shown});
        {find_weights}
            GsAny args[{count}];
            int64_t status[{status}];
        {run}
        }}
        """
    ).format(
        declared=declared,
        explain=explain(number, f.checks, face.symbols, f.size, f.dim),
        number=number,
        name=f.name,
        run=run,
        shown=shown,
        inputs=len(face.inputs),
        outputs=len(face.outputs),
        sizes=len(face.symbols),
        checks=face.checks,
        changed=changed,
        workspace=f.dim(f.workspace),
        size_parameters=f.size_parameters(),
        size_list=", ".join(f.sizes) or "0",
        parameters=f.parameters(),
        negative=_negative(f),
        rules=_rules(f),
        arrays=_arrays(f),
        count=arguments(f),
        status=face.status_length,
        find_weights=external.FIND if f.places else "",
    )


def _constants(f: Function, number: int) -> str:
    """The function that says where a graph's constants are; 0 where they are there."""
    head = f"\nstatic int gs_constants_{number}(const void **constants) {{\n"
    if f.places:
        places = ", ".join(f"{place}u" for place in f.places)
        found = f"gs_find_constants(places, {len(f.places)}, constants)"
        return f"{head}    static const uint64_t places[] = {{{places}}};\n    return {found};\n}}"
    symbols = [constant_name(number, k) for k in range(len(f.constants))]
    declared = "".join(f"\nextern const unsigned char {s}[];" for s in symbols)
    given = "".join(f"    constants[{k}] = {s};\n" for k, s in enumerate(symbols))
    return f"{declared}{head}{given}    return 0;\n}}"


def _negative(f: Function) -> str:
    """A size of less than 0 is named."""
    lines = []
    for symbol, name in zip(f.interface.symbols, f.sizes, strict=True):
        message = text.string(f"{f.interface.name}: size {symbol} is ")
        lines.append(f'    if ({name} < 0)\n        GS_FAIL(error, GS_SIZE, "%s%lld", {message}, (long long){name});')
    return "\n".join(lines)


def _rules(f: Function) -> str:
    """What sizes must satisfy."""
    lines = []
    for c in f.interface.constraints:
        rule = "equal to" if c.relation == "==" else "at most"
        says = text.string(f"{c.message}: must be {rule} {c.rhs} = ")
        got = text.string(f"; got {c.lhs} = ")
        lines.append(
            "    {\n"
            f"        int64_t a = {f.dim(c.lhs)}, b = {f.dim(c.rhs)};\n"
            f"        if (bad || !(a {c.relation} b))\n"
            f'            GS_FAIL(error, GS_SIZE, "%s%lld%s%lld", {says}, (long long)b, {got}, (long long)a);\n'
            "    }"
        )
    return "\n".join(lines)


def _arrays(f: Function) -> str:
    """Rows of the inputs and outputs."""
    rows = []
    for k, (name, v) in enumerate([*f.inputs, *f.outputs]):
        over = f.interface.in_place.get(k - len(f.inputs), -1) if k >= len(f.inputs) else -1
        # an extent of 0 makes any tensor empty, and code computes the strides
        nbytes = f.dim(product(v.shape) * v.dtype.itemsize)
        rows.append(
            f"        {{{text.string(name)}, {name}, {nbytes}, {max(text.alignment(v.dtype), f.interface.alignment)}, {over}}},"
        )
    return "\n".join(rows)
