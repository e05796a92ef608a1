import { Badge, Group, Stack, Table, Text, Title, Tooltip } from '@mantine/core';
import type { KnowledgeSourceView, KnowledgeView } from '@plinth/client';
import { useQuery } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { plinth } from '../app/plinth';
import { number } from '../ui/format';
import { Time } from '../ui/time';
import { baseKey } from './base';

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
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {sources.map((source) => (
            <Source key={source.id} source={source} />
          ))}
        </Table.Tbody>
      </Table>
    </section>
  );
}

function isRunning({ lastRun }: KnowledgeSourceView): boolean {
  return lastRun?.state === 'open';
}

function Source({ source }: { readonly source: KnowledgeSourceView }) {
  const { t } = useTranslation('knowledge');
  const { name, kind, documentCount, lastRun } = source;
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
    </Table.Tr>
  );
}
