import type { SourceView } from '@plinth/client';
import type { MessageFileView, MessageView } from '@plinth/client';
import { createContext, useContext } from 'react';

/** A source as a panel shows it; live ones do not know yet whether they are cited. */
export type ShownSource = Omit<SourceView, 'cited'> & { readonly cited?: boolean };

/** What the messages of a conversation can ask of its page. */
export interface ChatActions {
  /** Answers a stored question again, beside its earlier answers. */
  readonly answerAgain: (questionId: string) => void;
  /** Sends a question in place of an earlier one. */
  readonly edit: (message: MessageView, content: string, files: readonly MessageFileView[]) => void;
  /** Shows another branch. */
  readonly choose: (messageId: string) => void;
  readonly openSource: (source: ShownSource) => void;
  /** Nothing can be sent while an answer is written. */
  readonly isBusy: boolean;
  readonly agentName: (id: number) => string | undefined;
}

export const Actions = createContext<ChatActions | undefined>(undefined);

export function useActions(): ChatActions {
  const actions = useContext(Actions);
  if (!actions) throw new Error('Messages belong in a conversation.');
  return actions;
}
