import {
  ActionIcon,
  Badge,
  Button,
  Group,
  Menu,
  Modal,
  Stack,
  Table,
  Text,
  Title,
} from '@mantine/core';
import {
  IconBrandGit,
  IconBucket,
  IconDotsVertical,
  IconPencil,
  IconTrash,
  IconWorld,
} from '@tabler/icons-react';
import type { KnowledgeSourceView, KnowledgeView, SourceRunView } from '@plinth/client';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { plinth } from '../app/plinth';
import { queryClient } from '../app/query-client';
import { useAction } from '../ui/action';
import { ActionButton } from '../ui/buttons';
import { confirmDestruction } from '../ui/confirm';
import { number } from '../ui/format';
import { FramedTable } from '../ui/framed-table';
import { MenuItem } from '../ui/menu-item';
import { Failure } from '../ui/states';
import { Time } from '../ui/time';
import { baseKey, useBaseAccess } from './base';
import { ConnectorDrawer, scheduleOf } from './connector-drawer';
import type { ConnectorKind } from './connector-drawer';
import styles from './knowledge.module.css';

const POLL_MS = 5_000;
const COUNTS = ['created', 'changed', 'unchanged', 'removed', 'failed'] as const;
/** Colour of a state, and of its text, which reads on it in both themes. */
const COLORS = {
  open: ['indigo', 'var(--mantine-color-anchor)'],
  done: ['green', 'var(--plinth-good)'],
  failed: ['red', 'var(--plinth-bad)'],
  refused: ['red', 'var(--plinth-bad)'],
  replaced: ['gray', 'var(--mantine-color-text)'],
  none: ['gray', 'var(--mantine-color-text)'],
} as const;

/** What the form of a connector is open for. */
interface Editing {
  readonly kind: ConnectorKind;
  readonly source?: KnowledgeSourceView;
}

