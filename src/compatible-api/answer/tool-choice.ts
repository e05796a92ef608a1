import { msg } from '../../platform/message/index.js';
import type { ChatCall, ToolDefinition } from '../../provider/index.js';
import { ParameterError } from './api.errors.js';

/** Of the tools of a request, those that may be called. */
export interface NamedTools {
  readonly mode: 'auto' | 'required';
  /** Each with the path of its parameter. */
  readonly names: readonly (readonly [param: string, name: string])[];
}

export type ToolChoice = 'auto' | 'none' | 'required' | NamedTools;

export type OfferedTools = Pick<ChatCall, 'tools' | 'toolChoice'>;

/**
 * What a model is offered. Tools that are named are the only ones, because not every protocol can name one, and few can
 * name several. Throws ParameterError for a name that no tool has.
 */
export function offeredTools(
  tools: readonly ToolDefinition[],
  choice: ToolChoice | undefined,
): OfferedTools {
  if (typeof choice !== 'object') {
    return {
      ...(tools.length > 0 && { tools }),
      ...(choice !== undefined && { toolChoice: choice }),
    };
  }
  for (const [param, name] of choice.names) {
    if (tools.some((one) => one.name === name)) continue;
    throw new ParameterError(
      param,
      msg`tools has no function ${name}. Choose one of those in tools.`,
    );
  }
  const named = new Set(choice.names.map(([, name]) => name));
  return { tools: tools.filter(({ name }) => named.has(name)), toolChoice: choice.mode };
}
