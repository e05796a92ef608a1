import {
  Alert,
  Badge,
  Button,
  Collapse,
  Group,
  Paper,
  Stack,
  Text,
  TextInput,
  Title,
} from '@mantine/core';
import {
  IconArrowsDiff,
  IconChevronDown,
  IconChevronRight,
  IconFlask,
  IconInfoCircle,
  IconSearch,
  IconX,
} from '@tabler/icons-react';
import type { KnowledgeView, RetrievalSearchResponse, RetrievedFragmentView } from '@plinth/client';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { plinth } from '../app/plinth';
import { useSearchParams } from '../app/search-params';
import { ActionButton, IconButton, TextLink } from '../ui/buttons';
import { useAction } from '../ui/action';
import { Empty, Failure, RowsSkeleton } from '../ui/states';
import { duration, number } from '../ui/format';
import { ApplySettings } from './apply-settings';
import { baseKey, useBaseAccess } from './base';
import { explanationOf, fromFirstMatch, MAX_FUSED_SCORE, piecesOf, reasonOf } from './explanation';
import type { ChannelReport } from './explanation';
import { MetadataFilter } from './metadata-filter';
import { SearchFields } from './search-fields';
import { baseSettingsOf, bodyOf, savedOf, settingsIn } from './search-settings';
import type { SearchSettings } from './search-settings';
import styles from './knowledge.module.css';

/** Searches the base like a chat and explains each hit. Two settings can be compared side by side. */
export default function RetrievalTest({ base }: { readonly base: KnowledgeView }) {
  const { t } = useTranslation('knowledge');
  const [address, change] = useSearchParams();
  const [text, setText] = useState(address['q'] ?? '');
  const query = address['q'] ?? '';
  const filter = address['filter'];
  const first = settingsIn(address['first'], savedOf(base));
  const second =
    address['second'] === undefined ? undefined : settingsIn(address['second'], savedOf(base));
  const keep = (name: 'first' | 'second') => (settings: SearchSettings) =>
    change({ [name]: JSON.stringify(settings) });
  const one = useSearchResult(base, { query, settings: first, filter });
  const other = useSearchResult(base, {
    query: second ? query : '',
    settings: second ?? first,
    filter,
  });
  return (
    <Stack gap="md">
      <form
        role="search"
        onSubmit={(event) => {
          event.preventDefault();
          const newQuery = text.trim();
          if (newQuery === '') return;
          if (newQuery === query) {
            void one.refetch();
            if (second) void other.refetch();
          } else change({ q: newQuery });
        }}
      >
        <Group gap="xs" align="flex-start">
          <TextInput
            aria-label={t('retrieval.query')}
            placeholder={t('retrieval.query')}
            value={text}
            onChange={({ currentTarget }) => setText(currentTarget.value)}
            leftSection={<IconSearch size={16} stroke={1.5} />}
            flex="1 1 260px"
            autoFocus={query === ''}
          />
          <MetadataFilter
            knowledgeId={base.id}
            value={filter}
            onChange={(next) => change({ filter: next })}
          />
          <Button type="submit" loading={one.isFetching} disabled={text.trim() === ''}>
            {t('retrieval.search')}
          </Button>
          {!second && (
            <ActionButton
              variant="default"
              icon={IconArrowsDiff}
              onClick={() => keep('second')(savedOf(base))}
            >
              {t('retrieval.compare')}
            </ActionButton>
          )}
        </Group>
      </form>
      <div className={second ? styles['compared'] : styles['single']}>
        <SettingsCard
          base={base}
          title={t(second ? 'retrieval.settingsA' : 'retrieval.settings')}
          settings={first}
          onChange={keep('first')}
        />
        {second && (
          <SettingsCard
            base={base}
            title={t('retrieval.settingsB')}
            settings={second}
            onChange={keep('second')}
            onRemove={() => change({ second: undefined })}
          />
        )}
        <Results
          base={base}
          label={second && t('retrieval.settingsA')}
          query={query}
          result={one}
        />
        {second && (
          <Results
            base={base}
            label={t('retrieval.settingsB')}
            query={query}
            result={other}
            against={one.data?.data}
          />
        )}
      </div>
    </Stack>
  );
}

interface Search {
  readonly query: string;
  readonly settings: SearchSettings;
  readonly filter: string | undefined;
}

function useSearchResult(base: KnowledgeView, { query, settings, filter }: Search) {
  return useQuery({
    queryKey: [...baseKey(base.id), 'retrieval', query, settings, filter],
    queryFn: ({ signal }) =>
      plinth.retrievalSearch({
        body: {
          knowledgeId: base.id,
          query,
          explain: true,
          ...bodyOf(settings),
          ...(filter && { filter: JSON.parse(filter) as Record<string, unknown> }),
        },
        signal,
      }),
    enabled: query !== '',
    // Previous hits stay visible until the search with other settings returns.
    placeholderData: query === '' ? undefined : keepPreviousData,
    staleTime: 60_000,
  });
}

