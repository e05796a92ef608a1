import { Badge, Button, FileButton, Group, Menu, Stack, Text, Title } from '@mantine/core';
import {
  IconChevronDown,
  IconDownload,
  IconPencil,
  IconPlus,
  IconTarget,
  IconTrash,
  IconUpload,
} from '@tabler/icons-react';
import type { KnowledgeView, TestQueryView } from '@plinth/client';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { plinth } from '../app/plinth';
import { useAction } from '../ui/action';
import { AddressSearch } from '../ui/address-fields';
import { confirmDestruction } from '../ui/confirm';
import { DataTable } from '../ui/data-table';
import type { Column } from '../ui/data-table';
import { Empty } from '../ui/empty';
import { number } from '../ui/format';
import { MenuItem } from '../ui/menu-item';
import { Time } from '../ui/time';
import { saveFile } from '../ui/download';
import { baseKey, useBaseAccess } from './base';
import { Evaluations } from './evaluations';
import { TestQueryDrawer } from './test-query-drawer';
import styles from './knowledge.module.css';

/** Test queries with their expected documents, and evaluations of the base over time. */
export default function TestSets({ base }: { readonly base: KnowledgeView }) {
  const { t } = useTranslation('knowledge');
  const { can } = useBaseAccess(base);
  const mayEdit = can('system:info:edit');
  const [editing, setEditing] = useState<TestQueryView | 'new'>();
  const path = { knowledgeId: base.id };
  const changes = [[...baseKey(base.id), 'test set'], ['test queries']];
  const remove = useAction(
    (ids: readonly number[]) => plinth.testSetRemove({ path: { ...path, ids: ids.map(String) } }),
    { done: t('test.deleted'), changes },
  );
  const take = useAction(
    (files: readonly File[]) => plinth.importTestSet({ knowledgeId: base.id, files }),
    {
      done: ({ added, replaced, skipped, unknown }) =>
        t('test.imported', {
          added: number(added),
          replaced: number(replaced),
          skipped: number(skipped),
          unknown: number(unknown),
        }),
      changes,
    },
  );
  const give = useAction(async (part: 'queries' | 'qrels') => {
    const text = await plinth.testSetExport({ path, query: { part } });
    const type = 'text/plain';
    saveFile(new Blob([text], { type }), part === 'queries' ? 'queries.jsonl' : 'qrels.tsv');
  });
  const deleteAll = (queries: readonly TestQueryView[], after?: () => void): void => {
    const count = queries.length;
    confirmDestruction({
      title: t('test.delete', { count }),
      body: t('test.deleteBody', { count, query: queries[0]?.query ?? '' }),
      action: t('test.delete', { count }),
      run: async () => {
        await remove.mutateAsync(queries.map(({ id }) => id));
        after?.();
      },
    });
  };
  const columns: readonly Column<TestQueryView>[] = [
    { id: 'query', title: t('test.query'), sort: 'query', cell: ({ query }) => query },
    {
      id: 'expected',
      title: t('test.expected'),
      cell: (query) => <Expected query={query} />,
    },
    {
      id: 'queryId',
      title: t('test.queryId'),
      sort: 'queryId',
      optional: true,
      cell: ({ queryId }) => queryId,
    },
    {
      id: 'changed',
      title: t('changed'),
      sort: 'updateTime',
      width: 140,
      cell: ({ updateTime }) => <Time value={updateTime} />,
    },
  ];
  const add = mayEdit && (
    <Button
      variant="default"
      leftSection={<IconPlus size={16} stroke={1.5} />}
      onClick={() => setEditing('new')}
    >
      {t('test.add')}
    </Button>
  );
  const importing = mayEdit && (
    <FileButton
      multiple
      accept=".jsonl,.tsv,.txt,application/jsonl,text/tab-separated-values"
      inputProps={{ 'aria-label': t('test.importFiles') }}
      onChange={(files) => files.length > 0 && take.mutate(files)}
    >
      {(props) => (
        <Button
          {...props}
          variant="default"
          loading={take.isPending}
          leftSection={<IconUpload size={16} stroke={1.5} />}
          title={t('test.importHint')}
        >
          {t('test.import')}
        </Button>
      )}
    </FileButton>
  );
  const exporting = (
    <Menu>
      <Menu.Target>
        <Button
          variant="default"
          loading={give.isPending}
          leftSection={<IconDownload size={16} stroke={1.5} />}
          rightSection={<IconChevronDown size={14} stroke={1.5} />}
        >
          {t('test.export')}
        </Button>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Item onClick={() => give.mutate('queries')}>{t('test.exportQueries')}</Menu.Item>
        <Menu.Item onClick={() => give.mutate('qrels')}>{t('test.exportQrels')}</Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
  return (
    <Stack gap="xl">
      <Evaluations base={base} />
      <section>
        <Title order={2} mb="xs">
          {t('test.questions')}
        </Title>
        <Text size="sm" c="dimmed" mb="sm" maw={720}>
          {t('test.about')}
        </Text>
        <DataTable
          name="test queries"
          of={base.id}
          label={t('test.questions')}
          columns={columns}
          load={(query, { find }, signal) =>
            plinth.testSetList({ path, query: { ...query, ...(find && { query: find }) }, signal })
          }
          rowKey={({ id }) => id}
          filters={['find']}
          toolbar={
            <>
              <AddressSearch name="find" label={t('test.search')} />
              {add}
              {importing}
              {exporting}
            </>
          }
          empty={
            <Empty
              icon={IconTarget}
              title={t('test.none')}
              action={
                <Group gap="xs" justify="center">
                  {add}
                  {importing}
                </Group>
              }
            >
              {t('test.noneHint')}
            </Empty>
          }
          {...(mayEdit && {
            onOpen: setEditing,
            bulkActions: (rows: readonly TestQueryView[], clear: () => void) => (
              <Button
                size="xs"
                variant="default"
                c="var(--plinth-bad)"
                leftSection={<IconTrash size={16} stroke={1.5} />}
                onClick={() => deleteAll(rows, clear)}
              >
                {t('test.delete', { count: rows.length })}
              </Button>
            ),
            rowActions: (query: TestQueryView) => (
              <>
                <MenuItem icon={IconPencil} onClick={() => setEditing(query)}>
                  {t('test.edit')}
                </MenuItem>
                <MenuItem color="red" icon={IconTrash} onClick={() => deleteAll([query])}>
                  {t('test.delete', { count: 1 })}
                </MenuItem>
              </>
            ),
          })}
        />
      </section>
      {editing && (
        <TestQueryDrawer
          base={base}
          query={editing === 'new' ? undefined : editing}
          onClose={() => setEditing(undefined)}
        />
      )}
    </Stack>
  );
}

const MAX_SHOWN_EXPECTED = 3;

function Expected({ query: { expected } }: { readonly query: TestQueryView }) {
  const { t } = useTranslation('knowledge');
  return (
    <Group gap={4} py={4}>
      {expected.slice(0, MAX_SHOWN_EXPECTED).map(({ docId, fid, sourceName, relevance }) => (
        <Badge
          key={docId ?? fid}
          variant="default"
          fw={400}
          className={sourceName === null ? styles['gone'] : undefined}
          title={t(`test.relevance.${relevance as 1 | 2 | 3}`)}
        >
          {sourceName ?? t('test.gone')}
          {fid !== undefined && ` · ${t('test.fragment')}`}
        </Badge>
      ))}
      {expected.length > MAX_SHOWN_EXPECTED && (
        <Text size="xs" c="dimmed">
          {t('test.more', { count: expected.length - MAX_SHOWN_EXPECTED })}
        </Text>
      )}
    </Group>
  );
}
