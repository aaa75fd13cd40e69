"""Queries of Spark SQL that Spark parses, some with signs where one does not expect them."""

from __future__ import annotations

QUERIES = (
    "SELECT level, count(*) AS n FROM records GROUP BY level",
    "\n ( ( select 1 ) union all (SELECT 2 FROM records) ) ; ; -- the end;\n",
    "-- it's\n/* (a /* nested */ one [ */ WITH r AS (FROM records SELECT *) TABLE r",
    "FROM records SELECT value WHERE value <> ';'",
    "FROM records |> WHERE value LIKE '(%' |> SELECT upper(value) AS v",
    "VALUES (1, '\"'), (2, \"it's\"), (3, 'it''s'), (4, 'it\\'s')",
    "SELECT r'\\', R\"\\\", X'1F', `a``b;`, array(1, 2)[0], map('k', struct(1))['k'].col1 FROM records",
    "SELECT /*+ BROADCAST(r) */ * FROM records r LATERAL VIEW explode(array(1)) AS x",
    "SELECT transform(array(1), x -> (x + 1)) FROM records -- it goes on \\\n 'here",
    "MAP value USING 'cat' AS (a, b) FROM records",
    "SELECT a:b, :parameter, ? FROM records PIVOT (sum(x) FOR y IN ('a', 'b'))",
)
