CREATE TABLE requests (
	id BIGSERIAL NOT NULL, 
	action VARCHAR(16) NOT NULL, 
	arguments JSON NOT NULL, 
	digest VARCHAR(32) NOT NULL, 
	who TEXT NOT NULL, 
	began_at TIMESTAMP WITH TIME ZONE NOT NULL, 
	finished_at TIMESTAMP WITH TIME ZONE, 
	CONSTRAINT pk_requests PRIMARY KEY (id), 
	CONSTRAINT ck_requests_action CHECK (action IN ('rebuild', 'reprocess', 'verify'))
);

CREATE TABLE blockread_version (
	version_num VARCHAR(32) NOT NULL, 
	CONSTRAINT blockread_version_pkc PRIMARY KEY (version_num)
);

CREATE TABLE ledger (
	uuid VARCHAR(36) NOT NULL, 
	created_at TIMESTAMP WITH TIME ZONE NOT NULL, 
	singleton INTEGER NOT NULL, 
	secret VARCHAR(64), 
	CONSTRAINT pk_ledger PRIMARY KEY (uuid), 
	CONSTRAINT ck_ledger_singleton CHECK (singleton = 1), 
	CONSTRAINT uq_ledger_singleton UNIQUE (singleton)
);

CREATE TABLE feeds (
	id BIGSERIAL NOT NULL, 
	name TEXT NOT NULL, 
	created_at TIMESTAMP WITH TIME ZONE NOT NULL, 
	CONSTRAINT pk_feeds PRIMARY KEY (id), 
	CONSTRAINT uq_feeds_name UNIQUE (name)
);

CREATE TABLE taken_files (
	version_digest BIGINT NOT NULL, 
	feed_id INTEGER NOT NULL, 
	path_digest UUID NOT NULL, 
	state VARCHAR(16) NOT NULL, 
	CONSTRAINT pk_taken_files PRIMARY KEY (path_digest, version_digest, feed_id), 
	CONSTRAINT ck_taken_files_state CHECK (state IN ('done', 'quarantined', 'excluded', 'replaced')), 
	CONSTRAINT fk_taken_files_feed_id FOREIGN KEY(feed_id) REFERENCES feeds (id)
);

CREATE TABLE stretches (
	feed_id INTEGER NOT NULL, 
	digest UUID NOT NULL, 
	listing_id INTEGER NOT NULL, 
	CONSTRAINT pk_stretches PRIMARY KEY (digest, feed_id), 
	CONSTRAINT fk_stretches_feed_id FOREIGN KEY(feed_id) REFERENCES feeds (id)
);

CREATE TABLE listings (
	id BIGSERIAL NOT NULL, 
	feed_id BIGINT NOT NULL, 
	started_at TIMESTAMP WITH TIME ZONE NOT NULL, 
	finished_at TIMESTAMP WITH TIME ZONE, 
	seen BIGINT DEFAULT '0' NOT NULL, 
	"new" BIGINT DEFAULT '0' NOT NULL, 
	modified BIGINT DEFAULT '0' NOT NULL, 
	ignored BIGINT DEFAULT '0' NOT NULL, 
	source JSON, 
	CONSTRAINT pk_listings PRIMARY KEY (id), 
	CONSTRAINT fk_listings_feed_id FOREIGN KEY(feed_id) REFERENCES feeds (id)
);

CREATE TABLE feed_dags (
	feed_id BIGINT NOT NULL, 
	dag TEXT NOT NULL, 
	CONSTRAINT pk_feed_dags PRIMARY KEY (feed_id, dag), 
	CONSTRAINT fk_feed_dags_feed_id FOREIGN KEY(feed_id) REFERENCES feeds (id)
);

