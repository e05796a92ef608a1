import { Injectable } from '@nestjs/common';
import { Artifacts } from '../change/artifacts.js';
import { BlobStore } from '../change/blob.store.js';
import { FileChanges } from '../change/file-changes.js';
import type { HarnessEffect } from '../store/harness.entity.js';
import { observedFiles } from '../store/effect.repository.js';
import { ToolResults } from './tool.results.js';
import type { EventDraft } from '../store/event.catalogue.js';
import type { RunWriter } from '../store/run-writer.js';
import { RunLedger } from '../store/run.ledger.js';
import { SecretMask } from '../store/secret-mask.js';
import type { CallOutcome } from './call.outcome.js';
import type { CallTurn } from './call.turn.js';

/** What of a tool's result the model gets at most, whatever the tool says. */
const RESULT_BYTES = 64 * 1024;
/** The body of a skill is given whole (specification, Limits). */
const SKILL_BYTES = 256 * 1024;

/** Writes down how a call has come out: effect, message, events, changed files and artifact in one transaction. */
@Injectable()
export class CallRecord {
  constructor(
    private readonly ledger: RunLedger,
    private readonly results: ToolResults,
    private readonly changes: FileChanges,
    private readonly artifacts: Artifacts,
    private readonly blobs: BlobStore,
    private readonly mask: SecretMask,
  ) {}

  /**
   * `begun` says that the call has begun, where nothing has said so yet. `also` joins the transaction, after everything
   * else; it gets the id of the call's message.
   */
  async write(
    turn: CallTurn,
    effect: HarnessEffect,
    what: {
      readonly outcome: CallOutcome;
      readonly durationMs: number;
      readonly begun?: EventDraft;
    },
    also: (writer: RunWriter, messageId: string) => Promise<void> | void = () => undefined,
  ): Promise<void> {
    const { outcome, durationMs, begun } = what;
    const { held, run, secrets, seen } = turn;
    const longest = effect.toolName === 'activate_skill' ? SKILL_BYTES : RESULT_BYTES;
    const result = cut(this.mask.apply(outcome.content, secrets), longest);
    const whole = outcome.whole && this.mask.applyToBytes(outcome.whole, secrets);
    // On disk before the transaction, which must not wait for it.
    if (whole) await this.blobs.put(run.tenantId, whole);
    await this.ledger.asOwner(held.lease, async (writer) => {
      const artifactId = whole && (await this.keep(turn, effect, whole));
      const { state, code: errorCode, exitCode, operations, truncated } = outcome;
      const stored = {
        state,
        result,
        errorCode,
        exitCode,
        artifactId,
        seen: outcome.seen,
        operations,
      };
      const summary = this.mask.apply(outcome.summary, secrets);
      if (begun) writer.events([begun]);
      const note = { summary, durationMs, ...(truncated !== undefined && { truncated }) };
      const messageId = await this.results.settle(writer, effect, stored, note);
      writer.set({ toolCalls: writer.run.toolCalls + 1 });
      writer.events(outcome.events ?? []);
      if (outcome.changes) {
        writer.events(await this.changes.record(run, effect.toolCallId, outcome.changes));
      }
      if (messageId !== undefined) await also(writer, messageId);
    });
    const sights = observedFiles({
      reads: outcome.seen ?? [],
      operations: outcome.operations ?? effect.operations,
      state: outcome.state,
      effectClass: effect.effectClass,
    });
    for (const { path, sha256 } of sights) seen.set(path, sha256);
  }

  private keep(
    { run }: CallTurn,
    { toolCallId }: HarnessEffect,
    bytes: Buffer,
  ): Promise<string | undefined> {
    const mediaType = 'text/plain; charset=utf-8';
    return this.artifacts.keep(run, { toolCallId, kind: 'output', mediaType, bytes });
  }
}

function cut(content: string, longest: number): string {
  if (Buffer.byteLength(content) <= longest) return content;
  const head = Buffer.from(content)
    .subarray(0, longest)
    .toString('utf8')
    .replace(/\ufffd$/, '');
  return `${head}\n[cut: the result was longer than ${longest} bytes]`;
}
