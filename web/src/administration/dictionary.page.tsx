import {
  ActionIcon,
  Badge,
  Code,
  Group,
  Menu,
  NavLink,
  Select,
  Text,
  TextInput,
  Title,
} from '@mantine/core';
import {
  IconAddressBook,
  IconDotsVertical,
  IconPencil,
  IconPlus,
  IconSearch,
  IconTrash,
} from '@tabler/icons-react';
import type { DictionaryEntryView, DictionaryTypeView } from '@plinth/client';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { plinth } from '../app/plinth';
import { useSearchParams } from '../app/search-params';
import type { SearchParams } from '../app/search-params';
import { useMe } from '../app/me';
import { ActionButton } from '../ui/buttons';
import { useAction } from '../ui/action';
import { confirmDestruction } from '../ui/confirm';
import { DataTable } from '../ui/data-table';
import { Empty, Failure, RowsSkeleton } from '../ui/states';
import { MenuItem } from '../ui/menu-item';
import { Page } from '../ui/page';
import { DictionaryEntryDrawer, DictionaryTypeDrawer } from './dictionary-drawers';
import { entryLabel, typeName } from './dictionary-words';
import styles from './dictionary.module.css';

/** The dictionary: types on the left, entries of the chosen type on the right. */
export default function DictionaryPage() {
  const { t } = useTranslation('administration');
  const { may } = useMe();
  const [{ type }, change] = useSearchParams();
  const [search, setSearch] = useState('');
  const [edited, setEdited] = useState<DictionaryTypeView | 'new'>();
  const types = useQuery({
    queryKey: ['dictionary', 'types'],
    queryFn: ({ signal }) =>
      plinth.dictionaryTypeList({
        query: { pageSize: 1_000, orderByColumn: 'dictName', isAsc: 'asc' },
        signal,
      }),
  });
  const rows = types.data?.rows ?? [];
  const searchText = search.trim().toLocaleLowerCase();
  const matches = rows.filter((row) =>
    `${row.dictName} ${typeName(t, row)} ${row.dictType}`.toLocaleLowerCase().includes(searchText),
  );
  const chosen = rows.find(({ dictType }) => dictType === type) ?? (type ? undefined : rows[0]);
  const choose = (dictType: string): void =>
    change({ type: dictType, page: undefined, q: undefined, sort: undefined });
  const remove = useAction(
    ({ dictId }: DictionaryTypeView) =>
      plinth.dictionaryTypeRemove({ path: { dictIds: [String(dictId)] } }),
    {
      done: t('dictionary.typeRemoved'),
      changes: [['dictionary']],
      after: () => change({ type: undefined }),
    },
  );
  const add = may('system:dict:add') && (
    <ActionButton icon={IconPlus} onClick={() => setEdited('new')}>
      {t('dictionary.addType')}
    </ActionButton>
  );
  return (
    <Page title={t('dictionary.title')} description={t('dictionary.about')} actions={add}>
      {types.error && <Failure error={types.error} onRetry={() => void types.refetch()} />}
      {types.isPending && <RowsSkeleton />}
      {types.data && rows.length === 0 && (
        <Empty icon={IconAddressBook} title={t('dictionary.empty')} action={add}>
          {t('dictionary.about')}
        </Empty>
      )}
      {rows.length > 0 && (
        <div className={styles['panes']}>
          <Select
            hiddenFrom="sm"
            label={t('dictionary.type')}
            data={rows.map((row) => ({ value: row.dictType, label: typeName(t, row) }))}
            value={chosen?.dictType ?? null}
            allowDeselect={false}
            searchable
            onChange={(value) => value && choose(value)}
          />
          <nav className={styles['types']} aria-label={t('dictionary.types')}>
            <TextInput
              type="search"
              aria-label={t('dictionary.searchTypes')}
              placeholder={t('dictionary.searchTypes')}
              leftSection={<IconSearch size={16} stroke={1.5} />}
              mb="xs"
              value={search}
              onChange={({ currentTarget }) => setSearch(currentTarget.value)}
            />
            {matches.map((row) => (
              <NavLink
                key={row.dictId}
                component="button"
                label={typeName(t, row)}
                description={row.dictType}
                active={row === chosen}
                aria-current={row === chosen ? 'true' : undefined}
                className={styles['type']}
                onClick={() => choose(row.dictType)}
              />
            ))}
            {matches.length === 0 && (
              <Text c="dimmed" size="sm" p="xs">
                {t('dictionary.noSuchType')}
              </Text>
            )}
          </nav>
          <section className={styles['entries']} aria-label={chosen && typeName(t, chosen)}>
            {chosen ? (
              <>
                <Group justify="space-between" wrap="nowrap" align="flex-start" mb="sm">
                  <div>
                    <Title order={2}>{typeName(t, chosen)}</Title>
                    <Text size="sm" c="dimmed">
                      <Code>{chosen.dictType}</Code> {chosen.remark}
                    </Text>
                  </div>
                  {(may('system:dict:edit') || may('system:dict:remove')) && (
                    <Menu>
                      <Menu.Target>
                        <ActionIcon aria-label={t('dictionary.typeActions')} size="lg">
                          <IconDotsVertical size={18} stroke={1.5} />
                        </ActionIcon>
                      </Menu.Target>
                      <Menu.Dropdown>
                        {may('system:dict:edit') && (
                          <MenuItem icon={IconPencil} onClick={() => setEdited(chosen)}>
                            {t('dictionary.editType')}
                          </MenuItem>
                        )}
                        {may('system:dict:remove') && (
                          <MenuItem
                            color="red"
                            icon={IconTrash}
                            onClick={() =>
                              confirmDestruction({
                                title: t('dictionary.removeTypeNamed', {
                                  name: typeName(t, chosen),
                                }),
                                body: t('dictionary.removeTypeBody'),
                                action: t('dictionary.removeType'),
                                run: () => remove.mutateAsync(chosen),
                              })
                            }
                          >
                            {t('dictionary.removeType')}
                          </MenuItem>
                        )}
                      </Menu.Dropdown>
                    </Menu>
                  )}
                </Group>
                <Entries key={chosen.dictType} type={chosen} />
              </>
            ) : (
              <Empty icon={IconAddressBook} title={t('dictionary.noSuchType')}>
                {t('dictionary.chooseType')}
              </Empty>
            )}
          </section>
        </div>
      )}
      {edited && (
        <DictionaryTypeDrawer
          type={edited === 'new' ? undefined : edited}
          onSaved={choose}
          onClose={() => setEdited(undefined)}
        />
      )}
    </Page>
  );
}