CREATE TABLE windows (
	id VARCHAR(16) NOT NULL, 
	feed_id BIGINT NOT NULL, 
	key TEXT NOT NULL, 
	sequence BIGINT NOT NULL, 
	state VARCHAR(16) NOT NULL, 
	epoch BIGINT NOT NULL, 
	owner TEXT NOT NULL, 
	heartbeat_at TIMESTAMP WITH TIME ZONE NOT NULL, 
	created_at TIMESTAMP WITH TIME ZONE NOT NULL, 
	manifest_uri TEXT DEFAULT '' NOT NULL, 
	manifest_hash VARCHAR(128) DEFAULT '' NOT NULL, 
	files BIGINT DEFAULT '0' NOT NULL, 
	blocks BIGINT DEFAULT '0' NOT NULL, 
	groups BIGINT DEFAULT '0' NOT NULL, 
	bytes BIGINT DEFAULT '0' NOT NULL, 
	readers INTEGER, 
	scan_epoch BIGINT DEFAULT '0' NOT NULL, 
	scanned_at TIMESTAMP WITH TIME ZONE, 
	interval_start_ns BIGINT, 
	interval_end_ns BIGINT, 
	pruned_at TIMESTAMP WITH TIME ZONE, 
	swept_at TIMESTAMP WITH TIME ZONE, 
	run TEXT, 
	CONSTRAINT pk_windows PRIMARY KEY (id), 
	CONSTRAINT uq_windows_feed_id_key UNIQUE (feed_id, key), 
	CONSTRAINT uq_windows_feed_id_sequence UNIQUE (feed_id, sequence), 
	CONSTRAINT ck_windows_state CHECK (state IN ('planning', 'open', 'empty', 'abandoned')), 
	CONSTRAINT ck_windows_open_has_manifest CHECK (state <> 'open' OR manifest_uri <> ''), 
	CONSTRAINT fk_windows_feed_id FOREIGN KEY(feed_id) REFERENCES feeds (id)
);

CREATE TABLE parts (
	window_id VARCHAR(16) NOT NULL, 
	file_id BIGINT NOT NULL, 
	part_start BIGINT NOT NULL, 
	part_end BIGINT NOT NULL, 
	next_start BIGINT, 
	exit_state BIGINT, 
	records BIGINT, 
	bad_records BIGINT, 
	CONSTRAINT pk_parts PRIMARY KEY (window_id, file_id), 
	CONSTRAINT uq_parts_file_id_part_start UNIQUE (file_id, part_start), 
	CONSTRAINT ck_parts_range CHECK (part_start < part_end), 
	CONSTRAINT fk_parts_window_id FOREIGN KEY(window_id) REFERENCES windows (id)
);

CREATE TABLE withdrawals (
	window_id VARCHAR(16) NOT NULL, 
	files VARCHAR(16) NOT NULL, 
	who TEXT NOT NULL, 
	began_at TIMESTAMP WITH TIME ZONE NOT NULL, 
	finished_at TIMESTAMP WITH TIME ZONE, 
	CONSTRAINT pk_withdrawals PRIMARY KEY (window_id), 
	CONSTRAINT ck_withdrawals_files CHECK (files IN ('pending', 'excluded')), 
	CONSTRAINT fk_withdrawals_window_id FOREIGN KEY(window_id) REFERENCES windows (id)
);

CREATE TABLE request_generations (
	request_id BIGINT NOT NULL, 
	window_id VARCHAR(16) NOT NULL, 
	generation INTEGER NOT NULL, 
	CONSTRAINT pk_request_generations PRIMARY KEY (request_id, window_id, generation), 
	CONSTRAINT fk_request_generations_request_id FOREIGN KEY(request_id) REFERENCES requests (id), 
	CONSTRAINT fk_request_generations_window_id FOREIGN KEY(window_id) REFERENCES windows (id)
);

