"""The starter catalog: benchmarks written for this project, public domain (CC0), their answers computed by code.

Each module generates one benchmark from fixed seeds and holds its `STARTER`. `manage.py load_starter_catalog` publishes them.
"""

from catalog.starter import (
    bases_and_bits,
    calendar_and_clocks,
    knights_and_knaves,
    letter_work,
    one_way_streets,
    rates_and_units,
    stock_ledgers,
    table_to_json,
    trace_the_program,
)
from catalog.starter.drawing import Starter

STARTERS: tuple[Starter, ...] = (
    stock_ledgers.STARTER,
    rates_and_units.STARTER,
    calendar_and_clocks.STARTER,
    letter_work.STARTER,
    knights_and_knaves.STARTER,
    one_way_streets.STARTER,
    table_to_json.STARTER,
    trace_the_program.STARTER,
    bases_and_bits.STARTER,
)
