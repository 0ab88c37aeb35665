"""`np.dtypes`: the class of each dtype object. `type(np.dtype("f8")) is np.dtypes.Float64DType`, a subclass of dtype.

Called without an argument, a class gives its only instance. The classes of what torch cannot hold are NumPy's own.
"""

from __future__ import annotations

from typing import Any

from npdec._core.installed_numpy import numpy_or_none
from npdec._dtypes.dtype import DTYPE_CLASSES
from npdec.exceptions import AbsentNameError, MissingNameError

__all__ = [
    "BFloat16DType", "BoolDType", "ByteDType", "Complex128DType", "Complex64DType", "Float16DType", "Float32DType",
    "Float64DType", "Int16DType", "Int32DType", "Int64DType", "Int8DType", "IntDType", "LongDType", "LongLongDType",
    "ShortDType", "UByteDType", "UInt16DType", "UInt32DType", "UInt64DType", "UInt8DType", "UIntDType", "ULongDType",
    "ULongLongDType", "UShortDType",
]  # fmt: skip

BoolDType = DTYPE_CLASSES["BoolDType"]
Int8DType = ByteDType = DTYPE_CLASSES["Int8DType"]
Int16DType = ShortDType = DTYPE_CLASSES["Int16DType"]
Int32DType = IntDType = DTYPE_CLASSES["Int32DType"]
Int64DType = LongDType = LongLongDType = DTYPE_CLASSES["Int64DType"]
UInt8DType = UByteDType = DTYPE_CLASSES["UInt8DType"]
UInt16DType = UShortDType = DTYPE_CLASSES["UInt16DType"]
UInt32DType = UIntDType = DTYPE_CLASSES["UInt32DType"]
UInt64DType = ULongDType = ULongLongDType = DTYPE_CLASSES["UInt64DType"]
Float16DType = DTYPE_CLASSES["Float16DType"]
BFloat16DType = DTYPE_CLASSES["BFloat16DType"]
Float32DType = DTYPE_CLASSES["Float32DType"]
Float64DType = DTYPE_CLASSES["Float64DType"]
Complex64DType = DTYPE_CLASSES["Complex64DType"]
Complex128DType = DTYPE_CLASSES["Complex128DType"]

_ABSENT = {
    "LongDoubleDType": "extended precision", "CLongDoubleDType": "extended precision", "ObjectDType": "objects",
    "BytesDType": "text", "StrDType": "text", "StringDType": "text", "VoidDType": "records",
    "DateTime64DType": "dates", "TimeDelta64DType": "time spans",
}  # fmt: skip


def __getattr__(name: str) -> Any:
    if name in _ABSENT:
        numpy = numpy_or_none()
        if numpy is not None:
            return getattr(numpy.dtypes, name)
        raise AbsentNameError(f"npdec has no dtypes.{name}: torch has no {_ABSENT[name]}")
    raise MissingNameError("npdec.dtypes", name)
