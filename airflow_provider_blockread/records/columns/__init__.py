"""Columns of a schema from text: types by name, times, and values converted one by one."""
