import { Badge, Button, Group, Progress, Stack, Text } from '@mantine/core';
import { withMessage } from '@plinth/client';
import type { AttachmentView, KnowledgeView } from '@plinth/client';
import { useTranslation } from 'react-i18next';
import { plinth } from '../app/plinth';
import { TextLink } from '../ui/buttons';
import { useAction } from '../ui/action';
import { number } from '../ui/format';
import { baseKey } from './base';
import styles from './knowledge.module.css';

export const PENDING = 0;
export const PARSING = 1;
export const PARSED = 2;
export const FAILED = 3;

const STATES = ['pending', 'parsing', 'parsed', 'failed'] as const;
/** Readable on the tints of the badges, in both themes. */
const TEXTS = [
  'var(--mantine-color-text)',
  'var(--mantine-color-anchor)',
  'var(--plinth-good)',
  'var(--plinth-bad)',
] as const;
const COLOURS = ['gray', 'indigo', 'teal', 'red'] as const;

/** Whether the document is still being processed. */
export function isMoving({ status, parseRequested }: AttachmentView): boolean {
  return status === PARSING || (status === PENDING && parseRequested);
}

/** Polls only while a document is being parsed. */
export function pollWhileMoving(rows: readonly AttachmentView[]): number | false {
  return rows.some(isMoving) ? POLL_MS : false;
}

const POLL_MS = 1_500;

export function useParseActions(knowledgeId: number) {
  const { t } = useTranslation('knowledge');
  const changes = [baseKey(knowledgeId), ['documents']];
  const parse = useAction((id: number) => withMessage(plinth.attachParse, { path: { id } }), {
    done: ({ message }) => message,
    changes,
  });
  const cancel = useAction((id: number) => plinth.attachCancel({ path: { id } }), {
    done: t('document.cancelled'),
    changes,
  });
  return { parse, cancel };
}

/** Failures that the settings of the base can fix: the message names one of them. */
function isOfSettings(reason: string | null, base: KnowledgeView): boolean {
  if (base.embeddingModel === '') return true;
  return /\b(embeddingModel|ocrModel|enableOcr|contextModel)\b/.test(reason ?? '');
}

interface Props {
  readonly document: AttachmentView;
  readonly base: KnowledgeView;
  readonly mayParse: boolean;
}

/** State of a document. A failure shows its reason and the action that resolves it. */
export function DocumentState({ document, base, mayParse }: Props) {
  const { t } = useTranslation('knowledge');
  const { parse, cancel } = useParseActions(base.id);
  const { id, status, reason, parseRequested } = document;
  const state = STATES[status] ?? 'pending';
  return (
    <Stack gap={4} py={4} className={styles['state']}>
      <Group gap={8}>
        <Badge
          variant="light"
          color={COLOURS[status] ?? 'gray'}
          c={TEXTS[status]}
          className={styles['stateBadge']}
        >
          {t(`document.state.${state}`)}
        </Badge>
        {status === PARSING && <ParsingProgress document={document} />}
        {mayParse && isMoving(document) && (
          <Button
            size="compact-xs"
            variant="subtle"
            color="gray"
            loading={cancel.isPending}
            onClick={() => cancel.mutate(id)}
          >
            {t('document.cancel')}
          </Button>
        )}
        {mayParse && !isMoving(document) && (status === FAILED || status === PENDING) && (
          <Button
            size="compact-xs"
            variant="default"
            loading={parse.isPending}
            onClick={() => parse.mutate(id)}
          >
            {t(status === FAILED ? 'document.retry' : 'document.parse')}
          </Button>
        )}
      </Group>
      {reason && (status === FAILED || parseRequested) && (
        <Text
          size="xs"
          className={status === FAILED ? styles['bad'] : undefined}
          c={status === FAILED ? undefined : 'dimmed'}
        >
          {reason}{' '}
          {status === FAILED && isOfSettings(reason, base) && (
            <TextLink
              size="xs"
              to="/knowledge/$knowledgeId"
              params={{ knowledgeId: String(base.id) }}
              search={{ tab: 'settings' }}
            >
              {t('base.openSettings')}
            </TextLink>
          )}
        </Text>
      )}
    </Stack>
  );
}

function ParsingProgress({ document }: { readonly document: AttachmentView }) {
  const { t } = useTranslation('knowledge');
  const [part, done, total] = stageOf(document);
  const share = total ? Math.round((done / total) * 100) : 0;
  const label = t(`document.stage.${part}`, { done: number(done), total: number(total ?? 0) });
  return (
    <Group gap={8} wrap="nowrap" className={styles['stage']}>
      <Progress value={share} animated={total === null} size="sm" flex={1} aria-label={label} />
      <Text size="xs" c="dimmed" className={styles['stageText']}>
        {label}
      </Text>
    </Group>
  );
}

/** Progress of parsing: pages are read, context lines are written, then fragments are embedded. */
function stageOf(
  document: AttachmentView,
): ['read' | 'pages' | 'context' | 'embed', number, number | null] {
  const { ocrDone, ocrTotal, contextDone, progressDone, progressTotal } = document;
  if (ocrTotal !== null && ocrDone < ocrTotal && progressTotal === null)
    return ['pages', ocrDone, ocrTotal];
  if (progressTotal === null) return ['read', 0, null];
  if (contextDone > 0 && contextDone < progressTotal)
    return ['context', contextDone, progressTotal];
  return ['embed', progressDone, progressTotal];
}
