import type { ResolvedChatModel } from '../../../model/index.js';
import { UpstreamError } from '../../../provider/index.js';
import type { ChatCall, FinishReason } from '../../../provider/index.js';

/** In all; nobody waits longer for a session. */
const PROBE_MS = 30_000;
const LIMITS = { connectMs: 10_000, idleMs: PROBE_MS, totalMs: PROBE_MS };

const CALL = {
  messages: [{ role: 'user', content: 'Call the tool ping with the word "ready".' }],
  tools: [
    {
      name: 'ping',
      description: 'Answers that the caller can call tools.',
      inputSchema: {
        type: 'object',
        properties: { word: { type: 'string' } },
        required: ['word'],
        additionalProperties: false,
      },
    },
  ],
  thinking: false,
} satisfies Omit<ChatCall, 'model'>;

/** What a probe has found; unclear when the answer says neither. */
export type ProbeResult = 'calls-tools' | 'calls-none' | 'unclear';

/**
 * Asks the model once to call a tool, and takes at most 30 seconds. Fails with UpstreamError when the service cannot be
 * reached, refuses the key or does not know the model.
 */
export async function probeTools(model: ResolvedChatModel): Promise<ProbeResult> {
  const signal = AbortSignal.timeout(PROBE_MS);
  try {
    return await ask(model, 'required', signal);
  } catch (error) {
    if (!isRefusal(error)) throw error;
  }
  // Some services know tools, but not that one must be called.
  try {
    return await ask(model, 'auto', signal);
  } catch (error) {
    if (isRefusal(error)) return 'unclear';
    throw error;
  }
}

async function ask(
  model: ResolvedChatModel,
  toolChoice: 'required' | 'auto',
  signal: AbortSignal,
): Promise<ProbeResult> {
  const call = { ...CALL, model: model.modelName, toolChoice };
  let finish: FinishReason | undefined;
  for await (const parts of model.adapter.stream(call, model.connection, {
    limits: LIMITS,
    signal,
  })) {
    for (const part of parts) {
      if (part.type === 'tool-call') return 'calls-tools';
      if (part.type === 'finish') finish = part.reason;
    }
  }
  return finish === 'stop' ? 'calls-none' : 'unclear';
}

function isRefusal(error: unknown): boolean {
  return error instanceof UpstreamError && error.kind === 'invalid-request';
}
