import type { SourceView } from '@plinth/client';
import type { MessageFileView, MessageView } from '@plinth/client';
import { createContext, useContext } from 'react';

/** A source as shown in a panel. Sources of a live answer have no `cited` yet. */
export type ShownSource = Omit<SourceView, 'cited'> & { readonly cited?: boolean };

/** Actions of the chat page that messages of a conversation can trigger. */
export interface ChatActions {
  /** Regenerates the answer to a stored question and keeps the earlier answers. */
  readonly answerAgain: (questionId: string) => void;
  /** Sends an edited question as a new branch. */
  readonly edit: (message: MessageView, content: string, files: readonly MessageFileView[]) => void;
  /** Switches to another branch. */
  readonly choose: (messageId: string) => void;
  readonly openSource: (source: ShownSource) => void;
  /** Whether sending is disabled because an answer is being written. */
  readonly isBusy: boolean;
  readonly agentName: (id: number) => string | undefined;
}

export const Actions = createContext<ChatActions | undefined>(undefined);

export function useActions(): ChatActions {
  const actions = useContext(Actions);
  if (!actions) throw new Error('Messages belong in a conversation.');
  return actions;
}
