"""An Iceberg table."""