CREATE TABLE cleanings (
	file_id BIGINT NOT NULL, 
	version_digest BIGINT NOT NULL, 
	window_id VARCHAR(16) NOT NULL, 
	action VARCHAR(16) NOT NULL, 
	state VARCHAR(16) NOT NULL, 
	path TEXT COLLATE "C" NOT NULL, 
	target TEXT, 
	who TEXT NOT NULL, 
	began_at TIMESTAMP WITH TIME ZONE NOT NULL, 
	finished_at TIMESTAMP WITH TIME ZONE, 
	CONSTRAINT pk_cleanings PRIMARY KEY (file_id), 
	CONSTRAINT ck_cleanings_action CHECK (action IN ('archive', 'delete', 'tag')), 
	CONSTRAINT ck_cleanings_state CHECK (state IN ('planned', 'done', 'changed', 'gone', 'restored')), 
	CONSTRAINT ck_cleanings_archive_has_target CHECK (action <> 'archive' OR target IS NOT NULL), 
	CONSTRAINT ck_cleanings_finished CHECK (state = 'planned' OR finished_at IS NOT NULL), 
	CONSTRAINT fk_cleanings_window_id FOREIGN KEY(window_id) REFERENCES windows (id)
);

CREATE TABLE files (
	id BIGSERIAL NOT NULL, 
	size BIGINT NOT NULL, 
	mtime_ns BIGINT NOT NULL, 
	time_ns BIGINT DEFAULT '0' NOT NULL, 
	version_digest BIGINT NOT NULL, 
	records BIGINT, 
	bad_records BIGINT, 
	part_next_offset BIGINT, 
	feed_id INTEGER NOT NULL, 
	first_listing INTEGER NOT NULL, 
	last_listing INTEGER NOT NULL, 
	path_digest UUID NOT NULL, 
	state VARCHAR(16) NOT NULL, 
	window_id VARCHAR(16), 
	path TEXT COLLATE "C" NOT NULL, 
	etag TEXT, 
	CONSTRAINT pk_files PRIMARY KEY (id), 
	CONSTRAINT uq_files_path_digest_version_digest_feed_id UNIQUE (path_digest, version_digest, feed_id), 
	CONSTRAINT ck_files_state CHECK (state IN ('pending', 'planned', 'done', 'missing', 'changed', 'quarantined', 'ignored', 'excluded', 'replaced')), 
	CONSTRAINT ck_files_planned_has_window CHECK (state <> 'planned' OR window_id IS NOT NULL), 
	CONSTRAINT ck_files_pending_has_no_window CHECK (state <> 'pending' OR window_id IS NULL), 
	CONSTRAINT ck_files_size CHECK (size >= 0), 
	CONSTRAINT fk_files_feed_id FOREIGN KEY(feed_id) REFERENCES feeds (id), 
	CONSTRAINT fk_files_window_id FOREIGN KEY(window_id) REFERENCES windows (id)
);

CREATE TABLE exclusions (
	window_id VARCHAR(16) NOT NULL, 
	file_id BIGINT NOT NULL, 
	path TEXT COLLATE "C" NOT NULL, 
	reason TEXT NOT NULL, 
	who TEXT NOT NULL, 
	excluded_at TIMESTAMP WITH TIME ZONE NOT NULL, 
	generation INTEGER, 
	CONSTRAINT pk_exclusions PRIMARY KEY (window_id, file_id), 
	CONSTRAINT fk_exclusions_window_id FOREIGN KEY(window_id) REFERENCES windows (id)
);

