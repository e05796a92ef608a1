import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Sessions and runs of the coding harness, and everything that a run stores. */
export class Harness2026112700008 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE harness_session (
        id uuid PRIMARY KEY,
        tenant_id varchar(20) NOT NULL REFERENCES tenant (tenant_id) ON DELETE CASCADE,
        user_id bigint NOT NULL REFERENCES user_account (id) ON DELETE CASCADE,
        home_tenant_id varchar(20) NOT NULL,
        title varchar(200) NOT NULL,
        workspace varchar(4096) NOT NULL,
        workspace_identity varchar(50) NOT NULL,
        model_name varchar(200) NOT NULL,
        permission_mode varchar(20) NOT NULL,
        approval_policy varchar(20) NOT NULL,
        next_message_sequence bigint NOT NULL DEFAULT 1,
        idempotency_key varchar(256) NOT NULL,
        idempotency_hash char(64) NOT NULL,
        revision integer NOT NULL DEFAULT 1,
        pinned_at timestamptz,
        deleted_at timestamptz,
        create_time timestamptz NOT NULL DEFAULT now(),
        update_time timestamptz NOT NULL DEFAULT now()
      );
      CREATE UNIQUE INDEX harness_session_idempotency ON harness_session (tenant_id, user_id, idempotency_key);
      CREATE INDEX harness_session_list ON harness_session (tenant_id, user_id, id);
      CREATE INDEX harness_session_user ON harness_session (user_id);

      CREATE TABLE harness_run (
        id uuid PRIMARY KEY,
        tenant_id varchar(20) NOT NULL REFERENCES tenant (tenant_id) ON DELETE CASCADE,
        session_id uuid NOT NULL REFERENCES harness_session (id) ON DELETE CASCADE,
        user_id bigint NOT NULL REFERENCES user_account (id) ON DELETE CASCADE,
        home_tenant_id varchar(20) NOT NULL,
        requirement text NOT NULL,
        permission_mode varchar(20) NOT NULL,
        approval_policy varchar(20) NOT NULL,
        budget jsonb NOT NULL,
        status varchar(20) NOT NULL,
        phase varchar(10) NOT NULL,
        wait_kind varchar(10),
        recovering boolean NOT NULL DEFAULT false,
        reason varchar(50),
        stop_reason varchar(40),
        error_code varchar(60),
        error_message varchar(2000),
        cancel_requested_at timestamptz,
        cancel_requested_by bigint,
        plan jsonb,
        plan_receipt jsonb,
        question jsonb,
        iteration integer NOT NULL DEFAULT 0,
        tool_calls integer NOT NULL DEFAULT 0,
        input_tokens bigint NOT NULL DEFAULT 0,
        output_tokens bigint NOT NULL DEFAULT 0,
        cached_tokens bigint NOT NULL DEFAULT 0,
        cost double precision,
        context_used integer,
        context_limit integer,
        compaction jsonb,
        active_ms bigint NOT NULL DEFAULT 0,
        event_bytes bigint NOT NULL DEFAULT 0,
        artifact_bytes bigint NOT NULL DEFAULT 0,
        lease_owner uuid,
        lease_boot varchar(100),
        lease_until timestamptz,
        fence integer NOT NULL DEFAULT 0,
        recovery_attempts integer NOT NULL DEFAULT 0,
        due_at timestamptz NOT NULL DEFAULT now(),
        revision integer NOT NULL DEFAULT 1,
        next_event_sequence bigint NOT NULL DEFAULT 1,
        idempotency_key varchar(256) NOT NULL,
        idempotency_hash char(64) NOT NULL,
        create_time timestamptz NOT NULL DEFAULT now(),
        update_time timestamptz NOT NULL DEFAULT now(),
        ended_at timestamptz,
        model_name varchar(200) NOT NULL
      );
      CREATE UNIQUE INDEX harness_run_idempotency ON harness_run (session_id, idempotency_key);
      CREATE UNIQUE INDEX harness_run_live ON harness_run (session_id)
        WHERE status NOT IN ('COMPLETED', 'FAILED', 'CANCELLED');
      CREATE INDEX harness_run_list ON harness_run (tenant_id, session_id, id);
      CREATE INDEX harness_run_user ON harness_run (user_id);
      CREATE INDEX harness_run_due ON harness_run (due_at) WHERE status IN ('QUEUED', 'RUNNING');
      CREATE INDEX harness_run_parked ON harness_run (tenant_id, user_id)
        WHERE status IN ('WAITING_FOR_APPROVAL', 'WAITING_FOR_INPUT', 'SUSPENDED');
      CREATE INDEX harness_run_ended ON harness_run (ended_at) WHERE ended_at IS NOT NULL;
      -- A run without a model has that of its session.
      CREATE FUNCTION harness_run_model() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        IF NEW.model_name IS NULL THEN
          SELECT s.model_name INTO NEW.model_name FROM harness_session s
            WHERE s.tenant_id = NEW.tenant_id AND s.id = NEW.session_id;
        END IF;
        RETURN NEW;
      END $$;
      CREATE TRIGGER harness_run_model BEFORE INSERT ON harness_run
        FOR EACH ROW EXECUTE FUNCTION harness_run_model();

      CREATE TABLE harness_workspace_lock (
        tenant_id varchar(20) NOT NULL REFERENCES tenant (tenant_id) ON DELETE CASCADE,
        workspace varchar(4096) NOT NULL,
        run_id uuid NOT NULL REFERENCES harness_run (id) ON DELETE CASCADE,
        fence integer NOT NULL,
        create_time timestamptz NOT NULL DEFAULT now(),
        PRIMARY KEY (tenant_id, workspace)
      );
      CREATE INDEX harness_workspace_lock_run ON harness_workspace_lock (run_id);

      -- What an operator has switched for the whole installation.
      CREATE TABLE harness_switch (
        name varchar(40) PRIMARY KEY,
        enabled boolean NOT NULL,
        changed_by bigint,
        update_time timestamptz NOT NULL DEFAULT now()
      );

      CREATE TABLE harness_input (
        id uuid PRIMARY KEY,
        tenant_id varchar(20) NOT NULL REFERENCES tenant (tenant_id) ON DELETE CASCADE,
        run_id uuid NOT NULL REFERENCES harness_run (id) ON DELETE CASCADE,
        kind varchar(10) NOT NULL,
        content text NOT NULL,
        idempotency_key varchar(256) NOT NULL,
        idempotency_hash char(64) NOT NULL,
        create_time timestamptz NOT NULL DEFAULT now(),
        consumed_at timestamptz
      );
      CREATE UNIQUE INDEX harness_input_idempotency ON harness_input (run_id, idempotency_key);
      CREATE INDEX harness_input_pending ON harness_input (tenant_id, run_id, id) WHERE consumed_at IS NULL;
      CREATE INDEX harness_input_tenant_id_fk ON harness_input (tenant_id);

      CREATE TABLE harness_message (
        id uuid PRIMARY KEY,
        tenant_id varchar(20) NOT NULL REFERENCES tenant (tenant_id) ON DELETE CASCADE,
        session_id uuid NOT NULL REFERENCES harness_session (id) ON DELETE CASCADE,
        run_id uuid NOT NULL REFERENCES harness_run (id) ON DELETE CASCADE,
        sequence bigint NOT NULL,
        role varchar(10) NOT NULL,
        content text NOT NULL,
        thinking text,
        tool_calls jsonb NOT NULL DEFAULT '[]',
        tool_call_id uuid,
        tool_name varchar(100),
        tool_error boolean NOT NULL DEFAULT false,
        finish_reason varchar(20),
        usage jsonb,
        metadata jsonb NOT NULL DEFAULT '{}',
        create_time timestamptz NOT NULL DEFAULT now(),
        provider_state jsonb
      );
      CREATE UNIQUE INDEX harness_message_sequence ON harness_message (session_id, sequence);
      CREATE UNIQUE INDEX harness_message_result ON harness_message (run_id, tool_call_id) WHERE role = 'TOOL';
      CREATE INDEX harness_message_run ON harness_message (tenant_id, run_id, sequence);
      CREATE INDEX harness_message_run_id_fk ON harness_message (run_id);
      COMMENT ON COLUMN harness_message.provider_state IS 'What the service of the model wants back with the answer; opaque';

      CREATE TABLE harness_event (
        run_id uuid NOT NULL REFERENCES harness_run (id) ON DELETE CASCADE,
        sequence bigint NOT NULL,
        tenant_id varchar(20) NOT NULL REFERENCES tenant (tenant_id) ON DELETE CASCADE,
        session_id uuid NOT NULL,
        type varchar(40) NOT NULL,
        step_id varchar(40),
        tool_call_id uuid,
        approval_id uuid,
        data jsonb NOT NULL,
        create_time timestamptz NOT NULL DEFAULT now(),
        PRIMARY KEY (run_id, sequence)
      );
      CREATE INDEX harness_event_tenant_id_fk ON harness_event (tenant_id);

      CREATE TABLE harness_model_call (
        id uuid PRIMARY KEY,
        tenant_id varchar(20) NOT NULL REFERENCES tenant (tenant_id) ON DELETE CASCADE,
        run_id uuid NOT NULL REFERENCES harness_run (id) ON DELETE CASCADE,
        iteration integer NOT NULL,
        attempt integer NOT NULL,
        purpose varchar(10) NOT NULL,
        fence integer NOT NULL,
        state varchar(10) NOT NULL,
        input_tokens bigint,
        output_tokens bigint,
        cached_tokens bigint,
        cost double precision,
        estimated boolean NOT NULL DEFAULT false,
        duration_ms integer,
        error_code varchar(60),
        create_time timestamptz NOT NULL DEFAULT now(),
        ended_at timestamptz
      );
      CREATE INDEX harness_model_call_run ON harness_model_call (tenant_id, run_id, id);
      CREATE INDEX harness_model_call_run_id_fk ON harness_model_call (run_id);

      CREATE TABLE harness_effect (
        tool_call_id uuid PRIMARY KEY,
        tenant_id varchar(20) NOT NULL REFERENCES tenant (tenant_id) ON DELETE CASCADE,
        session_id uuid NOT NULL,
        run_id uuid NOT NULL REFERENCES harness_run (id) ON DELETE CASCADE,
        iteration integer NOT NULL,
        ordinal integer NOT NULL,
        provider_call_id varchar(200) NOT NULL,
        tool_name varchar(100) NOT NULL,
        effect_class varchar(10) NOT NULL,
        arguments_json text NOT NULL,
        arguments_sha256 char(64) NOT NULL,
        input jsonb NOT NULL,
        state varchar(20) NOT NULL,
        fence integer,
        boot varchar(100),
        operations jsonb NOT NULL DEFAULT '[]',
        snapshot_sha256 char(64),
        reads jsonb NOT NULL DEFAULT '[]',
        result text,
        error_code varchar(60),
        exit_code integer,
        artifact_id uuid,
        reconciled boolean NOT NULL DEFAULT false,
        resolution varchar(20),
        resolved_by bigint,
        note varchar(4000),
        create_time timestamptz NOT NULL DEFAULT now(),
        started_at timestamptz,
        ended_at timestamptz
      );
      CREATE UNIQUE INDEX harness_effect_ordinal ON harness_effect (run_id, iteration, ordinal);
      CREATE INDEX harness_effect_open ON harness_effect (tenant_id, run_id)
        WHERE state IN ('PREPARED', 'STARTED', 'UNCERTAIN');
      CREATE INDEX harness_effect_tenant_id_fk ON harness_effect (tenant_id);

      CREATE TABLE harness_approval (
        id uuid PRIMARY KEY,
        tenant_id varchar(20) NOT NULL REFERENCES tenant (tenant_id) ON DELETE CASCADE,
        session_id uuid NOT NULL,
        run_id uuid NOT NULL REFERENCES harness_run (id) ON DELETE CASCADE,
        user_id bigint NOT NULL,
        tool_call_id uuid NOT NULL,
        tool_name varchar(100) NOT NULL,
        summary varchar(2000) NOT NULL,
        arguments_json text NOT NULL,
        arguments_sha256 char(64) NOT NULL,
        subject_hash char(64) NOT NULL,
        grantable boolean NOT NULL,
        grants jsonb NOT NULL DEFAULT '[]',
        notes jsonb NOT NULL DEFAULT '[]',
        state varchar(10) NOT NULL,
        revision integer NOT NULL DEFAULT 1,
        decision varchar(20),
        decision_id varchar(256),
        note varchar(4000),
        decided_by bigint,
        decided_at timestamptz,
        expires_at timestamptz NOT NULL,
        create_time timestamptz NOT NULL DEFAULT now(),
        model_description text,
        preview jsonb NOT NULL DEFAULT '{"command": null, "files": [], "diff": null, "diffTruncated": false}'
      );
      CREATE UNIQUE INDEX harness_approval_pending ON harness_approval (tool_call_id) WHERE state = 'PENDING';
      CREATE INDEX harness_approval_run ON harness_approval (tenant_id, run_id, id);
      CREATE INDEX harness_approval_inbox ON harness_approval (tenant_id, user_id, id) WHERE state = 'PENDING';
      CREATE INDEX harness_approval_expiry ON harness_approval (expires_at) WHERE state = 'PENDING';
      CREATE INDEX harness_approval_run_id_fk ON harness_approval (run_id);

      CREATE TABLE harness_grant (
        id uuid PRIMARY KEY,
        tenant_id varchar(20) NOT NULL REFERENCES tenant (tenant_id) ON DELETE CASCADE,
        session_id uuid NOT NULL REFERENCES harness_session (id) ON DELETE CASCADE,
        kind varchar(10) NOT NULL,
        subject_hash char(64) NOT NULL,
        subject text NOT NULL,
        approval_id uuid NOT NULL,
        granted_by bigint NOT NULL,
        create_time timestamptz NOT NULL DEFAULT now(),
        revoked_at timestamptz,
        revoked_by bigint
      );
      CREATE UNIQUE INDEX harness_grant_subject ON harness_grant (session_id, kind, subject_hash)
        WHERE revoked_at IS NULL;
      CREATE INDEX harness_grant_session ON harness_grant (tenant_id, session_id, id);
      CREATE INDEX harness_grant_session_id_fk ON harness_grant (session_id);

      CREATE TABLE harness_file_change (
        id bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
        tenant_id varchar(20) NOT NULL REFERENCES tenant (tenant_id) ON DELETE CASCADE,
        run_id uuid NOT NULL REFERENCES harness_run (id) ON DELETE CASCADE,
        tool_call_id uuid NOT NULL,
        path varchar(4096) NOT NULL,
        op varchar(10) NOT NULL,
        before_sha256 char(64),
        after_sha256 char(64),
        before_mode integer,
        after_mode integer,
        additions integer,
        deletions integer,
        restorable boolean NOT NULL DEFAULT true,
        undone boolean NOT NULL DEFAULT false,
        create_time timestamptz NOT NULL DEFAULT now()
      );
      CREATE INDEX harness_file_change_run ON harness_file_change (tenant_id, run_id, id);
      CREATE INDEX harness_file_change_run_id_fk ON harness_file_change (run_id);

      CREATE TABLE harness_artifact (
        id uuid PRIMARY KEY,
        tenant_id varchar(20) NOT NULL REFERENCES tenant (tenant_id) ON DELETE CASCADE,
        run_id uuid NOT NULL REFERENCES harness_run (id) ON DELETE CASCADE,
        tool_call_id uuid,
        kind varchar(20) NOT NULL,
        media_type varchar(100) NOT NULL,
        byte_size bigint NOT NULL,
        sha256 char(64) NOT NULL,
        create_time timestamptz NOT NULL DEFAULT now()
      );
      CREATE INDEX harness_artifact_run ON harness_artifact (tenant_id, run_id, id);
      CREATE INDEX harness_artifact_run_id_fk ON harness_artifact (run_id);

      CREATE TABLE harness_skill (
        run_id uuid NOT NULL REFERENCES harness_run (id) ON DELETE CASCADE,
        position integer NOT NULL,
        tenant_id varchar(20) NOT NULL REFERENCES tenant (tenant_id) ON DELETE CASCADE,
        name varchar(64) NOT NULL,
        description text NOT NULL,
        source varchar(100) NOT NULL,
        base varchar(4096) NOT NULL,
        path varchar(4096) NOT NULL,
        sha256 char(64) NOT NULL,
        body text NOT NULL,
        PRIMARY KEY (run_id, position)
      );
      CREATE INDEX harness_skill_tenant_id_fk ON harness_skill (tenant_id);
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      DROP TABLE harness_skill, harness_artifact, harness_file_change, harness_grant, harness_approval,
        harness_effect, harness_model_call, harness_event, harness_message, harness_input, harness_switch,
        harness_workspace_lock, harness_run, harness_session;
      DROP FUNCTION harness_run_model();
    `);
  }
}
