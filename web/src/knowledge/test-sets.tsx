import { Badge, FileButton, Group, Menu, Stack, Text, Title } from '@mantine/core';
import {
  IconChevronDown,
  IconDownload,
  IconPlus,
  IconTarget,
  IconUpload,
} from '@tabler/icons-react';
import type { KnowledgeView, TestQueryView } from '@plinth/client';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { plinth } from '../app/plinth';
import type { SearchParams } from '../app/search-params';
import { ActionButton } from '../ui/buttons';
import { useAction } from '../ui/action';
import { DataTable } from '../ui/data-table';
import { Empty } from '../ui/states';
import { number } from '../ui/format';
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
  const add = mayEdit && (
    <ActionButton variant="default" icon={IconPlus} onClick={() => setEditing('new')}>
      {t('test.add')}
    </ActionButton>
  );
  const importing = mayEdit && (
    <FileButton
      multiple
      accept=".jsonl,.tsv,.txt,application/jsonl,text/tab-separated-values"
      inputProps={{ 'aria-label': t('test.importFiles') }}
      onChange={(files) => files.length > 0 && take.mutate(files)}
    >
      {(props) => (
        <ActionButton
          {...props}
          variant="default"
          loading={take.isPending}
          icon={IconUpload}
          title={t('test.importHint')}
        >
          {t('test.import')}
        </ActionButton>
      )}
    </FileButton>
  );
  const exporting = (
    <Menu>
      <Menu.Target>
        <ActionButton
          variant="default"
          loading={give.isPending}
          icon={IconDownload}
          rightSection={<IconChevronDown size={14} stroke={1.5} />}
        >
          {t('test.export')}
        </ActionButton>
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
          filters={[{ name: 'find', label: t('test.search') }]}
          query={({ find }: SearchParams) => ({ ...(find && { query: find }) })}
          load={(query, signal) => plinth.testSetList({ path, query, signal })}
          rowKey={({ id }: TestQueryView) => id}
          columns={[
            { id: 'query', title: t('test.query'), sort: true },
            {
              id: 'expected',
              title: t('test.expected'),
              cell: (query) => <Expected query={query} />,
            },
            { id: 'queryId', title: t('test.queryId'), sort: true, optional: true },
            { id: 'changed', title: t('changed'), sort: 'updateTime', show: 'time', width: 140 },
          ]}
          tools={
            <Group gap="xs">
              {add}
              {importing}
              {exporting}
            </Group>
          }
          onOpen={mayEdit && setEditing}
          openLabel={() => t('test.edit')}
          remove={
            mayEdit && {
              body: (queries) =>
                t('test.deleteBody', { count: queries.length, query: queries[0]?.query ?? '' }),
              action: (count) => t('test.delete', { count }),
              run: (queries) => {
                const ids = queries.map(({ id }) => String(id));
                return plinth.testSetRemove({ path: { ...path, ids } });
              },
              done: t('test.deleted'),
              changes,
            }
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