CREATE TABLE generations (
	window_id VARCHAR(16) NOT NULL, 
	number INTEGER NOT NULL, 
	state VARCHAR(16) NOT NULL, 
	mode VARCHAR(16) NOT NULL, 
	options JSON NOT NULL, 
	options_digest VARCHAR(32) NOT NULL, 
	clear_number INTEGER NOT NULL, 
	publish_epoch BIGINT DEFAULT '0' NOT NULL, 
	publish_owner TEXT, 
	publish_heartbeat_at TIMESTAMP WITH TIME ZONE, 
	table_version TEXT, 
	schema_changes TEXT, 
	records BIGINT DEFAULT '0' NOT NULL, 
	bad_records BIGINT DEFAULT '0' NOT NULL, 
	skipped_records BIGINT DEFAULT '0' NOT NULL, 
	rows BIGINT DEFAULT '0' NOT NULL, 
	bytes BIGINT DEFAULT '0' NOT NULL, 
	digest TEXT, 
	error TEXT, 
	created_at TIMESTAMP WITH TIME ZONE NOT NULL, 
	proven_at TIMESTAMP WITH TIME ZONE, 
	published_at TIMESTAMP WITH TIME ZONE, 
	announced_at TIMESTAMP WITH TIME ZONE, 
	run TEXT, 
	manifest_uri TEXT, 
	manifest_hash VARCHAR(128), 
	given_up_by TEXT, 
	CONSTRAINT pk_generations PRIMARY KEY (window_id, number), 
	CONSTRAINT ck_generations_state CHECK (state IN ('reading', 'proven', 'publishing', 'published', 'verified', 'failed', 'superseded')), 
	CONSTRAINT ck_generations_mode CHECK (mode IN ('write', 'verify')), 
	CONSTRAINT ck_generations_verify_writes_nothing CHECK (mode = 'write' OR state NOT IN ('publishing', 'published')), 
	CONSTRAINT ck_generations_write_is_published CHECK (mode = 'verify' OR state <> 'verified'), 
	CONSTRAINT fk_generations_window_id FOREIGN KEY(window_id) REFERENCES windows (id)
);

CREATE TABLE outputs (
	window_id VARCHAR(16) NOT NULL, 
	generation INTEGER NOT NULL, 
	seq INTEGER NOT NULL, 
	kind VARCHAR(16) NOT NULL, 
	uri TEXT NOT NULL, 
	source TEXT NOT NULL, 
	size BIGINT NOT NULL, 
	rows BIGINT NOT NULL, 
	partition JSON NOT NULL, 
	statistics JSON NOT NULL, 
	CONSTRAINT pk_outputs PRIMARY KEY (window_id, generation, seq), 
	CONSTRAINT fk_outputs_window_id_generation FOREIGN KEY(window_id, generation) REFERENCES generations (window_id, number), 
	CONSTRAINT ck_outputs_kind CHECK (kind IN ('output', 'quarantine'))
);

CREATE TABLE publications (
	window_id VARCHAR(16) NOT NULL, 
	generation INTEGER NOT NULL, 
	seq INTEGER NOT NULL, 
	kind VARCHAR(16) NOT NULL, 
	action VARCHAR(16) NOT NULL, 
	source TEXT NOT NULL, 
	target TEXT NOT NULL, 
	size BIGINT NOT NULL, 
	state VARCHAR(16) NOT NULL, 
	CONSTRAINT pk_publications PRIMARY KEY (window_id, generation, seq), 
	CONSTRAINT fk_publications_window_id_generation FOREIGN KEY(window_id, generation) REFERENCES generations (window_id, number), 
	CONSTRAINT ck_publications_kind CHECK (kind IN ('output', 'quarantine', 'log', 'commit')), 
	CONSTRAINT ck_publications_action CHECK (action IN ('add', 'remove')), 
	CONSTRAINT ck_publications_state CHECK (state IN ('planned', 'done'))
);

CREATE TABLE replacements (
	window_id VARCHAR(16) NOT NULL, 
	generation INTEGER NOT NULL, 
	old_file BIGINT NOT NULL, 
	new_file BIGINT NOT NULL, 
	was VARCHAR(16) NOT NULL, 
	CONSTRAINT pk_replacements PRIMARY KEY (window_id, generation, old_file), 
	CONSTRAINT fk_replacements_window_id_generation FOREIGN KEY(window_id, generation) REFERENCES generations (window_id, number), 
	CONSTRAINT uq_replacements_window_id_generation_new_file UNIQUE (window_id, generation, new_file), 
	CONSTRAINT ck_replacements_was CHECK (was IN ('pending', 'ignored', 'missing', 'replaced'))
);

