import type { CallToolResult, Tool } from '@modelcontextprotocol/server';
import type { Request, Response } from 'express';
import type { Caller } from '../platform/access/index.js';
import type { Failure } from '../platform/error/index.js';

/** The HTTP request of a message, whose caller is authenticated. */
export interface Exchange {
  readonly caller: Caller;
  readonly request: Request;
  readonly response: Response;
}

export type Arguments = Readonly<Record<string, unknown>>;
export type OnProgress = (text: string) => Promise<void>;

/** The tools of an address. */
export interface ServedTools {
  /** Text for the model about all of them. */
  readonly instructions: string;
  /** Those that the caller may use. */
  list(caller: Caller): Promise<Tool[]>;
  /**
   * A failure is a result with isError, which a model can read; nothing is thrown. undefined if there is no tool of the name that
   * the caller may use.
   */
  call(
    name: string,
    args: Arguments,
    exchange: Exchange,
    onProgress: OnProgress,
  ): Promise<CallToolResult | undefined>;
}

export function textPart(text: string): { readonly type: 'text'; readonly text: string } {
  return { type: 'text', text };
}

export function failed({ message }: Failure): CallToolResult {
  return { isError: true, content: [textPart(message)] };
}
