import { Alert, Badge, Button, Code, Group, Menu, Modal, Select, Stack, Text } from '@mantine/core';
import { IconDotsVertical, IconPencil, IconPlugConnected, IconTools } from '@tabler/icons-react';
import { ApiError } from '@plinth/client';
import type { ServerToolView, ToolServerCheckView, ToolServerView } from '@plinth/client';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useParams } from '@tanstack/react-router';
import { useEffect, useEffectEvent, useState } from 'react';
import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { useAccessDrawer } from '../access/access-drawer';
import { isChangeable } from '../access/levels';
import { useMe } from '../app/me';
import { plinth } from '../app/plinth';
import { useSearchParams } from '../app/search-params';
import type { SearchParams } from '../app/search-params';
import { useAction } from '../ui/action';
import { ActionButton, IconButton, LinkButton } from '../ui/buttons';
import { DataTable } from '../ui/data-table';
import { choicesOf } from '../ui/filters';
import { FormFailure } from '../ui/form';
import { MenuItem } from '../ui/menu-item';
import { Page } from '../ui/page';
import { Empty, Failure, NotFound, RowsSkeleton } from '../ui/states';
import { Time } from '../ui/time';
import styles from './mcp.module.css';
import { ServerDrawer } from './server-drawer';
import {
  CONSENTS,
  HINTS,
  isWaiting,
  pageOfTools,
  partsOf,
  SERVER_CHANGES,
  textOf,
  toolsQuery,
} from './server-tools';
import type { Consent } from './server-tools';
import { StateBadge, ToolDrawer } from './tool-drawer';

/** The page of a tool server: its connection and its tools. */
export default function ToolServerPage() {
  const { t: ofApp } = useTranslation('app');
  const { serverId = '' } = useParams({ strict: false });
  const { data, error, refetch } = useQuery({
    queryKey: ['toolServers', serverId],
    queryFn: ({ signal }) => plinth.toolServerGet({ path: { id: Number(serverId) }, signal }),
  });
  if (error instanceof ApiError && error.code === 404) return <NotFound />;
  if (data) return <Server key={serverId} server={data} />;
  return (
    <Page
      title={ofApp('pages.toolServers')}
      above={[{ title: ofApp('pages.toolServers'), path: '/tool-servers' }]}
    >
      {error ? <Failure error={error} onRetry={() => void refetch()} /> : <RowsSkeleton />}
    </Page>
  );
}

function Server({ server }: { readonly server: ToolServerView }) {
  const { t } = useTranslation('mcp');
  const { t: ofApp } = useTranslation('app');
  const { t: ofUi } = useTranslation('ui');
  const { id, name, description, level, enabled } = server;
  const readOnly = useReadOnly(level);
  const access = useAccessDrawer('tool-server');
  const accessItem = level === 'manage' && access.item({ id, name });
  const [isEdited, setIsEdited] = useState(false);
  const check = useCheck(id);
  const checkButton = !readOnly && (
    <ActionButton icon={IconPlugConnected} loading={check.isPending} onClick={() => check.mutate()}>
      {t('check.action')}
    </ActionButton>
  );
  return (
    <Page
      title={name}
      description={description}
      above={[{ title: ofApp('pages.toolServers'), path: '/tool-servers' }]}
      actions={
        <>
          {(!readOnly || accessItem) && (
            <Menu>
              <Menu.Target>
                <IconButton icon={IconDotsVertical} label={ofUi('actions')} size="lg" />
              </Menu.Target>
              <Menu.Dropdown>
                {!readOnly && (
                  <MenuItem icon={IconPencil} onClick={() => setIsEdited(true)}>
                    {t('edit')}
                  </MenuItem>
                )}
                {accessItem}
              </Menu.Dropdown>
            </Menu>
          )}
          {checkButton}
        </>
      }
    >
      <Stack gap="sm" mb="md">
        <Connection server={server} />
        {readOnly && <Alert color="gray">{readOnly}</Alert>}
        {!enabled && <Alert color="yellow">{t('disabled')}</Alert>}
        <div aria-live="polite">
          {check.error !== null && <FormFailure error={check.error} />}
          {check.data && <CheckResult result={check.data} />}
        </div>
      </Stack>
      <Tools server={server} readOnly={readOnly} checkButton={checkButton} />
      {isEdited && <ServerDrawer server={server} onClose={() => setIsEdited(false)} />}
      {access.drawer}
    </Page>
  );
}

/** Why the user cannot change a server with this level. */
function useReadOnly(level: ToolServerView['level']): string | false {
  const { t } = useTranslation('mcp');
  const { may } = useMe();
  if (!may('mcp:server:edit')) return t('mayNotEdit');
  return !isChangeable(level) && t('mayNotEditGrant');
}