CREATE TABLE groups (
	window_id VARCHAR(16) NOT NULL, 
	generation INTEGER NOT NULL, 
	number INTEGER NOT NULL, 
	state VARCHAR(16) NOT NULL, 
	epoch BIGINT DEFAULT '0' NOT NULL, 
	owner TEXT, 
	heartbeat_at TIMESTAMP WITH TIME ZONE, 
	clear_number INTEGER NOT NULL, 
	files BIGINT NOT NULL, 
	blocks BIGINT NOT NULL, 
	bytes BIGINT NOT NULL, 
	first_path TEXT COLLATE "C" NOT NULL, 
	last_path TEXT COLLATE "C" NOT NULL, 
	records BIGINT DEFAULT '0' NOT NULL, 
	bad_records BIGINT DEFAULT '0' NOT NULL, 
	rows BIGINT DEFAULT '0' NOT NULL, 
	read_bytes BIGINT DEFAULT '0' NOT NULL, 
	reader_seconds DOUBLE PRECISION DEFAULT '0' NOT NULL, 
	result_uri TEXT, 
	result_hash VARCHAR(128), 
	error TEXT, 
	started_at TIMESTAMP WITH TIME ZONE, 
	finished_at TIMESTAMP WITH TIME ZONE, 
	stale_after_s DOUBLE PRECISION DEFAULT '120' NOT NULL, 
	spec_hash VARCHAR(128), 
	application TEXT, 
	holder INTEGER DEFAULT '0' NOT NULL, 
	blocks_done BIGINT DEFAULT '0' NOT NULL, 
	records_done BIGINT DEFAULT '0' NOT NULL, 
	bad_records_done BIGINT DEFAULT '0' NOT NULL, 
	bytes_done BIGINT DEFAULT '0' NOT NULL, 
	progress_at TIMESTAMP WITH TIME ZONE, 
	spark_ui TEXT, 
	CONSTRAINT pk_groups PRIMARY KEY (window_id, generation, number), 
	CONSTRAINT fk_groups_window_id_generation FOREIGN KEY(window_id, generation) REFERENCES generations (window_id, number), 
	CONSTRAINT ck_groups_state CHECK (state IN ('pending', 'running', 'done', 'failed')), 
	CONSTRAINT ck_groups_running_has_owner CHECK (state <> 'running' OR (owner IS NOT NULL AND heartbeat_at IS NOT NULL)), 
	CONSTRAINT ck_groups_done_has_result CHECK (state <> 'done' OR result_uri IS NOT NULL), 
	CONSTRAINT ck_groups_done_of_planned CHECK (blocks_done <= blocks AND bytes_done <= bytes)
);

CREATE TABLE file_sums (
	window_id VARCHAR(16) NOT NULL, 
	generation INTEGER NOT NULL, 
	file_id BIGINT NOT NULL, 
	records BIGINT DEFAULT '0' NOT NULL, 
	bad_records BIGINT DEFAULT '0' NOT NULL, 
	bytes BIGINT DEFAULT '0' NOT NULL, 
	next_start BIGINT, 
	exit_state BIGINT, 
	CONSTRAINT pk_file_sums PRIMARY KEY (window_id, generation, file_id), 
	CONSTRAINT fk_file_sums_window_id_generation FOREIGN KEY(window_id, generation) REFERENCES generations (window_id, number)
);

INSERT INTO blockread_version (version_num) VALUES ('0001');

