import { count, onOff, tenantFolders, variable } from './variable.js';
import type { Variable } from './variable.js';

/** The variables of the coding harness. */
export const harnessVariables = {
  HARNESS_ROOTS: variable(tenantFolders, {
    default: '',
    example: '/srv/workspaces,000001=/srv/acme',
    description:
      'Harness: folders below which a tenant may have workspaces, as tenantId=/folder; without a tenant that of 000000; default: DATA_DIR/workspaces/{tenantId} with the embedded database, else none',
  }),
  HARNESS_ASK_USER: variable(onOff, {
    default: 'off',
    example: 'on',
    description: 'Harness: let the model ask the user questions, for which the run waits',
  }),
  HARNESS_ARTIFACT_MB: count(
    200,
    'Harness: stored outputs and images per run at most (MiB)',
    102_400,
  ),
  HARNESS_COMMAND_MEMORY_MB: count(
    4_096,
    'Harness: memory of a command, all its processes together; it is ended when it uses more (MiB)',
    1_048_576,
  ),
  HARNESS_RUNS: count(8, 'Harness: runs that one process executes at a time', 1_000),
  HARNESS_RUNS_PER_USER: count(2, 'Harness: runs of one user that are executed at a time', 1_000),
  HARNESS_MODEL_IDLE_SECONDS: count(60, 'Harness: longest silence of a model (seconds)', 3_600),
  HARNESS_MODEL_RETRY_MS: count(
    1_000,
    'Harness: pause before a failed model call is retried; each further pause is four times as long (milliseconds)',
    60_000,
  ),
  HARNESS_MAX_STEPS: count(60, 'Harness: model calls per run at most', 200),
  HARNESS_QUEUE_SIZE: count(256, 'Harness: runs that may wait for execution', 100_000),
  HARNESS_STREAMS_PER_USER: count(
    10,
    'Harness: open event streams of one user per process; half of them for one run',
  ),
  HARNESS_RETENTION_DAYS: count(30, 'Harness: how long the events of a run are kept (days)', 3_650),
} satisfies Record<string, Variable>;
