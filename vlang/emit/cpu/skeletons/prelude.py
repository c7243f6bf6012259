"""What every generated module starts with."""

import numpy as np
from numba import boolean
from numba import float32 as f32
from numba import float64 as f64
from numba import int8 as i8
from numba import int16 as i16
from numba import int32 as i32
from numba import int64 as i64
from numba import uint8 as u8
from numba import uint16 as u16
from numba import uint32 as u32
from numba import uint64 as u64
from vlang.runtime.compile.intrinsics import *
from vlang.runtime.plan.plan import *
from vlang.runtime.plan.layouts.pass_words import *


@inner
def note(stats, changed, active):
    """Add one task's counts; additions of integers, so their order does not matter."""
    if changed:
        fetch_add(stats, 0, changed)
    if active:
        fetch_add(stats, 1, active)
