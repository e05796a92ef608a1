import { Badge, Button, Code, Text } from '@mantine/core';
import { IconKey, IconPencil, IconPlus, IconRefresh, IconTrash } from '@tabler/icons-react';
import type { ApiKeyView, NewApiKeyView } from '@plinth/client';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { plinth } from '../app/plinth';
import { useMe } from '../app/me';
import { useAction } from '../ui/action';
import { AddressSearch } from '../ui/address-fields';
import { confirmDestruction } from '../ui/confirm';
import { DataTable } from '../ui/data-table';
import type { Column } from '../ui/data-table';
import { Empty } from '../ui/empty';
import { MenuItem } from '../ui/menu-item';
import { Time } from '../ui/time';
import { KeyDrawer } from './key-drawer';
import { KeyOnce } from './key-once';
import { KEY_LISTS } from './keys';
import type { Scope } from './keys';
import { RotateDialog } from './rotate-dialog';

interface Props {
  readonly scope: Scope;
}

const COLOURS = { active: 'indigo', expired: 'gray', revoked: 'gray' } as const;
const LIMITS = ['modelIds', 'agentIds', 'knowledgeIds', 'addresses', 'doors'] as const;

/** The button that adds a key, with its form. The new key is shown once. */
export function AddKey({ scope }: Props) {
  const { t } = useTranslation('apikey');
  const { may } = useMe();
  const [adding, setAdding] = useState(false);
  const [created, setCreated] = useState<NewApiKeyView>();
  if (!may('system:apikey:add')) return null;
  return (
    <>
      <Button leftSection={<IconPlus size={16} stroke={1.5} />} onClick={() => setAdding(true)}>
        {t('add')}
      </Button>
      {adding && (
        <KeyDrawer
          apiKey={undefined}
          scope={scope}
          onCreated={setCreated}
          onClose={() => setAdding(false)}
        />
      )}
      {created && <KeyOnce created={created} onClose={() => setCreated(undefined)} />}
    </>
  );
}

export function KeysTable({ scope }: Props) {
  const { t } = useTranslation('apikey');
  const { may } = useMe();
  const [edited, setEdited] = useState<ApiKeyView>();
  const [rotated, setRotated] = useState<ApiKeyView>();
  const [created, setCreated] = useState<NewApiKeyView>();
  const revoke = useAction(
    ({ id }: ApiKeyView) => plinth.apiKeyRevoke({ path: { ids: [String(id)] } }),
    {
      done: t('revoked'),
      changes: KEY_LISTS,
    },
  );
  const askToRevoke = (key: ApiKeyView): void =>
    confirmDestruction({
      title: t('revokeNamed', { name: key.name }),
      body: t('revokeBody'),
      action: t('revoke'),
      run: () => revoke.mutateAsync(key),
    });
  const canEdit = may('system:apikey:edit');
  const columns: readonly Column<ApiKeyView>[] = [
    { id: 'name', title: t('name'), sort: 'name', cell: ({ name }) => name },
    {
      id: 'prefix',
      title: t('prefix'),
      cell: ({ prefix }) => <Code>{prefix}…</Code>,
    },
    ...(scope === 'own'
      ? []
      : [
          {
            id: 'owner',
            title: t('owner'),
            cell: ({ userName, isServiceAccount }: ApiKeyView) => (
              <>
                {userName}
                {isServiceAccount && (
                  <Badge ml="xs" size="sm" variant="light">
                    {t('account.badge')}
                  </Badge>
                )}
              </>
            ),
          },
        ]),
    {
      id: 'permissions',
      title: t('permissions'),
      cell: ({ permissions }) =>
        permissions.length === 0 ? (
          <Text size="sm" c="dimmed">
            {t('noPermission')}
          </Text>
        ) : (
          t('permissionCount', { count: permissions.length })
        ),
    },
    {
      id: 'limits',
      title: t('limits'),
      cell: (key) => {
        const limited = LIMITS.filter((limit) => key[limit] !== null);
        return limited.length === 0 ? (
          <Text size="sm" c="dimmed">
            {t('noLimit')}
          </Text>
        ) : (
          limited.map((limit) => t(`limit.${limit}`)).join(', ')
        );
      },
    },
    {
      id: 'lastUsedTime',
      title: t('lastUsed'),
      sort: 'lastUsedTime',
      cell: ({ lastUsedTime }) => (lastUsedTime ? <Time value={lastUsedTime} /> : t('neverUsed')),
    },
    {
      id: 'expireTime',
      title: t('expires'),
      sort: 'expireTime',
      cell: ({ expireTime }) => (expireTime ? <Time value={expireTime} /> : '–'),
    },
    {
      id: 'state',
      title: t('state'),
      cell: ({ state }) => (
        <Badge variant="light" color={COLOURS[state]}>
          {t(`states.${state}`)}
        </Badge>
      ),
    },
  ];
  return (
    <>
      <DataTable
        name={scope === 'own' ? 'own-keys' : 'api-keys'}
        label={t(`${scope}.title`)}
        columns={columns}
        filters={['q']}
        load={(query, { q }, signal) =>
          plinth.apiKeyList({ query: { ...query, scope, name: q }, signal })
        }
        rowKey={({ id }) => id}
        toolbar={<AddressSearch name="q" label={t('search')} />}
        empty={
          <Empty icon={IconKey} title={t('empty')}>
            {t('emptyHint')}
          </Empty>
        }
        onOpen={setEdited}
        rowActions={(key) => (
          <>
            <MenuItem icon={IconPencil} onClick={() => setEdited(key)}>
              {t(canEdit && key.state === 'active' ? 'edit' : 'view')}
            </MenuItem>
            {canEdit && key.state === 'active' && (
              <MenuItem icon={IconRefresh} onClick={() => setRotated(key)}>
                {t('rotate')}
              </MenuItem>
            )}
            {may('system:apikey:remove') && key.state !== 'revoked' && (
              <MenuItem color="red" icon={IconTrash} onClick={() => askToRevoke(key)}>
                {t('revoke')}
              </MenuItem>
            )}
          </>
        )}
      />
      {edited && (
        <KeyDrawer
          apiKey={edited}
          scope={scope}
          onCreated={setCreated}
          onClose={() => setEdited(undefined)}
        />
      )}
      {rotated && (
        <RotateDialog
          apiKey={rotated}
          onRotated={setCreated}
          onClose={() => setRotated(undefined)}
        />
      )}
      {created && <KeyOnce created={created} onClose={() => setCreated(undefined)} />}
    </>
  );
}
