import {
  Alert,
  Button,
  Group,
  NumberInput,
  SimpleGrid,
  Skeleton,
  Stack,
  Text,
  TextInput,
} from '@mantine/core';
import { IconScissors } from '@tabler/icons-react';
import type {
  AttachmentView,
  KnowledgeView,
  PreviewedFragmentView,
  PreviewView,
} from '@plinth/client';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { lazy, Suspense, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { plinth } from '../app/plinth';
import { useSearchParams } from '../app/search-params';
import { ActionButton } from '../ui/buttons';
import { Failure, messageOf } from '../ui/states';
import { number } from '../ui/format';
import { ModelPicker } from '../ui/pickers';
import { ApplySettings } from './apply-settings';
import { baseKey, useBaseAccess } from './base';
import styles from './knowledge.module.css';

const LengthChart = lazy(() => import('./length-chart'));

interface Split {
  readonly textBlockSize: number;
  readonly overlapChar: number;
  readonly separator: string;
  readonly contextModel: string;
}

interface Props {
  readonly base: KnowledgeView;
  readonly document: AttachmentView;
}

/** Preview of how other settings would split the document. Nothing is stored until they are applied. */
export default function SplitPreview({ base, document }: Props) {
  const { t } = useTranslation('knowledge');
  const { can } = useBaseAccess(base);
  const [address, change] = useSearchParams();
  const tried = splitOf(base, address['split']);
  const [draft, setDraft] = useState<Split>(tried);
  const [applying, setApplying] = useState(false);
  const { data, error, refetch, isFetching } = useQuery({
    queryKey: [...baseKey(base.id), 'split', document.id, tried],
    queryFn: ({ signal }) =>
      plinth.previewSplit({
        path: { id: base.id },
        body: { attachmentId: document.id, ...tried },
        signal,
      }),
    placeholderData: keepPreviousData,
    staleTime: 5 * 60_000,
  });
  const isWrong = draft.overlapChar >= draft.textBlockSize;
  const isChanged = JSON.stringify(draft) !== JSON.stringify(tried);
  const submit = (): void => change({ split: JSON.stringify(draft) });
  const differs =
    tried.textBlockSize !== base.textBlockSize ||
    tried.overlapChar !== base.overlapChar ||
    tried.separator !== base.separator ||
    tried.contextModel !== base.contextModel;
  return (
    <Stack gap="md">
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (!isWrong) submit();
        }}
      >
        <Group align="flex-end" gap="sm">
          <NumberInput
            label={t('field.textBlockSize')}
            min={1}
            max={100_000}
            step={100}
            w={150}
            value={draft.textBlockSize}
            onChange={(value) => setDraft({ ...draft, textBlockSize: Number(value) || 1 })}
          />
          <NumberInput
            label={t('field.overlapChar')}
            min={0}
            max={100_000}
            step={10}
            w={150}
            value={draft.overlapChar}
            error={isWrong}
            onChange={(value) => setDraft({ ...draft, overlapChar: Number(value) || 0 })}
          />
          <TextInput
            label={t('field.separator')}
            placeholder={'\\n'}
            maxLength={255}
            w={140}
            value={draft.separator}
            onChange={({ currentTarget }) => setDraft({ ...draft, separator: currentTarget.value })}
          />
          <ModelPicker
            category="chat"
            label={t('field.contextModel')}
            placeholder={t('none')}
            clearable
            value={draft.contextModel}
            onChange={(contextModel) => setDraft({ ...draft, contextModel })}
          />
          <ActionButton
            type="submit"
            variant={isChanged ? 'filled' : 'default'}
            disabled={isWrong}
            loading={isFetching}
            icon={IconScissors}
          >
            {t('split.run')}
          </ActionButton>
          {differs && can('system:info:edit') && (
            <Button variant="default" onClick={() => setApplying(true)}>
              {t('apply.open')}
            </Button>
          )}
        </Group>
        {isWrong && (
          <Text size="sm" className={styles['bad']} mt={6} role="alert">
            {t('help.overlapWrong')}
          </Text>
        )}
      </form>
      {error && !data && <Failure error={error} onRetry={() => void refetch()} />}
      {error && data && (
        <Alert color="red" role="alert">
          {messageOf(error)}
        </Alert>
      )}
      {!data && !error && (
        <SimpleGrid cols={{ base: 1, md: 2 }} role="status" aria-label={t('split.running')}>
          <Skeleton height={420} />
          <Skeleton height={420} />
        </SimpleGrid>
      )}
      {data && <PreviewResult preview={data} overlapChar={tried.overlapChar} stale={isFetching} />}
      {applying && (
        <ApplySettings
          base={base}
          changes={{
            textBlockSize: tried.textBlockSize,
            overlapChar: tried.overlapChar,
            separator: tried.separator,
            contextModel: tried.contextModel,
          }}
          onClose={() => setApplying(false)}
        />
      )}
    </Stack>
  );
}

/** Overrides the settings of the base with those in the URL. */
function splitOf(base: KnowledgeView, text: string | undefined): Split {
  const { textBlockSize, overlapChar, separator, contextModel } = base;
  const baseSettings = { textBlockSize, overlapChar, separator, contextModel };
  try {
    return { ...baseSettings, ...(JSON.parse(text ?? '{}') as Partial<Split>) };
  } catch {
    return baseSettings;
  }
}

