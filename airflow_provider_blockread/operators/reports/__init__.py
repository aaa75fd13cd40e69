"""What tasks report about their steps, to people and to OpenLineage."""
