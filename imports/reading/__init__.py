"""Reading a data file as a stream of rows, in bounded memory: `open_rows` for JSON Lines, CSV and Parquet."""

from imports.reading.files import open_rows
from imports.reading.rows import Column, Kind, Number, Row, RowStream, Warned

__all__ = ["Column", "Kind", "Number", "Row", "RowStream", "Warned", "open_rows"]