CREATE VIEW file_lifecycle AS SELECT d.name AS feed, f.path, f.size, f.mtime_ns, f.time_ns, f.etag, f.state, s.started_at AS discovered_at,
       f.window_id, w.key AS window_key, w.created_at AS planned_at, g.number AS generation,
       CASE WHEN f.state = 'done' THEN g.published_at END AS published_at, coalesce(p.records, f.records) AS records,
       CASE WHEN p.records IS NOT NULL THEN coalesce(p.bad_records, 0)
            WHEN f.records IS NOT NULL THEN coalesce(f.bad_records, 0) END AS bad_records,
       x.reason AS excluded_because, x.who AS excluded_by, f.part_next_offset,
       c.action AS cleaning, c.state AS cleaning_state, c.target AS archived_to, c.finished_at AS cleaned_at
FROM files f
JOIN feeds d ON d.id = f.feed_id
LEFT JOIN listings s ON s.id = f.first_listing
LEFT JOIN windows w ON w.id = f.window_id
LEFT JOIN generations g ON g.window_id = w.id AND g.state = 'published'
LEFT JOIN exclusions x ON x.window_id = f.window_id AND x.file_id = f.id AND x.generation IS NULL
LEFT JOIN cleanings c ON c.file_id = f.id
LEFT JOIN (
    SELECT p.file_id, CAST(sum(p.records) AS BIGINT) AS records, CAST(sum(p.bad_records) AS BIGINT) AS bad_records
    FROM parts p JOIN generations g ON g.window_id = p.window_id AND g.state = 'published' GROUP BY p.file_id
) p ON p.file_id = f.id;

CREATE VIEW window_audit AS SELECT d.name AS feed, w.id AS window_id, w.key AS window_key, w.sequence, w.state AS window_state,
       w.owner AS planned_by, w.created_at AS planned_at, w.pruned_at, w.files, w.blocks, w.bytes,
       (SELECT count(*) FROM exclusions x WHERE x.window_id = w.id AND x.generation IS NULL) AS excluded_files,
       g.number AS generation, g.state AS generation_state, 
CASE WHEN w.state <> 'open' OR g.number IS NULL
          THEN CASE WHEN w.state = 'planning' AND (w.heartbeat_at < now() - 120 * interval '1 second') THEN 'stalled' ELSE w.state END
     WHEN g.state IN ('published', 'verified', 'superseded') THEN g.state
     WHEN g.publish_owner IS NOT NULL
          THEN CASE WHEN (g.publish_heartbeat_at < now() - 120 * interval '1 second') THEN 'stalled'
                    WHEN g.mode = 'verify' OR g.state = 'reading' THEN 'proving' ELSE 'publishing' END
     WHEN g.error IS NOT NULL THEN 'failed'
     WHEN g.state <> 'reading' THEN 'waiting'
     WHEN EXISTS (SELECT 1 FROM groups p WHERE p.window_id = g.window_id AND p.generation = g.number AND p.state = 'running' AND NOT (p.heartbeat_at < now() - p.stale_after_s * interval '1 second')) THEN 'reading'
     WHEN EXISTS (SELECT 1 FROM groups p WHERE p.window_id = g.window_id AND p.generation = g.number AND p.state = 'failed') THEN 'failed'
     WHEN EXISTS (SELECT 1 FROM groups p WHERE p.window_id = g.window_id AND p.generation = g.number AND p.state = 'running') THEN 'stalled'
     ELSE 'waiting' END AS progress,
       
