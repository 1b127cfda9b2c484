PRAGMA application_id = 1415007303;
PRAGMA user_version = 1;
BEGIN TRANSACTION;
CREATE TABLE alembic_version (
	version_num VARCHAR(32) NOT NULL, 
	CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num)
);
INSERT INTO "alembic_version" VALUES('0001');
CREATE TABLE entries (
        number INTEGER PRIMARY KEY,
        session INTEGER NOT NULL,
        seq INTEGER NOT NULL,
        data BLOB NOT NULL,
        hash BLOB NOT NULL
    );
INSERT INTO "entries" VALUES(1,1,1,X'7B22736571223A312C22776F7264223A226B657074227D',X'00639B3276855E94B8397F977963EA7D05D354691849BD87070CAF8FE909A1DC');
INSERT INTO "entries" VALUES(2,1,2,X'7B22736571223A322C22776F7264223A226B657074227D',X'54DCB827C9660D2346A8B1406FBC3D5596A2FAA2C9CFB839DC7EBD389A60D7B4');
INSERT INTO "entries" VALUES(3,1,3,X'7B22736571223A332C22776F7264223A226B657074227D',X'0A220C0221D6691FB08298B1108C993247123DD57BB3DF082C03DFC352E16CC5');
CREATE TABLE heads (
        session INTEGER PRIMARY KEY,
        seq INTEGER NOT NULL,
        hash BLOB NOT NULL
    );
INSERT INTO "heads" VALUES(1,3,X'0A220C0221D6691FB08298B1108C993247123DD57BB3DF082C03DFC352E16CC5');
CREATE TABLE operations (
        number INTEGER PRIMARY KEY AUTOINCREMENT,
        at REAL NOT NULL,
        kind TEXT NOT NULL,
        session_id TEXT NOT NULL,
        detail TEXT NOT NULL
    );
INSERT INTO "operations" VALUES(1,1.79507022168630313869e+09,'remove','gone','{"sessions": ["gone"]}');
CREATE TABLE removals (
        session INTEGER PRIMARY KEY,
        operation INTEGER NOT NULL REFERENCES operations (number)
    );
INSERT INTO "removals" VALUES(2,1);
CREATE TABLE sessions (
        number INTEGER PRIMARY KEY AUTOINCREMENT,
        id TEXT NOT NULL UNIQUE,
        parent_id TEXT,
        project TEXT NOT NULL,
        title TEXT NOT NULL,
        agent TEXT NOT NULL,
        model TEXT NOT NULL,
        status TEXT NOT NULL,
        created_at REAL NOT NULL,
        updated_at REAL NOT NULL,
        epoch INTEGER NOT NULL DEFAULT 0,
        owner TEXT,
        owner_lock TEXT
    );
INSERT INTO "sessions" VALUES(1,'session_golden',NULL,'/home/somebody/project','An old session','main','some/model','waiting',1.5,2.5,3,'an owner of long ago','78fa2984d7180cca');
CREATE INDEX sessions_by_parent ON sessions (parent_id, updated_at, number);
CREATE INDEX sessions_by_project ON sessions (project, parent_id, updated_at, number);
CREATE INDEX sessions_by_status ON sessions (status, parent_id, updated_at, number);
CREATE UNIQUE INDEX entries_in_order ON entries (session, seq);
CREATE TRIGGER entries_are_never_changed BEFORE UPDATE ON entries
    BEGIN SELECT RAISE(ABORT, 'entries of a log are never changed'); END;
CREATE TRIGGER entries_go_with_their_session BEFORE DELETE ON entries
    WHEN NOT EXISTS (SELECT 1 FROM removals WHERE session = OLD.session)
    BEGIN SELECT RAISE(ABORT, 'entries of a log are never deleted one by one'); END;
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('sessions',2);
INSERT INTO "sqlite_sequence" VALUES('operations',1);
COMMIT;