function Entries({ type }: { readonly type: DictionaryTypeView }) {
  const { t } = useTranslation('administration');
  const { may } = useMe();
  const [edited, setEdited] = useState<DictionaryEntryView | 'new'>();
  const { dictType } = type;
  const name = `dictionary-${dictType}`;
  const add = may('system:dict:add') && (
    <ActionButton variant="default" icon={IconPlus} onClick={() => setEdited('new')}>
      {t('dictionary.addEntry')}
    </ActionButton>
  );
  return (
    <>
      <DataTable
        name={name}
        label={t('dictionary.entriesOf', { name: typeName(t, type) })}
        filters={[{ name: 'q', label: t('dictionary.searchEntries') }]}
        query={({ q }: SearchParams) => ({ dictType, dictLabel: q })}
        load={(query, signal) =>
          plinth.dictionaryEntryList({
            query: { orderByColumn: 'dictSort', isAsc: 'asc', ...query },
            signal,
          })
        }
        download={may('system:dict:export') && ((body) => plinth.dictionaryEntryExport({ body }))}
        rowKey={({ dictCode }: DictionaryEntryView) => dictCode}
        columns={[
          {
            id: 'dictLabel',
            title: t('dictionary.label'),
            sort: true,
            cell: (entry) => entryLabel(t, entry),
          },
          {
            id: 'dictValue',
            title: t('dictionary.value'),
            sort: true,
            cell: ({ dictValue }) => <Code>{dictValue}</Code>,
          },
          { id: 'dictSort', title: t('roles.order'), sort: true, align: 'right', show: 'number' },
          {
            id: 'kind',
            title: t('dictionary.kind'),
            cell: ({ seeded, isDefault }) => (
              <Group gap={4}>
                {seeded && (
                  <Badge variant="light" color="gray">
                    {t('dictionary.builtIn')}
                  </Badge>
                )}
                {isDefault === 'Y' && <Badge variant="light">{t('dictionary.default')}</Badge>}
              </Group>
            ),
          },
        ]}
        tools={add}
        onOpen={setEdited}
        openLabel={may('system:dict:edit') && (() => t('dictionary.editEntry'))}
        remove={
          may('system:dict:remove') && {
            isFixed: ({ seeded }) => seeded,
            body: (entries) =>
              t('dictionary.removeEntryBody', {
                names: entries.map((entry) => entryLabel(t, entry)).join(', '),
              }),
            action: (count) => t('dictionary.removeEntry', { count }),
            run: (entries) =>
              plinth.dictionaryEntryRemove({
                path: { dictCodes: entries.map(({ dictCode }) => String(dictCode)) },
              }),
            done: t('dictionary.entryRemoved'),
          }
        }
        empty={
          <Empty icon={IconAddressBook} title={t('dictionary.noEntries')} action={add}>
            {t('dictionary.noEntriesHint')}
          </Empty>
        }
      />
      {edited && (
        <DictionaryEntryDrawer
          dictType={dictType}
          entry={edited === 'new' ? undefined : edited}
          changes={[[name]]}
          onClose={() => setEdited(undefined)}
        />
      )}
    </>
  );
}
