"""TVM's targets, and what it says of those that it refuses."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from gscompile.errors import TargetError
from gscompile.ir import tir as T

# what TVM wraps its reason in
_AROUND = r"Check failed: \(.*?\) is false: |\.? ?Target creation from config dict failed.*"


def tvm_target(attributes: Mapping[str, Any]) -> Any:
    """TVM's target of these attributes.

    Raises:
        TargetError: TVM refuses them.
    """
    try:
        return T.target(dict(attributes))
    except Exception as e:
        reason = re.sub(_AROUND, "", str(e).splitlines()[-1])
        raise TargetError(f"{dict(attributes)} is not a target: {reason}") from e
