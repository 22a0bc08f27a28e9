"""Parquet, read by batches of the wanted columns. Its footer and its pages' headers are checked before a page is unpacked."""

import re
from collections.abc import Iterator
from decimal import Decimal
from typing import TYPE_CHECKING, Any, BinaryIO

from common.errors import Refused
from imports.limits import limits
from imports.reading.parquet_pages import BadPages, pages
from imports.reading.rows import Column, Kind, Number, Row, RowStream, too_many_rows, unreadable

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

MAX_UNPACKED_BYTES = 256 * 1024 * 1024
MAX_VALUES = 5_000_000
MAX_PAGE_BYTES = 128 * 1024 * 1024
"""Of one page, unpacked: it is in memory whole, a text as long as it several times. Writers put 1,024 texts in a page, however long."""
_BATCH_ROWS = 128
_ZERO_FRACTION = re.compile(r"\.0+(?!\d)")


def open_parquet(file: BinaryIO, *, size: int, sha256: str) -> RowStream:
    """The stream of a Parquet file. Raises `Refused` where its footer cannot be read or names too many rows."""
    parquet = _opened(file)
    schema, count = parquet.schema_arrow, parquet.metadata.num_rows
    if count > limits().max_rows:
        raise too_many_rows(count)
    kinds = {field.name: _kind(field.type) for field in schema}

    def read(wanted: frozenset[str] | None) -> Iterator[Row]:
        readable = {name for name, kind in kinds.items() if kind != Kind.OTHER}
        yield from _rows(file, frozenset(readable if wanted is None else readable & wanted))

    columns = tuple(Column(field.name, kinds[field.name]) for field in schema)
    return RowStream(format="parquet", bytes=size, sha256=sha256, columns=columns, read=read, count=count)


def _opened(file: BinaryIO, dictionaries: list[str] | None = None) -> "pq.ParquetFile":
    import pyarrow as pa
    import pyarrow.parquet as pq

    file.seek(0)
    try:
        # Without pre-buffering and with a small buffer a column is read page by page, not whole.
        return pq.ParquetFile(file, pre_buffer=False, buffer_size=1 << 20, read_dictionary=dictionaries)
    except (pa.ArrowException, OSError, ValueError) as error:
        raise unreadable(f"The file cannot be read as Parquet: {_first_line(error)}") from None


def _rows(file: BinaryIO, wanted: frozenset[str]) -> Iterator[Row]:
    import pyarrow as pa

    metadata = _opened(file).metadata
    leaves = [path for path in _leaf_paths(metadata) if _root(path, wanted)]
    _check_unpacked(metadata, frozenset(leaves))
    _check_pages(file, metadata, frozenset(leaves))
    # Texts stay dictionaries: a value that ten thousand rows share is held once, so a small file cannot become a large one.
    texts = [path for path in leaves if _is_bytes(metadata, path)]
    number = 0
    try:
        for batch in _opened(file, texts).iter_batches(batch_size=_BATCH_ROWS, columns=sorted(wanted), use_threads=False):
            names = batch.schema.names
            for values in zip(*(_values(column) for column in batch.columns), strict=True):
                number += 1
                yield Row(number, None, dict(zip(names, values, strict=True)))
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise unreadable(f"The file cannot be read as Parquet after row {number}: {_first_line(error)}", row=number) from None


def _leaf_paths(metadata: "pq.FileMetaData") -> list[str]:
    return [metadata.schema.column(index).path for index in range(metadata.num_columns)]


def _root(path: str, names: frozenset[str]) -> str | None:
    """The wanted column that a leaf belongs to."""
    return next((name for name in names if path == name or path.startswith(f"{name}.")), None)


def _is_bytes(metadata: "pq.FileMetaData", path: str) -> bool:
    return any(
        column.path == path and column.physical_type == "BYTE_ARRAY" and column.logical_type.type == "STRING"
        for column in (metadata.schema.column(index) for index in range(metadata.num_columns))
    )


def _check_unpacked(metadata: "pq.FileMetaData", leaves: frozenset[str]) -> None:
    """Raise `private_benchmark_too_large` where the wanted columns unpack to more than the limits, by the footer's figures."""
    unpacked = values = 0
    for group in range(metadata.num_row_groups):
        row_group = metadata.row_group(group)
        for index in range(row_group.num_columns):
            chunk = row_group.column(index)
            if chunk.path_in_schema in leaves:
                unpacked += chunk.total_uncompressed_size
                values += chunk.num_values
    if unpacked > MAX_UNPACKED_BYTES or values > MAX_VALUES:
        message = (
            f"The columns to read unpack to {unpacked:,} bytes and {values:,} values;"
            f" at most {MAX_UNPACKED_BYTES:,} bytes and {MAX_VALUES:,} values can be imported. Take a sample of the rows."
        )
        raise Refused("private_benchmark_too_large", message, status=413, details={"unpacked_bytes": unpacked, "values": values})