CASE WHEN w.state <> 'open' OR g.number IS NULL THEN w.heartbeat_at
     WHEN g.publish_owner IS NOT NULL THEN g.publish_heartbeat_at
     ELSE coalesce(
          (SELECT max(p.heartbeat_at) FROM groups p WHERE p.window_id = g.window_id AND p.generation = g.number AND p.state = 'running'),
          (SELECT max(i.heard_at) FROM (
               SELECT g.created_at AS heard_at UNION ALL SELECT g.proven_at UNION ALL SELECT g.published_at
               UNION ALL SELECT max(p.heartbeat_at) FROM groups p WHERE p.window_id = g.window_id AND p.generation = g.number
               UNION ALL SELECT max(p.finished_at) FROM groups p WHERE p.window_id = g.window_id AND p.generation = g.number) i)) END AS last_sign_at, g.mode, g.clear_number, w.groups,
       CASE WHEN g.state IN ('proven', 'publishing', 'published', 'verified') THEN w.groups
            ELSE (SELECT CAST(sum(CASE WHEN p.state = 'done' THEN 1 ELSE 0 END) AS BIGINT) FROM groups p
                  WHERE p.window_id = g.window_id AND p.generation = g.number) END AS groups_done,
       g.records, g.bad_records, g.skipped_records, g.rows AS output_rows, g.digest,
       (SELECT CASE WHEN g.state = 'superseded' THEN nullif(count(*), 0) ELSE count(*) END FROM outputs p
        WHERE p.window_id = g.window_id AND p.generation = g.number) AS output_files,
       g.created_at AS started_at, g.proven_at, g.published_at, g.error
FROM windows w
JOIN feeds d ON d.id = w.feed_id
LEFT JOIN generations g ON g.window_id = w.id;

CREATE VIEW backlog AS SELECT d.name AS feed,
       coalesce(p.files, 0) AS pending_files, coalesce(p.bytes, 0) AS pending_bytes, p.oldest_ns AS oldest_pending_ns,
       coalesce(w.windows, 0) AS open_windows, coalesce(h.files, 0) AS open_files, coalesce(h.bytes, 0) AS open_bytes,
       w.oldest_at AS oldest_open_at,
       coalesce(t.failed, 0) AS failed_windows, coalesce(t.stalled, 0) AS stalled_windows,
       coalesce(l.missing, 0) AS missing_files, coalesce(l.changed, 0) AS changed_files,
       coalesce(l.ignored, 0) AS ignored_files,
       (SELECT max(s.finished_at) FROM listings s WHERE s.feed_id = d.id) AS last_listed_at