interface SettingsProps {
  readonly base: KnowledgeView;
  readonly title: string;
  readonly settings: SearchSettings;
  readonly onChange: (settings: SearchSettings) => void;
  readonly onRemove?: () => void;
}

function SettingsCard({ base, title, settings, onChange, onRemove }: SettingsProps) {
  const { t } = useTranslation('knowledge');
  const { can } = useBaseAccess(base);
  const [applying, setApplying] = useState(false);
  return (
    <Paper component="section" p="md" className={styles['settings']} aria-label={title}>
      <Group justify="space-between" mb="sm" wrap="nowrap">
        <Title order={2} fz={14}>
          {title}
        </Title>
        {onRemove && (
          <IconButton
            icon={IconX}
            iconSize={16}
            label={t('retrieval.endCompare')}
            size="sm"
            onClick={onRemove}
          />
        )}
      </Group>
      <SearchFields value={settings} onChange={onChange} />
      <Group mt="md" gap="xs">
        <Button size="xs" variant="default" onClick={() => onChange(savedOf(base))}>
          {t('retrieval.ofBase')}
        </Button>
        {can('system:info:edit') && (
          <Button size="xs" variant="default" onClick={() => setApplying(true)}>
            {t('apply.open')}
          </Button>
        )}
      </Group>
      {applying && (
        <ApplySettings
          base={base}
          changes={baseSettingsOf(settings)}
          onClose={() => setApplying(false)}
        />
      )}
    </Paper>
  );
}

interface ResultsProps {
  readonly base: KnowledgeView;
  readonly label?: string | undefined;
  readonly query: string;
  readonly result: ReturnType<typeof useSearchResult>;
  /** Hits of the other settings, used to compare positions. */
  readonly against?: readonly RetrievedFragmentView[] | undefined;
}

function Results({ base, label, query, result, against }: ResultsProps) {
  const { t } = useTranslation('knowledge');
  const { data, error, isFetching, refetch } = result;
  if (query === '') {
    return (
      <Empty icon={IconFlask} title={t('retrieval.none')}>
        {t('retrieval.noneHint')}
      </Empty>
    );
  }
  if (error && !isFetching) return <Failure error={error} onRetry={() => void refetch()} />;
  if (!data) {
    return (
      <div role="status" aria-label={t('retrieval.searching')}>
        <RowsSkeleton rows={4} height={140} />
      </div>
    );
  }
  const hits = data.data;
  const keywordBest = Math.max(
    ...[...hits, ...droppedOf(data)].map((hit) => explanationOf(hit).keyword?.score ?? 0),
    0,
  );
  return (
    <section
      aria-label={label ?? t('retrieval.results')}
      aria-busy={isFetching}
      className={styles['results']}
    >
      <Stack gap="sm">
        <Summary data={data} label={label} />
        {data.notices.map((notice) => (
          <Alert
            key={notice}
            color="yellow"
            icon={<IconInfoCircle size={18} stroke={1.5} />}
            role="status"
          >
            {notice}
          </Alert>
        ))}
        {hits.length === 0 && data.notices.length === 0 && (
          <Text c="dimmed" py="lg" ta="center">
            {t('retrieval.nothing')}
          </Text>
        )}
        <Stack component="ol" gap="sm" className={styles['plain']}>
          {hits.map((hit, place) => (
            <Hit
              key={hit.id}
              base={base}
              hit={hit}
              place={place}
              query={query}
              keywordBest={keywordBest}
              before={against && placeIn(against, hit)}
            />
          ))}
        </Stack>
        <Dropped base={base} data={data} keywordBest={keywordBest} query={query} />
      </Stack>
    </section>
  );
}

function droppedOf({ dropped = [] }: RetrievalSearchResponse): readonly RetrievedFragmentView[] {
  return dropped;
}

function placeIn(hits: readonly RetrievedFragmentView[], hit: RetrievedFragmentView): number {
  return hits.findIndex(({ id }) => id === hit.id);
}

