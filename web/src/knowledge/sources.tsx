import { Badge, Button, Group, Stack, Table, Text, Title, Tooltip } from '@mantine/core';
import type { KnowledgeSourceView, KnowledgeView } from '@plinth/client';
import { useQuery } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { plinth } from '../app/plinth';
import { useAction } from '../ui/action';
import { number } from '../ui/format';
import { Time } from '../ui/time';
import { baseKey, useBaseAccess } from './base';

const POLL_MS = 5_000;
const COUNTS = ['created', 'changed', 'unchanged', 'removed', 'failed'] as const;
const COLORS = {
  open: 'blue',
  done: 'green',
  failed: 'red',
  refused: 'red',
  replaced: 'gray',
} as const;

/** The sources of a base with their state and last run; nothing for a base without sources. */
export function Sources({ base }: { readonly base: KnowledgeView }) {
  const { t } = useTranslation('knowledge');
  const path = { knowledgeId: base.id };
  const { data: sources = [] } = useQuery({
    queryKey: [...baseKey(base.id), 'sources'],
    queryFn: ({ signal }) => plinth.sourceList({ path, signal }),
    refetchInterval: ({ state }) => (state.data?.some(isRunning) ? POLL_MS : false),
  });
  if (sources.length === 0) return null;
  return (
    <section>
      <Title order={2} size="h4" mb="xs">
        {t('source.title')}
      </Title>
      <Table>
        <Table.Thead>
          <Table.Tr>
            <Table.Th>{t('source.name')}</Table.Th>
            <Table.Th>{t('source.documents')}</Table.Th>
            <Table.Th>{t('source.state')}</Table.Th>
            <Table.Th>{t('source.lastRun')}</Table.Th>
            <Table.Th />
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {sources.map((source) => (
            <Source key={source.id} base={base} source={source} />
          ))}
        </Table.Tbody>
      </Table>
    </section>
  );
}

function isRunning({ lastRun }: KnowledgeSourceView): boolean {
  return lastRun?.state === 'open';
}

interface SourceProps {
  readonly base: KnowledgeView;
  readonly source: KnowledgeSourceView;
}

function Source({ base, source }: SourceProps) {
  const { t } = useTranslation('knowledge');
  const { name, kind, documentCount, lastRun, cron, timeZone, paused } = source;
  const counts = lastRun
    ? COUNTS.filter((count) => lastRun[count] > 0).map(
        (count) => `${number(lastRun[count])} ${t(`source.count.${count}`)}`,
      )
    : [];
  const problems = lastRun
    ? lastRun.errors.map(({ externalId, message }) => `${externalId}: ${message}`)
    : [];
  return (
    <Table.Tr>
      <Table.Td>
        {name}{' '}
        <Text span c="dimmed">
          {t(`source.kind.${kind}`)}
        </Text>
        {cron !== null && (
          <Text size="sm" c="dimmed">
            {paused ? t('source.paused') : [cron, timeZone].join(' ')}
          </Text>
        )}
      </Table.Td>
      <Table.Td>{number(documentCount)}</Table.Td>
      <Table.Td>
        <Badge variant="light" color={lastRun ? COLORS[lastRun.state] : 'gray'} fw={400}>
          {t(`source.run.${lastRun?.state ?? 'none'}`)}
        </Badge>
      </Table.Td>
      <Table.Td>
        {lastRun && (
          <Stack gap={2}>
            <Group gap="xs">
              <Time value={lastRun.endTime ?? lastRun.beginTime} />
              <Text size="sm" c="dimmed">
                {counts.join(', ')}
              </Text>
            </Group>
            {lastRun.failure && (
              <Text size="sm" c="red">
                {lastRun.failure}
              </Text>
            )}
            {problems.length > 0 && (
              <Tooltip
                label={<span style={{ whiteSpace: 'pre-line' }}>{problems.join('\n')}</span>}
                multiline
                maw={560}
              >
                <Text size="sm" c="red" tabIndex={0}>
                  {problems[0]}
                </Text>
              </Tooltip>
            )}
          </Stack>
        )}
      </Table.Td>
      <Table.Td>{kind !== 'push' && <RunButtons base={base} source={source} />}</Table.Td>
    </Table.Tr>
  );
}

/** Runs a connector now, and pauses its schedule. */
function RunButtons({ base, source }: SourceProps) {
  const { t } = useTranslation('knowledge');
  const { can } = useBaseAccess(base);
  const path = { knowledgeId: base.id };
  const query = { source: source.name };
  const changes = [[...baseKey(base.id), 'sources']];
  const run = useAction(() => plinth.sourceRun({ path, query }), { changes });
  const pause = useAction(
    () => plinth.sourcePause({ path, query, body: { paused: !source.paused } }),
    { changes },
  );
  if (!can('system:attach:edit')) return null;
  return (
    <Group gap="xs" justify="flex-end" wrap="nowrap">
      <Button
        size="xs"
        variant="default"
        disabled={isRunning(source)}
        loading={run.isPending}
        onClick={() => run.mutate()}
      >
        {t('source.runNow')}
      </Button>
      {source.cron !== null && (
        <Button
          size="xs"
          variant="default"
          loading={pause.isPending}
          onClick={() => pause.mutate()}
        >
          {t(source.paused ? 'source.resume' : 'source.pause')}
        </Button>
      )}
    </Group>
  );
}