FROM feeds d
LEFT JOIN (
    SELECT feed_id, count(*) AS files, CAST(sum(size - coalesce(part_next_offset, 0)) AS BIGINT) AS bytes,
           min(time_ns) AS oldest_ns
    FROM files WHERE state = 'pending' GROUP BY feed_id
) p ON p.feed_id = d.id
LEFT JOIN (
    SELECT w.feed_id, count(*) AS windows, min(w.created_at) AS oldest_at
    FROM windows w WHERE w.state <> 'empty' AND NOT EXISTS (SELECT 1 FROM generations g WHERE g.window_id = w.id AND g.state = 'published')
      AND NOT EXISTS (SELECT 1 FROM withdrawals t WHERE t.window_id = w.id AND t.finished_at IS NOT NULL) GROUP BY w.feed_id
) w ON w.feed_id = d.id
LEFT JOIN (
    SELECT feed_id, count(*) AS files, CAST(sum(bytes) AS BIGINT) AS bytes
    FROM (
        SELECT w.feed_id, f.size AS bytes
        FROM windows w CROSS JOIN files f
        WHERE f.window_id = w.id AND f.state IN ('planned', 'done') AND w.state <> 'empty' AND NOT EXISTS (SELECT 1 FROM generations g WHERE g.window_id = w.id AND g.state = 'published')
      AND NOT EXISTS (SELECT 1 FROM withdrawals t WHERE t.window_id = w.id AND t.finished_at IS NOT NULL)
          AND NOT EXISTS (SELECT 1 FROM parts p WHERE p.window_id = w.id AND p.file_id = f.id)
        UNION ALL
        SELECT w.feed_id, p.part_end - p.part_start
        FROM windows w CROSS JOIN parts p WHERE p.window_id = w.id AND w.state <> 'empty' AND NOT EXISTS (SELECT 1 FROM generations g WHERE g.window_id = w.id AND g.state = 'published')
      AND NOT EXISTS (SELECT 1 FROM withdrawals t WHERE t.window_id = w.id AND t.finished_at IS NOT NULL)
    ) i
    GROUP BY feed_id
) h ON h.feed_id = d.id
LEFT JOIN (
    SELECT feed_id, sum(CASE WHEN progress = 'failed' THEN 1 ELSE 0 END) AS failed,
           sum(CASE WHEN progress = 'stalled' THEN 1 ELSE 0 END) AS stalled
    FROM (SELECT w.feed_id, 
CASE WHEN w.state <> 'open' OR g.number IS NULL
          THEN CASE WHEN w.state = 'planning' AND (w.heartbeat_at < now() - 120 * interval '1 second') THEN 'stalled' ELSE w.state END
     WHEN g.state IN ('published', 'verified', 'superseded') THEN g.state
     WHEN g.publish_owner IS NOT NULL
          THEN CASE WHEN (g.publish_heartbeat_at < now() - 120 * interval '1 second') THEN 'stalled'
                    WHEN g.mode = 'verify' OR g.state = 'reading' THEN 'proving' ELSE 'publishing' END
     WHEN g.error IS NOT NULL THEN 'failed'
     WHEN g.state <> 'reading' THEN 'waiting'
     WHEN EXISTS (SELECT 1 FROM groups p WHERE p.window_id = g.window_id AND p.generation = g.number AND p.state = 'running' AND NOT (p.heartbeat_at < now() - p.stale_after_s * interval '1 second')) THEN 'reading'
     WHEN EXISTS (SELECT 1 FROM groups p WHERE p.window_id = g.window_id AND p.generation = g.number AND p.state = 'failed') THEN 'failed'
     WHEN EXISTS (SELECT 1 FROM groups p WHERE p.window_id = g.window_id AND p.generation = g.number AND p.state = 'running') THEN 'stalled'
     ELSE 'waiting' END AS progress FROM windows w LEFT JOIN generations g ON g.window_id = w.id) i
    GROUP BY feed_id
) t ON t.feed_id = d.id
LEFT JOIN (
    SELECT feed_id, sum(CASE WHEN state = 'missing' THEN 1 ELSE 0 END) AS missing,
           sum(CASE WHEN state = 'changed' THEN 1 ELSE 0 END) AS changed,
           sum(CASE WHEN state = 'ignored' THEN 1 ELSE 0 END) AS ignored
    FROM files WHERE state IN ('missing', 'changed', 'ignored') GROUP BY feed_id
) l ON l.feed_id = d.id;

CREATE INDEX ix_cleanings_begun ON cleanings (window_id) WHERE state = 'planned';

CREATE INDEX ix_cleanings_window_id ON cleanings (window_id);

CREATE INDEX ix_files_pending ON files (feed_id, time_ns, path, id) WHERE state = 'pending';

CREATE INDEX ix_files_unsettled ON files (feed_id, id, state) WHERE state IN ('missing', 'changed', 'ignored');

CREATE INDEX ix_files_window_id_id ON files (window_id, id) WHERE window_id IS NOT NULL;

CREATE INDEX ix_generations_published_at ON generations (published_at, window_id, records, bytes, bad_records) WHERE state = 'published';

CREATE INDEX ix_generations_run ON generations (run);

CREATE INDEX ix_listings_feed_id_id ON listings (feed_id, id);

CREATE INDEX ix_windows_feed_id_created_at ON windows (feed_id, created_at);

CREATE INDEX ix_windows_planning ON windows (id) WHERE state = 'planning';

CREATE INDEX ix_windows_run ON windows (run);

CREATE UNIQUE INDEX uq_generations_published ON generations (window_id) WHERE state = 'published';

CREATE UNIQUE INDEX uq_generations_unfinished ON generations (window_id) WHERE state IN ('reading', 'proven', 'publishing', 'failed');

CREATE UNIQUE INDEX uq_requests_open ON requests (digest) WHERE finished_at IS NULL;

