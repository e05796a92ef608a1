import { Injectable } from '@nestjs/common';
import type { ResolvedChatModel } from '../../model/index.js';
import type { CountedUsage } from '../context/counted.usage.js';
import type { RunWriter } from '../store/run-writer.js';
import { costOf } from '../protocol/run.values.js';
import { ModelCallRepository } from '../store/model-call.repository.js';
import type { ModelCallEnd, ModelCallStart } from '../store/model-call.repository.js';

/** A call of the model that has been written down as begun. */
export interface BegunCall {
  /** Of the call, as events name it. */
  readonly effectId: string;
  /** What it is sent, as estimated: counted from its beginning on. */
  readonly sentTokens: number;
}

interface CallEnd extends Pick<ModelCallEnd, 'state' | 'durationMs' | 'errorCode'> {
  /** Undefined when the service has not taken the request. */
  readonly used: CountedUsage | undefined;
  readonly model: ResolvedChatModel;
}

/**
 * Counts what the calls of models take, in their rows and in the run's totals. What is sent counts from the beginning of
 * a call, as estimated: a call whose process dies is not free. Its end puts the right numbers in the place.
 */
@Injectable()
export class ModelUsage {
  constructor(private readonly calls: ModelCallRepository) {}

  async begin(writer: RunWriter, call: Omit<ModelCallStart, 'iteration'>): Promise<BegunCall> {
    const { iteration, inputTokens } = writer.run;
    const { sentTokens } = call;
    const effectId = await this.calls.start(writer.run, { ...call, iteration });
    writer.set({ inputTokens: inputTokens + sentTokens });
    return { effectId, sentTokens };
  }

  async end(writer: RunWriter, { effectId, sentTokens }: BegunCall, end: CallEnd): Promise<void> {
    const { used, model, ...how } = end;
    const { run } = writer;
    const inputTokens = run.inputTokens - sentTokens;
    if (!used) {
      await this.calls.end(run, effectId, how);
      writer.set({ inputTokens });
      return;
    }
    const cost = costOf(used, model);
    const { cachedInputTokens: cachedTokens, estimated } = used;
    const counts = { inputTokens: used.inputTokens, outputTokens: used.outputTokens, cachedTokens };
    await this.calls.end(run, effectId, { ...how, ...counts, cost, estimated });
    writer.set({
      inputTokens: inputTokens + used.inputTokens,
      outputTokens: run.outputTokens + used.outputTokens,
      cachedTokens: run.cachedTokens + (cachedTokens ?? 0),
      cost: cost === undefined ? run.cost : (run.cost ?? 0) + cost,
    });
    tell(writer);
  }
}

function tell(writer: RunWriter): void {
  const { inputTokens, outputTokens, cachedTokens, cost, contextUsed, contextLimit } = writer.run;
  writer.event('usage.updated', {
    inputTokens,
    outputTokens,
    cachedTokens,
    ...(cost !== null && { cost }),
    ...(contextUsed !== null && { contextUsed }),
    ...(contextLimit !== null && { contextLimit }),
  });
}