function Summary({
  data,
  label,
}: {
  readonly data: RetrievalSearchResponse;
  readonly label: string | undefined;
}) {
  const { t } = useTranslation('knowledge');
  const { channels, belowThreshold, rerank, scale } = data;
  const { vector, keyword } = channels as {
    readonly vector: ChannelReport;
    readonly keyword: ChannelReport | null;
  };
  return (
    <Stack gap={4}>
      {label && (
        <Title order={2} fz={14}>
          {label}
        </Title>
      )}
      <Group gap="md" className={styles['facts']} role="status">
        <span>{t('retrieval.hits', { count: data.data.length })}</span>
        <ChannelFact name={t('retrieval.vector')} report={vector} />
        {keyword && <ChannelFact name={t('retrieval.keyword')} report={keyword} />}
        {rerank !== 'off' && <span>{t(`retrieval.rerankState.${rerank}`)}</span>}
        <span>{t('retrieval.scoreIs', { scale: t(`retrieval.scale.${scale}`) })}</span>
      </Group>
      {belowThreshold.count > 0 && (
        <Text size="sm" c="dimmed">
          {t('retrieval.below', {
            count: belowThreshold.count,
            best: number(belowThreshold.bestScore ?? 0, 3),
          })}
        </Text>
      )}
    </Stack>
  );
}

function ChannelFact({ name, report }: { readonly name: string; readonly report: ChannelReport }) {
  const { t } = useTranslation('knowledge');
  if (report.failure !== undefined)
    return <span className={styles['bad']}>{t('retrieval.channelFailed', { name })}</span>;
  return (
    <span>
      {t('retrieval.channel', {
        name,
        hits: number(report.hits),
        time: duration(Math.round(report.milliseconds)),
      })}
    </span>
  );
}

interface HitProps {
  readonly base: KnowledgeView;
  readonly hit: RetrievedFragmentView;
  /** Position in the result, starting at 0; absent for a dropped fragment. */
  readonly place?: number;
  readonly query: string;
  readonly keywordBest: number;
  /** Position with the other settings; -1 if it is not among their hits. */
  readonly before?: number | undefined;
}

function Hit({ base, hit, place, query, keywordBest, before }: HitProps) {
  const { t } = useTranslation('knowledge');
  const { can } = useBaseAccess(base);
  const [whole, setWhole] = useState(false);
  const { vector, keyword, fusion, rerank, dropped } = explanationOf(hit);
  const expect = useAction(() => expectDocument(base.id, query, hit.docId), {
    done: t('retrieval.expected', { name: hit.sourceName }),
    changes: [baseKey(base.id)],
  });
  const reason = dropped === null ? undefined : reasonOf(dropped);
  const isClamped = isLong(hit) && !whole;
  const pieces = piecesOf(hit.content, keyword?.words ?? []);
  return (
    <li className={styles['card']} data-dropped={dropped !== null || undefined}>
      <Group justify="space-between" wrap="nowrap" gap="xs" align="flex-start" mb={8}>
        <Group gap={8} className={styles['facts']}>
          {place !== undefined && (
            <Text fw={600} size="sm" c="var(--mantine-color-text)">
              {number(place + 1)}
            </Text>
          )}
          {place !== undefined && before !== undefined && <Moved place={place} before={before} />}
          <TextLink
            size="sm"
            fw={600}
            to="/knowledge/$knowledgeId/documents/$documentId"
            params={{ knowledgeId: String(base.id), documentId: hit.docId }}
            search={{ fragment: hit.id }}
          >
            {hit.sourceName}
          </TextLink>
          {hit.page !== null && <span>{t('fragment.page', { page: number(hit.page) })}</span>}
          {hit.headings && <span>{hit.headings}</span>}
        </Group>
        {can('system:info:edit') && (
          <Button
            size="compact-xs"
            variant="subtle"
            color="gray"
            flex="none"
            loading={expect.isPending}
            onClick={() => expect.mutate()}
          >
            {t('retrieval.expect')}
          </Button>
        )}
      </Group>
      {dropped !== null && (
        <Badge
          variant="light"
          color="yellow"
          c="var(--plinth-warn)"
          mb={8}
          className={styles['reason']}
        >
          {reason ? t(`retrieval.reason.${reason.reason}`, { limit: reason.limit }) : dropped}
        </Badge>
      )}
      <div className={styles['bars']}>
        <Bar
          name={t('retrieval.vector')}
          rank={vector?.rank}
          score={vector?.score}
          share={vector?.score ?? 0}
        />
        <Bar
          name={t('retrieval.keyword')}
          rank={keyword?.rank}
          score={keyword?.score}
          share={keywordBest === 0 ? 0 : (keyword?.score ?? 0) / keywordBest}
        />
        {fusion && (
          <Bar
            name={t('retrieval.fused')}
            rank={fusion.rank}
            score={fusion.score}
            share={fusion.score / MAX_FUSED_SCORE}
          />
        )}
        {rerank && (
          <Bar
            name={t('retrieval.reranked')}
            rank={rerank.rank}
            score={rerank.score}
            share={Math.min(1, rerank.score)}
          />
        )}
      </div>
      <div className={styles['content']} data-clamped={isClamped || undefined}>
        {(isClamped ? fromFirstMatch(pieces) : pieces).map(({ text, matched }, part) =>
          matched ? (
            <mark key={part} className={styles['mark']}>
              {text}
            </mark>
          ) : (
            <span key={part}>{text}</span>
          ),
        )}
      </div>
      {isLong(hit) && (
        <Button
          size="compact-xs"
          variant="subtle"
          color="gray"
          mt={4}
          aria-expanded={whole}
          onClick={() => setWhole(!whole)}
        >
          {t(whole ? 'retrieval.less' : 'retrieval.more')}
        </Button>
      )}
    </li>
  );
}

