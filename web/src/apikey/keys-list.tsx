import { Alert, Badge, Code, Text } from '@mantine/core';
import { IconKey, IconRefresh } from '@tabler/icons-react';
import type { ApiKeyView, NewApiKeyView } from '@plinth/client';
import { useState } from 'react';
import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { plinth } from '../app/plinth';
import { useMe } from '../app/me';
import type { SearchParams } from '../app/search-params';
import { ListPage } from '../ui/list-page';
import { MenuItem } from '../ui/menu-item';
import { Page } from '../ui/page';
import { Time } from '../ui/time';
import { KeyDrawer } from './key-drawer';
import { KeyOnce } from './key-once';
import { isChangeable, KEY_LISTS } from './keys';
import type { Scope } from './keys';
import { RotateDialog } from './rotate-dialog';

interface Props {
  readonly scope: Scope;
  /** Other actions of the page. */
  readonly actions?: ReactNode;
  readonly children?: ReactNode;
}

const COLOURS = { active: 'indigo', expired: 'gray', revoked: 'gray' } as const;
const LIMITS = ['modelIds', 'agentIds', 'knowledgeIds', 'addresses', 'doors'] as const;

/** The page of the API keys of the user or of the tenant. A new key is shown once. */
export function Keys({ scope, actions, children }: Props) {
  const { t } = useTranslation('apikey');
  const { may, user } = useMe();
  const [rotated, setRotated] = useState<ApiKeyView>();
  const [created, setCreated] = useState<NewApiKeyView>();
  const canEdit = may('system:apikey:edit');
  const title = t(`${scope}.title`);
  const description = t(`${scope}.about`);
  const above = scope === 'own' ? [{ title: t('own.account'), path: '/account' }] : undefined;
  if (!may('system:apikey:list')) {
    return (
      <Page title={title} description={description} above={above}>
        {user && <Alert color="gray">{t('own.mayNot')}</Alert>}
      </Page>
    );
  }
  return (
    <ListPage
      name={scope === 'own' ? 'own-keys' : 'api-keys'}
      title={title}
      description={description}
      above={above}
      filters={[{ name: 'q', label: t('search') }]}
      query={({ q }: SearchParams) => ({ scope, name: q })}
      load={(query, signal) => plinth.apiKeyList({ query, signal })}
      rowKey={({ id }: ApiKeyView) => id}
      actions={actions}
      add={may('system:apikey:add') && t('add')}
      form={(apiKey, close) => (
        <KeyDrawer apiKey={apiKey} scope={scope} onCreated={setCreated} onClose={close} />
      )}
      columns={[
        {
          id: 'name',
          title: t('name'),
          sort: true,
          cell: ({ name, application }) => (
            <>
              {name}
              {application !== null && (
                <Badge ml="xs" size="sm" variant="light" title={application}>
                  {t('application')}
                </Badge>
              )}
            </>
          ),
        },
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
          cell: ({ lastUsedTime }) =>
            lastUsedTime ? <Time value={lastUsedTime} /> : t('neverUsed'),
        },
        {
          id: 'expireTime',
          title: t('expires'),
          sort: 'expireTime',
          cell: ({ expireTime, renewableUntil }) => {
            const end = renewableUntil ?? expireTime;
            return end ? <Time value={end} /> : '–';
          },
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
      ]}
      openLabel={(key) => t(canEdit && isChangeable(key) ? 'edit' : 'view')}
      rowActions={(key) =>
        canEdit &&
        isChangeable(key) && (
          <MenuItem icon={IconRefresh} onClick={() => setRotated(key)}>
            {t('rotate')}
          </MenuItem>
        )
      }
      remove={
        may('system:apikey:remove') && {
          single: true,
          isFixed: ({ state }) => state === 'revoked',
          title: ({ name }) => t('revokeNamed', { name }),
          body: () => t('revokeBody'),
          action: () => t('revoke'),
          run: (keys) => plinth.apiKeyRevoke({ path: { ids: keys.map(({ id }) => String(id)) } }),
          done: t('revoked'),
          changes: KEY_LISTS,
        }
      }
      empty={{ icon: IconKey, title: t('empty'), hint: t('emptyHint'), isBare: true }}
    >
      {rotated && (
        <RotateDialog
          apiKey={rotated}
          onRotated={setCreated}
          onClose={() => setRotated(undefined)}
        />
      )}
      {created && <KeyOnce created={created} onClose={() => setCreated(undefined)} />}
      {children}
    </ListPage>
  );
}
