import type { SandboxResult } from '../../sandbox/sandbox.result.js';
import type { SecretMask } from '../../store/secret-mask.js';
import type { ToolOutcome } from '../tool.js';
import { firstBytes, lastBytes, outputText } from './shown-output.js';

/** What a model reads of a command, with the lines about it. */
const SHOWN_BYTES = 48 * 1_024;
const LINES_BYTES = 512;
const SIDE_BYTES = (SHOWN_BYTES - LINES_BYTES) / 2;

/**
 * What the model reads of a command: how it has ended, then its output or the beginning and the end of it, without
 * secrets. They are masked before the output is cut, which would else leave a part of one at the cut.
 */
export function commandOutput(
  result: SandboxResult,
  timeoutMs: number,
  mask: SecretMask,
): Pick<ToolOutcome, 'content' | 'summary' | 'truncated' | 'whole'> {
  const ending = endingOf(result, timeoutMs);
  const { text, truncated } = shownOutput(result, mask);
  const seconds = (result.durationMs / 1_000).toFixed(1);
  return {
    content: `${ending}\n${text === '' ? '[No output.]' : text}`,
    summary: `${ending} after ${seconds} s`,
    truncated,
    ...(truncated && { whole: result.output }),
  };
}

function endingOf(result: SandboxResult, timeoutMs: number): string {
  const { exitCode, signal, timedOut, cancelled, tooManyProcesses } = result;
  if (timedOut) return `timed out: ended after ${timeoutMs} ms`;
  if (cancelled) return 'cancelled: ended before it was done';
  if (tooManyProcesses) return 'ended: it had more than 256 processes and threads';
  return `exit code ${exitCode ?? 'unknown'}${signal ? ` (${signal})` : ''}`;
}

function shownOutput(
  result: SandboxResult,
  mask: SecretMask,
): { text: string; truncated: boolean } {
  const { outputBytes } = result;
  if (outputBytes <= 2 * SIDE_BYTES) {
    const text = mask.apply(outputText(result.output));
    // What is no text grows when it becomes one.
    if (Buffer.byteLength(text) <= 2 * SIDE_BYTES) return { text, truncated: false };
  }
  // With all of a secret that lies across the cut.
  const wanted = SIDE_BYTES + mask.longest();
  const head = firstBytes(mask.applyToBeginning(outputText(result.head(wanted))), SIDE_BYTES);
  const tail = lastBytes(mask.applyToEnd(outputText(result.tail(wanted))), SIDE_BYTES);
  const remark = `[The output has ${outputBytes} bytes; this is its beginning and its end. Repeat the command with a filter to see more.]`;
  return { text: `${head}\n${remark}\n${tail}`, truncated: true };
}