/** The sources of a base with their state and last run, and the forms of its connectors. */
export function Sources({ base }: { readonly base: KnowledgeView }) {
  const { t } = useTranslation('knowledge');
  const { can } = useBaseAccess(base);
  const [editing, setEditing] = useState<Editing>();
  const path = { knowledgeId: base.id };
  const queryKey = [...baseKey(base.id), 'sources'];
  const { data, error, refetch } = useQuery({
    queryKey,
    queryFn: async ({ signal }) => {
      const before = queryClient.getQueryData<readonly KnowledgeSourceView[]>(queryKey);
      const sources = await plinth.sourceList({ path, signal });
      // A run puts and removes documents while the page is open.
      if (before?.some(isRunning)) void queryClient.invalidateQueries({ queryKey: ['documents'] });
      return sources;
    },
    refetchInterval: ({ state }) => (state.data?.some(isRunning) ? POLL_MS : false),
  });
  if (!data) return error ? <Failure error={error} onRetry={() => void refetch()} /> : null;
  const mayConnect =
    can('system:attach:add') && can('system:attach:edit') && can('system:attach:remove');
  if (data.length === 0 && !mayConnect) return null;
  return (
    <section aria-label={t('source.title')}>
      <Group justify="space-between" gap="xs" mb="xs">
        <Title order={2} size="h4">
          {t('source.title')}
        </Title>
        {mayConnect && (
          <Group gap="xs">
            <ActionButton
              size="xs"
              variant="default"
              icon={IconWorld}
              onClick={() => setEditing({ kind: 'web' })}
            >
              {t('source.connect.web')}
            </ActionButton>
            <ActionButton
              size="xs"
              variant="default"
              icon={IconBrandGit}
              onClick={() => setEditing({ kind: 'git' })}
            >
              {t('source.connect.git')}
            </ActionButton>
            <ActionButton
              size="xs"
              variant="default"
              icon={IconBucket}
              onClick={() => setEditing({ kind: 's3' })}
            >
              {t('source.connect.s3')}
            </ActionButton>
          </Group>
        )}
      </Group>
      {data.length === 0 ? (
        <Text size="sm" c="dimmed">
          {t('source.none')}
        </Text>
      ) : (
        <FramedTable label={t('source.title')} minWidth={760}>
          <Table.Thead>
            <Table.Tr>
              <Table.Th>{t('source.name')}</Table.Th>
              <Table.Th ta="right">{t('source.documents')}</Table.Th>
              <Table.Th>{t('source.state')}</Table.Th>
              <Table.Th>{t('source.lastRun')}</Table.Th>
              <Table.Th aria-label={t('source.actions')} />
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {data.map((source) => (
              <Source
                key={source.id}
                base={base}
                source={source}
                mayConnect={mayConnect}
                onEdit={setEditing}
              />
            ))}
          </Table.Tbody>
        </FramedTable>
      )}
      {editing && (
        <ConnectorDrawer
          base={base}
          {...editing}
          names={data.filter(({ id }) => id !== editing.source?.id).map(({ name }) => name)}
          onClose={() => setEditing(undefined)}
        />
      )}
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

interface RowProps extends SourceProps {
  readonly mayConnect: boolean;
  readonly onEdit: (editing: Editing) => void;
}

function Source({ base, source, mayConnect, onEdit }: RowProps) {
  const { t } = useTranslation('knowledge');
  const { name, kind, address, documentCount, lastRun } = source;
  const state = lastRun?.state ?? 'none';
  const [color, text] = COLORS[state];
  return (
    <Table.Tr>
      <Table.Td>
        {name}{' '}
        <Text span c="dimmed">
          {t(`source.kind.${kind}`)}
        </Text>
        {address !== null && (
          <Text size="xs" c="dimmed" maw={300} truncate title={address}>
            {address}
          </Text>
        )}
        {kind !== 'push' && <Schedule source={source} />}
      </Table.Td>
      <Table.Td ta="right">{number(documentCount)}</Table.Td>
      <Table.Td>
        <Badge variant="light" color={color} c={text} fw={400}>
          {t(`source.run.${state}`)}
        </Badge>
      </Table.Td>
      <Table.Td>{lastRun && <LastRun name={name} run={lastRun} />}</Table.Td>
      <Table.Td>
        <Group gap="xs" justify="flex-end" wrap="nowrap">
          {kind !== 'push' && <RunButtons base={base} source={source} />}
          <SourceMenu base={base} source={source} mayConnect={mayConnect} onEdit={onEdit} />
        </Group>
      </Table.Td>
    </Table.Tr>
  );
}

function Schedule({ source: { cron, timeZone, paused } }: Pick<SourceProps, 'source'>) {
  const { t } = useTranslation('knowledge');
  const schedule = scheduleOf(cron);
  const words = schedule === 'custom' ? cron : t(`source.schedule.${schedule}`);
  return (
    <Text size="xs" c="dimmed">
      {cron === null
        ? words
        : [words, timeZone, paused && t('source.paused')].filter(Boolean).join(' · ')}
    </Text>
  );
}

/** What the last run did, and the documents that it could not take. */
function LastRun({ name, run }: { readonly name: string; readonly run: SourceRunView }) {
  const { t } = useTranslation('knowledge');
  const [reading, setReading] = useState(false);
  const { state, errors, failed, failure } = run;
  const counts = COUNTS.filter((count) => run[count] > 0).map(
    (count) => `${number(run[count])} ${t(`source.count.${count}`)}`,
  );
  return (
    <Stack gap={2} align="flex-start">
      <Group gap="xs">
        <Time value={run.endTime ?? run.beginTime} />
        <Text size="sm" c="dimmed">
          {counts.join(', ')}
        </Text>
      </Group>
      {failure && (
        <Text size="sm" maw={420} className={styles[state === 'done' ? 'dim' : 'bad']}>
          {failure}
        </Text>
      )}
      {errors.length > 0 && (
        <Button size="compact-xs" variant="default" onClick={() => setReading(true)}>
          {t('source.problems', { count: Math.max(failed, errors.length) })}
        </Button>
      )}
      {reading && (
        <Modal
          opened
          onClose={() => setReading(false)}
          size="xl"
          title={t('source.problemsTitle', { name })}
        >
          <Stack>
            {failed > errors.length && (
              <Text size="sm" c="dimmed">
                {t('source.problemsFirst', { shown: errors.length, total: number(failed) })}
              </Text>
            )}
            <FramedTable label={t('source.problemsTitle', { name })} minWidth={480}>
              <Table.Thead>
                <Table.Tr>
                  <Table.Th>{t('source.document')}</Table.Th>
                  <Table.Th>{t('source.reason')}</Table.Th>
                </Table.Tr>
              </Table.Thead>
              <Table.Tbody>
                {errors.map(({ externalId, message }) => (
                  <Table.Tr key={externalId}>
                    <Table.Td style={{ overflowWrap: 'anywhere' }}>{externalId}</Table.Td>
                    <Table.Td>{message}</Table.Td>
                  </Table.Tr>
                ))}
              </Table.Tbody>
            </FramedTable>
          </Stack>
        </Modal>
      )}
    </Stack>
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
    <>
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
    </>
  );
}

function SourceMenu({ base, source, mayConnect, onEdit }: RowProps) {
  const { t } = useTranslation('knowledge');
  const { can } = useBaseAccess(base);
  const { name, kind, documentCount } = source;
  const remove = useAction(() => removeSource(base.id, name), {
    done: t('source.deleted'),
    changes: [baseKey(base.id), ['documents']],
  });
  if (!can('system:attach:remove')) return null;
  return (
    <Menu>
      <Menu.Target>
        <ActionIcon aria-label={t('source.actionsOf', { name })}>
          <IconDotsVertical size={16} stroke={1.5} />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        {kind !== 'push' && mayConnect && (
          <MenuItem icon={IconPencil} onClick={() => onEdit({ kind, source })}>
            {t('source.editSource')}
          </MenuItem>
        )}
        <MenuItem
          color="red"
          icon={IconTrash}
          onClick={() =>
            confirmDestruction({
              title: t('source.deleteTitle', { name }),
              body: t('source.deleteBody', { count: documentCount }),
              action: t('source.delete'),
              ...(documentCount > 0 && { name }),
              run: () => remove.mutateAsync(),
            })
          }
        >
          {t('source.delete')}
        </MenuItem>
      </Menu.Dropdown>
    </Menu>
  );
}

/** One request removes a limited number of documents. Ends early if another program puts documents meanwhile. */
async function removeSource(knowledgeId: number, source: string): Promise<void> {
  for (;;) {
    const { removed, remaining } = await plinth.sourceRemoveSource({
      path: { knowledgeId },
      query: { source },
    });
    if (remaining === 0 || removed === 0) return;
  }
}
