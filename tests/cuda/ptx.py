"""Inline assembly in CUDA source, as C++ that calls the runtime.

An ``asm`` statement of one instruction becomes a block of C++ with the same effect; operands that are written must be variables.
What is not in the tables here becomes a call of ``unknown_instruction``, which does not exist: the compiler refuses it.
"""

from __future__ import annotations

import re

_STATEMENT = re.compile(r"\basm\s*(?:volatile)?\s*\(\s*((?:\"(?:[^\"\\]|\\.)*\"\s*)+)(.*?)\)\s*;", re.S)
_OPERAND = re.compile(r'"([=+]?)(\w)"\s*\(')
_TYPES = {
    "f64": "double",
    "f32": "float",
    "f16": "__half",
    "bf16": "__nv_bfloat16",
    "f16x2": "__half2",
    "bf16x2": "__nv_bfloat162",
    "u64": "unsigned long long",
    "b64": "unsigned long long",
    "s64": "long long",
    "u32": "unsigned",
    "b32": "unsigned",
    "s32": "int",
    "u16": "unsigned short",
    "b16": "unsigned short",
    "s16": "short",
    "u8": "unsigned char",
    "b8": "unsigned char",
    "s8": "signed char",
}
_ATOMICS = {
    "add": "atomicAdd",
    "min": "atomicMin",
    "max": "atomicMax",
    "and": "atomicAnd",
    "or": "atomicOr",
    "xor": "atomicXor",
}
_ATOMICS |= {"exch": "atomicExch", "inc": "atomicInc", "dec": "atomicDec"}
_NOTHING = ("prefetch", "applypriority", "discard", "createpolicy", "griddepcontrol")


def without_assembly(source: str) -> str:
    """The source with C++ in place of its ``asm`` statements."""
    return _STATEMENT.sub(lambda m: _translated(m[1], m[2]), source)


def _translated(template: str, operands: str) -> str:
    text = "".join(re.findall(r'"((?:[^"\\]|\\.)*)"', template)).replace("\\n", "\n").replace("\\t", " ")
    arguments = _arguments(operands)
    lines = [line.strip() for line in re.split(r"[;\n]", text) if line.strip() not in ("", "{", "}")]
    return "{ " + " ".join(_instruction(line, arguments) for line in lines) + " }"


def _arguments(operands: str) -> list[str]:
    """The C++ expressions, in order."""
    found = []
    for m in _OPERAND.finditer(operands):
        depth, end = 1, m.end()
        while depth:
            depth += {"(": 1, ")": -1}.get(operands[end], 0)
            end += 1
        found.append(operands[m.end() : end - 1].strip())
    return found


def _instruction(line: str, arguments: list[str]) -> str:
    head, _, rest = line.partition(" ")
    parts = head.split(".")
    words = [w.strip() for w in re.findall(r"\{[^}]*\}|[^,{]+", rest) if w.strip()]

    def value(word: str) -> str:
        word = word.strip().strip("[]").strip()
        base, _, offset = word.partition("+")
        base = re.sub(r"^%(\d+)$", lambda m: f"({arguments[int(m[1])]})", base.strip())
        return f"((size_t){base} + {offset})" if offset else base  # in bytes

    def vector(word: str) -> list[str]:
        return [value(w) for w in word.strip("{} ").split(",")]

    if parts[0] in _NOTHING:
        return ";"
    if parts[:2] == ["cp", "async"]:
        return _copy(parts, [value(w) for w in words])
    if parts[0] in ("membar", "fence"):
        return "gs_fence(1);"
    ctype = _TYPES.get(parts[-1])
    if parts[0] in ("ld", "st", "red", "atom") and ctype and not {"const", "param", "local"} & set(parts):
        return _memory(parts, ctype, words, value, vector)
    if parts[0] == "dp4a":
        to, a, b, c = (value(w) for w in words)
        return f"gs_move({to}, gs_dp4a<{_TYPES[parts[1]]}, {_TYPES[parts[2]]}>({a}, {b}, {c}));"
    return _unknown(line)


def _unknown(line: str) -> str:
    return f'unknown_instruction("{line}");'


def _copy(parts: list[str], values: list[str]) -> str:
    if "commit_group" in parts:
        return "gs_commit_group();"
    if "wait_group" in parts:
        return f"gs_wait_group({values[0]});"
    if "wait_all" in parts:
        return "gs_commit_group(); gs_wait_group(0);"
    to, source, size, *read = values
    return f"gs_copy_async(gs_shared_pointer({to}), (const void*)({source}), {size}, {read[0] if read else size});"


def _memory(parts: list[str], ctype: str, words: list[str], value, vector) -> str:  # type: ignore[no-untyped-def]
    strong = {"volatile", "relaxed", "acquire", "release"} & set(parts)
    width = next((int(p[1:]) for p in parts if re.fullmatch(r"v[248]", p)), 1)
    shared = any(p.startswith("shared") for p in parts)
    address = words[1] if parts[0] in ("ld", "atom") else words[0]
    pointer = f"gs_shared_pointer({value(address)})" if shared else f"({value(address)})"
    elements = [f"(({ctype}*){pointer} + {k})" for k in range(width)]
    if parts[0] == "ld":
        to = vector(words[0])
        if strong:
            load = " ".join(f"gs_move({t}, gs_load_relaxed({e}));" for t, e in zip(to, elements, strict=True))
            return load + (" gs_fence(1);" if "acquire" in parts else "")
        moves = " ".join(f"gs_move({t}, gs_v.x[{k}]);" for k, t in enumerate(to))
        return f"{{ auto gs_v = *(const gs_elements<{ctype}, {width}>*){pointer}; {moves} }}"
    if parts[0] == "st":
        from_ = vector(words[1])
        if strong:
            fence = "gs_fence(1); " if "release" in parts else ""
            return fence + " ".join(
                f"gs_store_relaxed({e}, gs_as<{ctype}>({f}));" for e, f in zip(elements, from_, strict=True)
            )
        values = ", ".join(f"gs_as<{ctype}>({f})" for f in from_)
        return f"*(gs_elements<{ctype}, {width}>*){pointer} = {{{{{values}}}}};"
    if parts[0] == "atom" and "cas" in parts:
        seen, v = (f"gs_as<{ctype}>({value(w)})" for w in words[2:4])
        return f"gs_move({value(words[0])}, atomicCAS({elements[0]}, {seen}, {v}));"
    function = next((_ATOMICS[p] for p in parts if p in _ATOMICS), None)
    if function is None:
        return _unknown(".".join(parts))
    if ctype == "long long" and function == "atomicAdd":
        ctype = "unsigned long long"
        elements = [f"((unsigned long long*){pointer} + {k})" for k in range(width)]
    given = vector(words[-1])
    if width > 1 and parts[0] == "red" and function == "atomicAdd":  # one access
        type = f"gs_elements<{ctype}, {width}>"
        sums = " ".join(f"gs_a.x[{k}] = gs_a.x[{k}] + gs_as<{ctype}>({v});" for k, v in enumerate(given))
        return f"gs_atomic(({type}*){pointer}, [&]({type} gs_a) {{ {sums} return gs_a; }});"
    calls = [f"{function}({e}, gs_as<{ctype}>({v}))" for e, v in zip(elements, given, strict=True)]
    if parts[0] == "red":
        return " ".join(f"{c};" for c in calls)
    return " ".join(f"gs_move({t}, {c});" for t, c in zip(vector(words[0]), calls, strict=True))