def _check_pages(file: BinaryIO, metadata: "pq.FileMetaData", leaves: frozenset[str]) -> None:
    """Raise `private_benchmark_too_large` where one page of the wanted columns unpacks to more than the limit."""
    for group in range(metadata.num_row_groups):
        for index in range(metadata.num_columns):
            chunk = metadata.row_group(group).column(index)
            if chunk.path_in_schema not in leaves or not chunk.num_values:
                continue
            first = chunk.data_page_offset
            if chunk.has_dictionary_page and 0 < chunk.dictionary_page_offset < first:
                first = chunk.dictionary_page_offset
            try:
                largest = max((page.unpacked for page in pages(file, first, chunk.total_compressed_size, chunk.num_values)), default=0)
            except BadPages as error:
                raise unreadable(f"The file cannot be read as Parquet: of the column {chunk.path_in_schema!r}, {error}.") from None
            if largest > MAX_PAGE_BYTES:
                message = (
                    f"The column {chunk.path_in_schema!r} has a page of {largest:,} bytes; at most {MAX_PAGE_BYTES:,} are read at once."
                    " Shorten its longest texts, or write the file with smaller pages."
                )
                raise Refused(
                    "private_benchmark_too_large", message, status=413, details={"column": chunk.path_in_schema, "bytes": largest}
                )


def _kind(type_: "pa.DataType") -> Kind:
    from pyarrow import types

    if types.is_dictionary(type_):
        return _kind(type_.value_type)
    if types.is_list(type_) or types.is_large_list(type_) or types.is_fixed_size_list(type_):
        return Kind.LIST if _kind(type_.value_type) != Kind.OTHER else Kind.OTHER
    if types.is_struct(type_):
        return Kind.OBJECT if all(_kind(field.type) != Kind.OTHER for field in type_) else Kind.OTHER
    is_text = types.is_string(type_) or types.is_large_string(type_) or types.is_string_view(type_)
    is_number = types.is_integer(type_) or types.is_floating(type_) or types.is_decimal(type_)
    if is_text or is_number or types.is_temporal(type_) or types.is_boolean(type_) or types.is_null(type_):
        return Kind.SCALAR
    return Kind.OTHER


def _values(array: "pa.Array") -> Iterator[Any]:
    """The array's values one by one, in the types of `Row`. A NaN is a missing value, as the tools that write it mean it."""
    import pyarrow as pa
    from pyarrow import types

    type_ = array.type
    if types.is_dictionary(type_):
        indices = array.indices.to_pylist()
        used = sorted({index for index in indices if index is not None})
        decoded = dict(zip(used, _values(array.dictionary.take(pa.array(used, pa.int64()))), strict=True))
        yield from (None if index is None else decoded[index] for index in indices)
    elif types.is_list(type_) or types.is_large_list(type_) or types.is_fixed_size_list(type_):
        for item in array:
            yield None if not item.is_valid else list(_values(item.values))
    elif types.is_struct(type_):
        children = [_values(array.field(index)) for index in range(type_.num_fields)]
        names = [field.name for field in type_]
        for is_valid, *values in zip(array.is_valid().to_pylist(), *children, strict=True):
            yield dict(zip(names, values, strict=True)) if is_valid else None
    elif types.is_floating(type_):
        # The shortest text that reads back as the same number: of a float32 that is not its text as a double.
        texts = array.cast(pa.string()).to_pylist() if type_ != pa.float64() else map(repr, array.to_pylist())
        for text in texts:
            yield None if text in {None, "None", "nan"} else Number(text)
    elif types.is_decimal(type_):
        for value in array.to_pylist():
            yield None if value is None else Number(format(Decimal(value), "f"))
    elif types.is_integer(type_):
        for value in array.to_pylist():
            yield None if value is None else Number(value)
    elif types.is_temporal(type_):
        for text in array.cast(pa.string()).to_pylist():
            yield None if text is None else _ZERO_FRACTION.sub("", text)
    else:
        yield from array.to_pylist()


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0][:300]
