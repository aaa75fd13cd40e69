"""Columns of a schema from text: types by name, times, and values judged one by one."""
