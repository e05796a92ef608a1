import type { MigrationInterface, QueryRunner } from 'typeorm';
import { EFFECTS, FILES } from './13-harness.effects.js';

/** Sessions and runs of the coding harness, and everything that a run leaves behind. */
export class Harness1763683200013 implements MigrationInterface {
  name = 'Harness1763683200013';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(SESSIONS_AND_RUNS);
    await runner.query(CONVERSATION);
    await runner.query(EFFECTS);
    await runner.query(FILES);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(
      `DROP TABLE harness_switch, harness_skill, harness_workspace_lock, harness_artifact, harness_file_change,
        harness_grant, harness_approval, harness_effect, harness_model_call, harness_event, harness_message,
        harness_input, harness_run, harness_session`,
    );
  }
}

const SESSIONS_AND_RUNS = `
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
    ended_at timestamptz
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
`;

const CONVERSATION = `
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
    create_time timestamptz NOT NULL DEFAULT now()
  );
  CREATE UNIQUE INDEX harness_message_sequence ON harness_message (session_id, sequence);
  CREATE UNIQUE INDEX harness_message_result ON harness_message (run_id, tool_call_id) WHERE role = 'TOOL';
  CREATE INDEX harness_message_run ON harness_message (tenant_id, run_id, sequence);

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
`;
