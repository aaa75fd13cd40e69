"""What OpenLineage is given about a published window; the provider `openlineage` is loaded only when it asks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from airflow_provider_blockread.options import DeltaSink, IcebergSink, PostgresSink, Sink
from airflow_provider_blockread.storage import uris

if TYPE_CHECKING:
    from airflow.providers.openlineage.extractors import OperatorLineage
    from openlineage.client.event_v2 import InputDataset, OutputDataset

    from airflow_provider_blockread.steps import Published
    from airflow_provider_blockread.steps.commit.lineage import Lineage, RootRead

_LAYERS = {DeltaSink: "delta", IcebergSink: "iceberg"}
_SCHEMES = {"abfs": "abfss", "sftp": "file", "ssh": "file"}  # that OpenLineage calls differently
_WITH_ROOT = {"hdfs", "sftp", "ssh"}  # whose paths begin with a slash


def facets_of(done: Published, lineage: Lineage, sink: Sink, place: str) -> OperatorLineage[Any, Any]:
    """Return the datasets of a window with their facets; `place` is the URI of the output's asset."""
    from airflow.providers.openlineage.extractors import OperatorLineage  # noqa: PLC0415 - an extra, not at DAG parse

    inputs = [_input(done, root) for root in lineage.read]
    return OperatorLineage(inputs=inputs, outputs=[_output(done, lineage, sink, place)])


def _input(done: Published, read: RootRead) -> InputDataset:
    from openlineage.client.event_v2 import InputDataset  # noqa: PLC0415 - comes with the provider
    from openlineage.client.facet_v2 import base_subset_dataset as subset  # noqa: PLC0415
    from openlineage.client.facet_v2 import input_statistics_input_dataset as statistics  # noqa: PLC0415

    condition: subset.BaseSubsetCondition
    if read.paths:
        condition = subset.LocationSubsetCondition(locations=list(map(uris.readable_uri, read.paths)))
    else:
        window = subset.Partition(dimensions={"feed": done.feed, "window": done.key}, identifier=done.window)
        condition = subset.PartitionSubsetCondition(partitions=[window])
    sums = statistics.InputStatisticsInputDatasetFacet(rowCount=read.records, size=read.bytes, fileCount=read.files)
    namespace, name = dataset_name(read.root)
    return InputDataset(
        namespace=namespace,
        name=name,
        inputFacets={"inputStatistics": sums, "subset": subset.InputSubsetInputDatasetFacet(inputCondition=condition)},
    )


def _output(done: Published, lineage: Lineage, sink: Sink, place: str) -> OutputDataset:
    from openlineage.client.event_v2 import OutputDataset  # noqa: PLC0415 - comes with the provider
    from openlineage.client.facet_v2 import (  # noqa: PLC0415
        dataset_version_dataset,
        output_statistics_output_dataset,
        schema_dataset,
        storage_dataset,
        symlinks_dataset,
    )

    facets: dict[str, Any] = {}
    if lineage.columns:
        fields = [schema_dataset.SchemaDatasetFacetFields(name=name, type=kind) for name, kind in lineage.columns]
        facets["schema"] = schema_dataset.SchemaDatasetFacet(fields=fields)
    if done.table_version:
        version = dataset_version_dataset.DatasetVersionDatasetFacet(datasetVersion=done.table_version)
        facets["version"] = version
    if layer := _LAYERS.get(type(sink)):
        facets["storage"] = storage_dataset.StorageDatasetFacet(storageLayer=layer, fileFormat="parquet")
    namespace, name = dataset_name(place)
    if isinstance(sink, IcebergSink) and lineage.first_file:  # OpenLineage names such a table by its folder
        known = symlinks_dataset.Identifier(namespace=namespace, name=name, type="TABLE")
        facets["symlinks"] = symlinks_dataset.SymlinksDatasetFacet(identifiers=[known])
        namespace, name = dataset_name(uris.parent(uris.parent(lineage.first_file)))
    elif isinstance(sink, PostgresSink):
        name = name.replace("/", ".")
    sums = output_statistics_output_dataset.OutputStatisticsOutputDatasetFacet(
        rowCount=lineage.rows, size=lineage.bytes, fileCount=lineage.files
    )
    return OutputDataset(namespace=namespace, name=name, facets=facets, outputFacets={"outputStatistics": sums})


def dataset_name(place: str) -> tuple[str, str]:
    """Return the namespace and name of the dataset at a place, by OpenLineage's naming rules."""
    uri = uris.canonical(place)
    if (local := uris.local_path(uri)) is not None:
        return "file", uris.readable_uri(local)
    scheme, authority = uris.scheme_of(uri), uris.authority_of(uri)
    path = uris.readable_uri(uri.partition("://")[2].partition("/")[2])
    name = f"/{path}" if scheme in _WITH_ROOT or not path else path
    host = authority.rpartition("@")[2] if scheme in _WITH_ROOT else authority
    return f"{_SCHEMES.get(scheme, scheme)}://{host}", name
