import { SKILL_TOOL } from '../store/message.repository.js';
import { mkdir, readFile, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { Inject, Injectable, Logger } from '@nestjs/common';
import { CONFIG } from '../../platform/config/index.js';
import type { Config } from '../../platform/config/index.js';
import { blobRoot, tenantBlobs } from '../change/blob.path.js';
import { Artifacts, BlobStore, writeNew } from '../change/blob.store.js';
import { FileChanges, foldersOf } from '../change/file-changes.js';
import type { DescribedChanges } from '../change/file-changes.js';
import type { RunContext } from './run.context.js';
import { ToolError } from '../protocol/tool-call.js';
import type { ToolErrorCode } from '../protocol/tool-call.js';
import type {
  EffectOutcome,
  FileOperation,
  RunEffect,
  SettledEffectState,
} from '../../effect/index.js';
import { observedFiles } from '../store/file-change.repository.js';
import { firstBytes, shortened, visibleLine } from '../protocol/values.js';
import type { OutputCollector } from '../sandbox/sandbox.run.js';
import { stepIdOf } from '../store/event.catalogue.js';
import type { EventDraft } from '../store/event.catalogue.js';
import type { RunWriter } from '../store/run.ledger.js';
import { RunStore } from '../store/run.ledger.js';
import { SecretMask } from '../store/secret-mask.js';
import { boundCall, givenArguments } from '../tool/tool.js';
import type { BoundCall, ShellOutcome, ToolOutcome } from '../tool/tool.js';
import { ToolRegistry } from '../tool/tools.js';

/** Interval of writes, and so the output that a crash may lose. */
const WRITE_EVERY_MS = 3_000;

type EffectKey = Pick<RunEffect, 'tenantId' | 'toolCallId'>;

/**
 * The output of running commands as files that outlive the process: the first 5 MiB, a few seconds old. A file that cannot
 * be written or read counts as missing: no command fails because of it.
 */
@Injectable()
export class PartialOutputs {
  private readonly logger = new Logger('Harness');
  private readonly root: string;

  constructor(@Inject(CONFIG) config: Config) {
    this.root = blobRoot(config.DATA_DIR);
  }

  /** Starts storing a command's output. Everything passes `mask` before it is written. */
  begin(effect: EffectKey, mask: (bytes: Buffer) => Buffer): PartialOutput {
    return new PartialOutput(async (bytes) => {
      const path = this.pathOf(effect);
      try {
        await mkdir(dirname(path), { recursive: true, mode: 0o700 });
        // Left by a lost process, or a link planted there.
        await rm(`${path}.new`, { force: true });
        await writeNew(`${path}.new`, mask(bytes));
        await rename(`${path}.new`, path);
      } catch (error) {
        const { toolCallId } = effect;
        this.logger.warn({ msg: 'Failed to write partial output', toolCallId, err: error });
      }
    });
  }

  /** The output written so far; undefined when there is none. */
  async read(effect: EffectKey): Promise<Buffer | undefined> {
    return readFile(this.pathOf(effect)).catch(() => undefined);
  }

  /** Call it once the output is stored elsewhere. */
  async remove(effect: EffectKey): Promise<void> {
    const path = this.pathOf(effect);
    for (const name of [path, `${path}.new`]) {
      await rm(name, { force: true }).catch(() => undefined);
    }
  }

  /** Path below the tenant's contents, so that it is removed with them. */
  private pathOf({ tenantId, toolCallId }: EffectKey): string {
    const folder = tenantBlobs(this.root, tenantId);
    if (folder === undefined) throw new Error('The id of a tenant must be a word.');
    return join(folder, 'running', toolCallId);
  }
}

/** The output of one command. */
export class PartialOutput {
  private output: OutputCollector | undefined;
  private isFull = false;
  private timer: NodeJS.Timeout | undefined;
  private writing: Promise<void> = Promise.resolve();

  constructor(private readonly write: (bytes: Buffer) => Promise<void>) {}

  /** There is more of the output. */
  readonly update = (output: OutputCollector): void => {
    if (this.isFull) return;
    this.output = output;
    this.isFull = output.discarding;
    this.timer ??= setTimeout(() => this.flush(), WRITE_EVERY_MS);
  };

  /** Writes the rest. */
  async end(): Promise<void> {
    if (this.timer) this.flush();
    await this.writing;
  }

  private flush(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    const { output } = this;
    if (output) this.writing = this.writing.then(() => this.write(output.whole()));
  }
}

/** Outcome of a tool call before it is stored. */
export interface CallOutcome extends Omit<ToolOutcome, 'failure'> {
  readonly state: SettledEffectState;
  readonly code?: ToolErrorCode;
  readonly exitCode?: number;
  readonly operations?: readonly FileOperation[];
  readonly changes?: DescribedChanges;
}

/** A call that this process executes. */
export interface ExecutedCall {
  readonly context: RunContext;
  readonly effect: RunEffect;
  /** Start time by performance.now(). */
  readonly startedAt: number;
}

/** Details of a call beside its result. */
interface ResultNote {
  /** One line for people. */
  readonly summary?: string;
  readonly truncated?: boolean | undefined;
  readonly durationMs?: number;
  /** Credentials that the run has used. */
  readonly secrets?: readonly string[];
}

/** Maximum size of a tool's result for the model. */
const MAX_RESULT_BYTES = 64 * 1024;
/** The body of a skill is given whole. */
const MAX_SKILL_BYTES = 256 * 1024;
const MAX_SUMMARY_CHARS = 200;
/** Maximum length of a title in an event. */
const MAX_TITLE_CHARS = 200;

/** State by error code: invalid arguments, missing consent, or nothing was done. All others mean failed. */
const STATES: Readonly<Partial<Record<ToolErrorCode, SettledEffectState>>> = {
  INVALID_ARGUMENTS: 'INVALID',
  UNKNOWN_TOOL: 'INVALID',
  TOOL_NOT_OFFERED: 'INVALID',
  LIMIT_REACHED: 'NOT_EXECUTED',
  DENIED: 'DENIED',
  SECRET_PATH: 'DENIED',
  PROTECTED_PATH: 'DENIED',
  WRITES_DISABLED: 'DENIED',
  APPROVAL_STALE: 'NOT_EXECUTED',
  TIMED_OUT: 'TIMED_OUT',
  CANCELLED: 'CANCELLED',
};

export function failedOutcome({ code, message }: ToolError): CallOutcome {
  const summary = message.split('\n', 1)[0] ?? '';
  return { state: STATES[code] ?? 'FAILED', content: message, summary, code };
}

export function doneOutcome({ failure, ...outcome }: ToolOutcome): CallOutcome {
  if (!failure) return { ...outcome, state: 'SUCCEEDED' };
  return { ...outcome, state: STATES[failure] ?? 'FAILED', code: failure };
}

/** Operations of a finished command that its row keeps; the rows of the changes are all of them. */
const MAX_STORED_OPERATIONS = 1_000;

/** The first ones, and one for each folder that was made or removed, which an undo has to know. */
function keptOperations(operations: readonly FileOperation[]): readonly FileOperation[] {
  if (operations.length <= MAX_STORED_OPERATIONS) return operations;
  const folders = new Set<string>();
  return operations.filter(({ path, madeFolders = 0 }, index) => {
    const knownCount = folders.size;
    for (const folder of foldersOf(path).slice(0, madeFolders)) folders.add(folder);
    return index < MAX_STORED_OPERATIONS || folders.size > knownCount;
  });
}

export function shellOutcome(
  { exitCode, changes: operations, ...outcome }: ShellOutcome,
  changes: DescribedChanges,
): CallOutcome {
  return {
    ...doneOutcome(outcome),
    ...(exitCode !== null && { exitCode }),
    operations: keptOperations(operations),
    ...(operations.length > 0 && { changes }),
  };
}

/** Stores how tool calls end: the effect's row, the one message that the model reads, the event, and what was changed. */
@Injectable()
export class ToolResults {
  constructor(
    private readonly store: RunStore,
    private readonly changes: FileChanges,
    private readonly artifacts: Artifacts,
    private readonly blobs: BlobStore,
    private readonly registry: ToolRegistry,
    private readonly mask: SecretMask,
    readonly outputs: PartialOutputs,
  ) {}

  /** Keeps the masked output of a command that begins, a few seconds old, in case this process is lost. */
  beginOutput(effect: RunEffect, secrets: readonly string[]): PartialOutput {
    return this.outputs.begin(effect, (bytes) => this.mask.applyToBytes(bytes, secrets));
  }

  /** The event that a call begins. Every call has one: stored before it where it takes long, at the latest with its end. */
  started(effect: RunEffect, secrets: readonly string[] = []): EventDraft {
    const { toolCallId, toolName, effectClass, argumentsJson, iteration } = effect;
    const { title, modelDescription } = this.describedCall(effect);
    const maskedDescription = modelDescription && this.mask.apply(modelDescription, secrets);
    return {
      type: 'tool.started',
      data: {
        toolName,
        title: shortened(this.mask.apply(title, secrets), MAX_TITLE_CHARS),
        ...(maskedDescription && { modelDescription: maskedDescription }),
        effectClass,
        argumentsJson: this.mask.apply(argumentsJson, secrets),
      },
      subject: { toolCallId, stepId: stepIdOf(iteration) },
    };
  }

  /** Stores that a call begins which takes long and changes nothing outside of the database; once. */
  async announce(writer: RunWriter, effect: RunEffect, secrets: readonly string[]): Promise<void> {
    const isFirst = await this.store.effects.announce(writer.run, effect.toolCallId);
    if (isFirst) writer.events([this.started(effect, secrets)]);
  }

  /** Title and description of a call; only its name when the call cannot be parsed. */
  private describedCall(effect: RunEffect): Pick<BoundCall, 'title' | 'modelDescription'> {
    const { toolName } = effect;
    const tool = this.registry.find(toolName);
    try {
      if (tool) return boundCall(tool, givenArguments(effect));
    } catch (error) {
      if (!(error instanceof ToolError)) throw error;
    }
    return { title: visibleLine(`call ${toolName}`), modelDescription: undefined };
  }

  /**
   * Stores the outcome of an executed call in one transaction. `also` joins the transaction last; it gets the id of the
   * call's message.
   */
  async record(
    { context, effect, startedAt }: ExecutedCall,
    outcome: CallOutcome,
    also: (writer: RunWriter, messageId: string) => Promise<void> | void = () => undefined,
  ): Promise<void> {
    const durationMs = performance.now() - startedAt;
    const { lease, run, secrets } = context;
    const { toolCallId } = effect;
    const longest = effect.toolName === SKILL_TOOL ? MAX_SKILL_BYTES : MAX_RESULT_BYTES;
    const { state, code: errorCode, exitCode, seen, operations, truncated } = outcome;
    const result = cut(this.mask.apply(outcome.content, secrets), longest);
    const summary = this.mask.apply(outcome.summary, secrets);
    const whole = outcome.whole && this.mask.applyToBytes(outcome.whole, secrets);
    // The content is written to disk before the transaction, which must not wait for it.
    if (whole) await this.blobs.put(run.tenantId, whole);
    await this.store.ledger.asOwner(lease.claim, async (writer) => {
      const artifactId = whole && (await this.artifacts.keep(run, outputOf(toolCallId, whole)));
      const stored = { state, result, errorCode, exitCode, artifactId, seen, operations };
      const note = { summary, durationMs, truncated, secrets };
      const messageId = await this.finish(writer, effect, stored, note);
      writer.set({ toolCalls: writer.run.toolCalls + 1 });
      writer.events(outcome.events ?? []);
      if (outcome.changes) {
        writer.events(await this.changes.record(run, toolCallId, outcome.changes));
      }
      if (messageId !== undefined) await also(writer, messageId);
    });
    const observed = observedFiles({
      reads: seen ?? [],
      operations: operations ?? effect.operations,
      state,
      effectClass: effect.effectClass,
    });
    for (const { path, sha256 } of observed) context.observedFiles.set(path, sha256);
  }

  /** Stores the outcome of an open effect and its message; answers the message's id. Undefined when it has ended already. */
  async finish(
    writer: RunWriter,
    effect: RunEffect,
    outcome: EffectOutcome,
    note: ResultNote = {},
  ): Promise<string | undefined> {
    const finished = await this.store.effects.finish(writer.run, effect.toolCallId, outcome);
    if (!finished) return undefined;
    if (!finished.hadBegun) writer.events([this.started(effect, note.secrets)]);
    const { state, result, errorCode = null, exitCode = null, artifactId = null } = outcome;
    const ended = { ...effect, state, result, errorCode, exitCode, artifactId };
    return this.answer(writer, ended, note);
  }

  /** Writes the message of an effect with its outcome, as stored; answers its id. The index on it refuses a second one. */
  async answer(writer: RunWriter, effect: RunEffect, note: ResultNote = {}): Promise<string> {
    const { toolCallId, toolName, iteration, effectClass } = effect;
    const { state, errorCode, exitCode, artifactId } = effect;
    const result = effect.result ?? '';
    const error = state !== 'SUCCEEDED';
    const durationMs = Math.round(note.durationMs ?? 0);
    const messageId = await this.store.messages.append(writer.run, {
      role: 'TOOL',
      content: result,
      toolCallId,
      toolName,
      toolError: error,
      metadata: {
        effectId: toolCallId,
        durationMillis: durationMs,
        ...(errorCode !== null && { code: errorCode }),
        ...(artifactId !== null && { artifactId }),
      },
    });
    writer.event(
      'tool.completed',
      {
        toolName,
        messageId,
        error,
        code: errorCode,
        status: state,
        summary: note.summary ?? firstLine(result),
        truncated: note.truncated ?? false,
        ...(artifactId !== null && { artifactId }),
        ...(exitCode !== null && { exitCode }),
        ...(effectClass === 'SHELL' && { output: result.slice(-MAX_OUTPUT_CHARS).toWellFormed() }),
        durationMs,
      },
      { toolCallId, stepId: stepIdOf(iteration) },
    );
    return messageId;
  }
}

/** Length of the output's end in the event of a command. */
const MAX_OUTPUT_CHARS = 8_000;

/** The whole output of a call as an artifact. */
export function outputOf(toolCallId: string, bytes: Buffer): Parameters<Artifacts['keep']>[1] {
  return { toolCallId, kind: 'output', mediaType: 'text/plain; charset=utf-8', bytes };
}

function firstLine(text: string): string {
  return (text.split('\n', 1)[0] ?? '').slice(0, MAX_SUMMARY_CHARS);
}

function cut(content: string, longest: number): string {
  if (Buffer.byteLength(content) <= longest) return content;
  return `${firstBytes(content, longest)}\n[cut: the result was longer than ${longest} bytes]`;
}
