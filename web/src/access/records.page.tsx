import { Badge, Group, Text } from '@mantine/core';
import { IconLockAccess } from '@tabler/icons-react';
import type { AccessRecordView } from '@plinth/client';
import { useTranslation } from 'react-i18next';
import { plinth } from '../app/plinth';
import type { SearchParams } from '../app/search-params';
import { choicesOf } from '../ui/filters';
import { ListPage } from '../ui/list-page';
import { AccessDrawer } from './access-drawer';

const TYPES = ['knowledge', 'agent', 'model', 'tool-server'] as const;

/** All records of the tenant with their owners, for administrators of access: a row opens its grants, never its contents. */
export default function RecordsPage() {
  const { t } = useTranslation('access');
  const { t: ofApp } = useTranslation('app');
  return (
    <ListPage
      name="accessRecords"
      title={ofApp('pages.access')}
      description={t('records.about')}
      filters={[
        { name: 'q', label: t('records.search') },
        {
          name: 'type',
          label: t('records.anyType'),
          choices: choicesOf(TYPES, (type) => t(`records.type.${type}`)),
        },
        {
          name: 'owner',
          label: t('records.anyOwner'),
          choices: [{ value: 'gone', label: t('records.unmanaged') }],
        },
      ]}
      query={({ q, type, owner }: SearchParams) => ({
        ...(q && { name: q }),
        type: TYPES.find((one) => one === type),
        ...(owner === 'gone' && { unmanaged: true }),
      })}
      load={(query, signal) => plinth.accessRecords({ query, signal })}
      rowKey={({ type, id }: AccessRecordView) => `${type} ${id}`}
      form={(record, close) =>
        record && <AccessDrawer type={record.type} record={record} onClose={close} />
      }
      openLabel={() => t('open')}
      columns={[
        { id: 'name', title: t('records.name'), sort: true },
        {
          id: 'type',
          title: t('records.kind'),
          sort: true,
          cell: ({ type }) => t(`records.type.${type}`),
        },
        {
          id: 'ownerName',
          title: t('records.owner'),
          sort: true,
          cell: (record) => <Owner record={record} />,
        },
        { id: 'grantCount', title: t('records.grants'), sort: true, show: 'number' },
      ]}
      empty={{ icon: IconLockAccess, title: t('records.empty') }}
    />
  );
}

function Owner({ record: { ownerId, ownerName, unmanaged } }: { record: AccessRecordView }) {
  const { t } = useTranslation('access');
  return (
    <Group gap="xs">
      <Text size="sm">{ownerName ?? (ownerId === null ? '–' : `user:${ownerId}`)}</Text>
      {unmanaged && (
        <Badge color="yellow" c="var(--plinth-warn)" variant="light">
          {t('records.unmanaged')}
        </Badge>
      )}
    </Group>
  );
}