/** The check of a connection. A new server, which opens with `check=now`, is checked at once. */
function useCheck(id: number) {
  const [address, change] = useSearchParams();
  const check = useAction(() => plinth.toolServerCheck({ path: { id } }), {
    changes: SERVER_CHANGES,
    onFailure: () => undefined,
  });
  const isNew = address['check'] === 'now';
  const begin = useEffectEvent((): void => {
    if (!isNew) return;
    change({ check: undefined });
    check.mutate();
  });
  useEffect(() => begin(), [isNew]);
  return check;
}

function Connection({ server }: { readonly server: ToolServerView }) {
  const { t } = useTranslation('mcp');
  const { address, auth, listTime } = server;
  return (
    <Group gap="xs" className={styles['facts']}>
      <Code>{address}</Code>
      <Text size="sm" c="dimmed">
        {t('auth.label')}: {t(`auth.${auth}`)}
      </Text>
      {listTime !== null && (
        <Text size="sm" c="dimmed">
          {t('checked')}: <Time value={listTime} />
        </Text>
      )}
    </Group>
  );
}

function CheckResult({ result }: { readonly result: ToolServerCheckView }) {
  const { t } = useTranslation('mcp');
  const { protocolVersion: revision, serverName, serverVersion, toolCount, skippedCount } = result;
  const name = [serverName, serverVersion].filter(Boolean).join(' ');
  return (
    <Alert color="green" role="status" title={t('check.good')}>
      {name === '' ? t('check.unnamed', { revision }) : t('check.named', { name, revision })}{' '}
      {t('check.tools', { count: toolCount })}
      {skippedCount > 0 && ` ${t('check.skipped', { count: skippedCount })}`}
    </Alert>
  );
}

interface ToolsProps {
  readonly server: ToolServerView;
  readonly readOnly: string | false;
  readonly checkButton: ReactNode;
}

function Tools({ server: { id, name: serverName }, readOnly, checkButton }: ToolsProps) {
  const { t } = useTranslation('mcp');
  const queries = useQueryClient();
  const { data: tools = [] } = useQuery(toolsQuery(id));
  const [openId, setOpenId] = useState<number>();
  const [accepted, setAccepted] = useState<readonly ServerToolView[]>();
  const open = tools.find((tool) => tool.id === openId);
  const newTools = tools.filter(({ state }) => state === 'new');
  return (
    <>
      <WaitingNote
        tools={tools}
        action={
          !readOnly &&
          newTools.length > 0 && (
            <Button size="xs" variant="default" onClick={() => setAccepted(newTools)}>
              {t('accept.allAction', { count: newTools.length })}
            </Button>
          )
        }
      />
      <DataTable
        name="serverTools"
        of={id}
        label={t('tools.label', { name: serverName })}
        filters={[
          { name: 'q', label: t('tools.search') },
          {
            name: 'state',
            label: t('state.any'),
            choices: choicesOf(['waiting', 'accepted', 'missing'], (state) => t(`state.${state}`)),
          },
        ]}
        query={({ q, state }: SearchParams) => ({ text: q, state })}
        load={async (query) => pageOfTools(await queries.query(toolsQuery(id)), query)}
        rowKey={(tool: ServerToolView) => tool.id}
        columns={[
          { id: 'name', title: t('tools.name'), sort: true, cell: (tool) => <Tool tool={tool} /> },
          {
            id: 'state',
            title: t('state.label'),
            width: 150,
            cell: ({ state }) => <StateBadge state={state} />,
          },
          {
            id: 'consent',
            title: t('consent.label'),
            width: 200,
            cell: (tool) => (
              <ConsentSelect serverId={id} tool={tool} disabled={Boolean(readOnly)} />
            ),
          },
        ]}
        onOpen={(tool) => setOpenId(tool.id)}
        openLabel={(tool) => t(isWaiting(tool) && !readOnly ? 'tools.review' : 'tools.view')}
        bulkActions={
          !readOnly &&
          ((rows, clear) => {
            const chosen = rows.filter(({ state }) => state === 'new');
            return (
              chosen.length > 0 && (
                <Button
                  variant="light"
                  onClick={() => {
                    setAccepted(chosen);
                    clear();
                  }}
                >
                  {t('accept.action', { count: chosen.length })}
                </Button>
              )
            );
          })
        }
        empty={
          <Empty icon={IconTools} title={t('tools.empty')} action={checkButton}>
            {t('tools.emptyHint')}
          </Empty>
        }
      />
      {open && (
        <ToolDrawer
          // What the server lists may change while the drawer is open.
          key={`${open.id} ${open.listedHash}`}
          serverId={id}
          tool={open}
          readOnly={readOnly}
          onClose={() => setOpenId(undefined)}
        />
      )}
      {accepted && (
        <AcceptTools serverId={id} tools={accepted} onClose={() => setAccepted(undefined)} />
      )}
    </>
  );
}

interface WaitingProps {
  readonly tools: readonly ServerToolView[];
  readonly action: ReactNode;
}