interface ResultProps {
  readonly preview: PreviewView;
  readonly overlapChar: number;
  readonly stale: boolean;
}

function PreviewResult({ preview, overlapChar, stale }: ResultProps) {
  const { t } = useTranslation('knowledge');
  const [marked, setMarked] = useState<number>();
  const { fragments, total, contextCalls, contextInputTokens, contextOutputTokens } = preview;
  const lengths = fragments.map(({ characters }) => characters);
  const mean =
    lengths.length === 0 ? 0 : lengths.reduce((sum, one) => sum + one, 0) / lengths.length;
  const select = (idx: number, column: string): void => {
    setMarked(idx);
    globalThis.document.getElementById(`${column}-${idx}`)?.scrollIntoView({ block: 'nearest' });
  };
  return (
    <Stack gap="md" aria-busy={stale}>
      <Group gap="xl" align="stretch">
        <Figure label={t('split.fragments')} value={number(total)} />
        <Figure label={t('split.mean')} value={number(mean)} />
        <Figure label={t('split.shortest')} value={number(Math.min(...lengths, Infinity) || 0)} />
        <Figure label={t('split.longest')} value={number(Math.max(...lengths, 0))} />
        {lengths.length > 1 && (
          <div className={styles['chart']}>
            <Suspense fallback={<Skeleton height={84} />}>
              <LengthChart lengths={lengths} />
            </Suspense>
          </div>
        )}
      </Group>
      {contextCalls !== null && (
        <Text size="sm" c="dimmed">
          {t('split.context', {
            calls: number(contextCalls),
            input: number(contextInputTokens ?? 0),
            output: number(contextOutputTokens ?? 0),
          })}
        </Text>
      )}
      {total > fragments.length && (
        <Text size="sm" c="dimmed">
          {t('split.first', { shown: number(fragments.length), total: number(total) })}
        </Text>
      )}
      <SimpleGrid cols={{ base: 1, md: 2 }} spacing="md">
        <section className={styles['pane']} aria-label={t('split.document')} tabIndex={0}>
          {fragments.map((fragment, place) => {
            const repeated = repeatedIn(fragments[place - 1], fragment, overlapChar);
            return (
              <button
                key={fragment.idx}
                id={`text-${fragment.idx}`}
                type="button"
                className={styles['piece']}
                data-tint={fragment.idx % 4}
                data-marked={marked === fragment.idx || undefined}
                aria-pressed={marked === fragment.idx}
                onClick={() => select(fragment.idx, 'fragment')}
              >
                {fragment.content.slice(repeated)}
              </button>
            );
          })}
        </section>
        <section className={styles['pane']} aria-label={t('split.fragments')} tabIndex={0}>
          <ol className={styles['plain']}>
            {fragments.map((fragment, place) => (
              <PreviewedFragment
                key={fragment.idx}
                fragment={fragment}
                repeated={repeatedIn(fragments[place - 1], fragment, overlapChar)}
                marked={marked === fragment.idx}
                onClick={() => select(fragment.idx, 'text')}
              />
            ))}
          </ol>
        </section>
      </SimpleGrid>
    </Stack>
  );
}

interface PreviewedProps {
  readonly fragment: PreviewedFragmentView;
  readonly repeated: number;
  readonly marked: boolean;
  readonly onClick: () => void;
}

function PreviewedFragment({ fragment, repeated, marked, onClick }: PreviewedProps) {
  const { t } = useTranslation('knowledge');
  const { idx, content, characters, page, headings } = fragment;
  return (
    <li>
      <button
        id={`fragment-${idx}`}
        type="button"
        className={styles['previewed']}
        data-tint={idx % 4}
        data-marked={marked || undefined}
        aria-pressed={marked}
        onClick={onClick}
      >
        <span className={styles['facts']}>
          <b>{number(idx + 1)}</b>
          <span>{t('fragment.characters', { count: characters, shown: number(characters) })}</span>
          {page !== null && <span>{t('fragment.page', { page: number(page) })}</span>}
          {headings && <span>{headings}</span>}
        </span>
        <span className={styles['content']}>
          {repeated > 0 && <span className={styles['repeated']}>{content.slice(0, repeated)}</span>}
          {content.slice(repeated)}
        </span>
      </button>
    </li>
  );
}

/** Number of leading characters that repeat the end of the previous fragment, at most the overlap. */
function repeatedIn(
  before: PreviewedFragmentView | undefined,
  { content }: PreviewedFragmentView,
  overlapChar: number,
): number {
  if (!before) return 0;
  for (
    let length = Math.min(overlapChar, content.length, before.content.length);
    length > 0;
    length -= 1
  ) {
    if (before.content.endsWith(content.slice(0, length))) return length;
  }
  return 0;
}

function Figure({ label, value }: { readonly label: string; readonly value: string }) {
  return (
    <div>
      <Text size="xs" c="dimmed">
        {label}
      </Text>
      <Text fz={20} fw={600}>
        {value}
      </Text>
    </div>
  );
}
