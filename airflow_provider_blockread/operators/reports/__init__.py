"""What tasks say of their steps: to people, and to OpenLineage."""