function WaitingNote({ tools, action }: WaitingProps) {
  const { t } = useTranslation('mcp');
  const count = tools.filter(isWaiting).length;
  if (count === 0) return null;
  return (
    <Alert color="yellow" mb="md" role="note">
      <Group justify="space-between" gap="xs">
        <Text size="sm">{t('tools.waiting', { count })}</Text>
        <Group gap="xs">
          <LinkButton size="xs" variant="default" to="." search={{ state: 'waiting' } as never}>
            {t('tools.show')}
          </LinkButton>
          {action}
        </Group>
      </Group>
    </Alert>
  );
}

function Tool({ tool }: { readonly tool: ServerToolView }) {
  const { t } = useTranslation('mcp');
  const text = textOf(tool);
  const parts = text && partsOf(text, (hint) => t(`hint.${hint}`));
  const hints = HINTS.filter((hint) => text?.[hint] && hint !== 'openWorld');
  return (
    <Stack gap={2} align="flex-start">
      <Group gap={6}>
        <Text size="sm" fw={600} ta="left">
          {tool.name}
        </Text>
        {hints.map((hint) => (
          <Badge key={hint} variant="default" fw={400} size="sm">
            {t(`hint.${hint}`)}
          </Badge>
        ))}
      </Group>
      {parts && (
        <Text size="xs" c="dimmed" fw={400} ta="left" lineClamp={2}>
          {parts.description}
        </Text>
      )}
    </Stack>
  );
}

interface ConsentProps {
  readonly serverId: number;
  readonly tool: ServerToolView;
  readonly disabled: boolean;
}

/** The consent of an accepted tool, changed at once. That of a new one is chosen with its acceptance. */
function ConsentSelect({ serverId, tool: { id, name, state, consent }, disabled }: ConsentProps) {
  const { t } = useTranslation('mcp');
  const change = useAction(
    (chosen: Consent) =>
      plinth.toolServerChangeTools({
        path: { id: serverId },
        body: { tools: [{ id, consent: chosen }] },
      }),
    { done: t('tool.saved', { name }), changes: SERVER_CHANGES },
  );
  if (state === 'new') {
    return (
      <Text size="sm" c="dimmed">
        –
      </Text>
    );
  }
  return (
    <Select
      size="xs"
      miw={170}
      aria-label={t('consent.of', { name })}
      data={choicesOf(CONSENTS, (one) => t(`consent.${one}`))}
      value={change.isPending ? change.variables : consent}
      allowDeselect={false}
      disabled={disabled}
      onChange={(chosen) => {
        const next = CONSENTS.find((one) => one === chosen);
        if (next && next !== consent) change.mutate(next);
      }}
    />
  );
}

interface AcceptProps {
  readonly serverId: number;
  readonly tools: readonly ServerToolView[];
  readonly onClose: () => void;
}

/** Accepts several new tools, whose descriptions it shows. */
function AcceptTools({ serverId, tools, onClose }: AcceptProps) {
  const { t } = useTranslation('mcp');
  const { t: ofUi } = useTranslation('ui');
  const count = tools.length;
  const accept = useAction(
    () =>
      plinth.toolServerChangeTools({
        path: { id: serverId },
        body: { tools: tools.map(({ id, listedHash }) => ({ id, accept: listedHash ?? '' })) },
      }),
    {
      done: t('accept.done', { count }),
      changes: SERVER_CHANGES,
      after: onClose,
      onFailure: () => undefined,
    },
  );
  return (
    <Modal opened onClose={onClose} size="lg" title={t('accept.action', { count })}>
      <Stack>
        <Text>{t('accept.about', { count })}</Text>
        <Stack gap="sm" className={styles['list'] ?? ''} tabIndex={0}>
          {tools.map((tool) => (
            <Described key={tool.id} tool={tool} />
          ))}
        </Stack>
        {accept.error !== null && <FormFailure error={accept.error} />}
        <Group justify="flex-end">
          <Button variant="default" onClick={onClose}>
            {ofUi('cancel')}
          </Button>
          <Button loading={accept.isPending} onClick={() => accept.mutate()}>
            {t('accept.action', { count })}
          </Button>
        </Group>
      </Stack>
    </Modal>
  );
}

function Described({ tool }: { readonly tool: ServerToolView }) {
  const { t } = useTranslation('mcp');
  const text = textOf(tool);
  const parts = text && partsOf(text, (hint) => t(`hint.${hint}`));
  return (
    <div>
      <Group gap="xs">
        <Text fw={600} size="sm">
          {tool.name}
        </Text>
        <Text size="xs" c="dimmed">
          {t(`consent.${tool.suggestedConsent}`)}
        </Text>
      </Group>
      <Text size="sm" className={styles['described']}>
        {parts?.description || t('tool.empty')}
      </Text>
      <details>
        <summary className={styles['summary']}>{t('parts.inputSchema')}</summary>
        <pre className={`${styles['text']} ${styles['code']}`}>{parts?.inputSchema}</pre>
      </details>
    </div>
  );
}