/** Whether the text exceeds the six lines that a card shows. */
function isLong({ content }: RetrievedFragmentView): boolean {
  return content.length > 600 || content.split('\n').length > 6;
}

/** Shows the change of position compared to the other settings. */
function Moved({ place, before }: { readonly place: number; readonly before: number }) {
  const { t } = useTranslation('knowledge');
  if (before === place) return null;
  if (before === -1)
    return (
      <Badge size="sm" variant="light" color="indigo" c="var(--mantine-color-anchor)">
        {t('retrieval.isNew')}
      </Badge>
    );
  const up = before - place;
  return (
    <Badge
      size="sm"
      variant="light"
      color={up > 0 ? 'teal' : 'gray'}
      c={up > 0 ? 'var(--plinth-good)' : 'var(--mantine-color-text)'}
    >
      {t(up > 0 ? 'retrieval.up' : 'retrieval.down', { count: Math.abs(up) })}
    </Badge>
  );
}

interface BarProps {
  readonly name: string;
  readonly rank: number | undefined;
  readonly score: number | undefined;
  /** Share of the full width, 0 to 1. */
  readonly share: number;
}

/** A score as a bar, with the rank in its channel. */
function Bar({ name, rank, score, share }: BarProps) {
  const { t } = useTranslation('knowledge');
  const width = `${Math.max(0, Math.min(1, share)) * 100}%`;
  return (
    <>
      <span>{name}</span>
      <span className={styles['bar']} aria-hidden>
        <span style={{ width }} />
      </span>
      {rank === undefined || score === undefined ? (
        <span className={styles['unfound']}>{t('retrieval.notFound')}</span>
      ) : (
        <span>{t('retrieval.score', { score: score.toFixed(3), rank: number(rank) })}</span>
      )}
    </>
  );
}

interface DroppedProps {
  readonly base: KnowledgeView;
  readonly data: RetrievalSearchResponse;
  readonly keywordBest: number;
  readonly query: string;
}

/** Fragments that matched but are not in the result, each with the reason. */
function Dropped({ base, data, keywordBest, query }: DroppedProps) {
  const { t } = useTranslation('knowledge');
  const [open, setOpen] = useState(false);
  const dropped = droppedOf(data);
  if (dropped.length === 0) return null;
  return (
    <div>
      <Button
        variant="subtle"
        color="gray"
        aria-expanded={open}
        leftSection={
          open ? (
            <IconChevronDown size={16} stroke={1.5} />
          ) : (
            <IconChevronRight size={16} stroke={1.5} />
          )
        }
        onClick={() => setOpen(!open)}
      >
        {t('retrieval.whyNot', { count: dropped.length })}
      </Button>
      <Collapse expanded={open}>
        {open && (
          <Stack component="ol" gap="sm" mt="xs" className={styles['plain']}>
            {dropped.map((hit) => (
              <Hit key={hit.id} base={base} hit={hit} keywordBest={keywordBest} query={query} />
            ))}
          </Stack>
        )}
      </Collapse>
    </div>
  );
}

/** Adds the document to the expected results of the question in the base's test set. */
async function expectDocument(knowledgeId: number, query: string, docId: string): Promise<void> {
  const { rows } = await plinth.testSetList({
    path: { knowledgeId },
    query: { query, pageSize: 100 },
  });
  const same = rows.find((row) => row.query === query);
  const path = { knowledgeId };
  if (!same) {
    await plinth.testSetCreate({ path, body: { query, expected: [{ docId, relevance: 2 }] } });
    return;
  }
  if (same.expected.some((one) => one.docId === docId)) return;
  const expected = same.expected.map(({ docId: document, fid, relevance }) =>
    document ? { docId: document, relevance } : { ...(fid && { fid }), relevance },
  );
  await plinth.testSetUpdate({
    path,
    body: { id: same.id, expected: [...expected, { docId, relevance: 2 }] },
  });
}
