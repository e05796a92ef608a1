import { Alert, Badge, Button, Group, Switch, Text, Tooltip } from '@mantine/core';
import {
  IconCode,
  IconInbox,
  IconPin,
  IconPinnedFilled,
  IconPinnedOff,
  IconPlus,
  IconRestore,
  IconTrash,
} from '@tabler/icons-react';
import type { HarnessSessionView } from '@plinth/client';
import { useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { modals } from '@mantine/modals';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { plinth } from '../app/plinth';
import { useSearchParams } from '../app/search-params';
import type { SearchParams } from '../app/search-params';
import { useMe } from '../app/me';
import { ActionButton, LinkButton } from '../ui/buttons';
import { useAction } from '../ui/action';
import { DataTable } from '../ui/data-table';
import { Empty } from '../ui/states';
import { MenuItem } from '../ui/menu-item';
import { notifySuccess } from '../ui/notify';
import { Page } from '../ui/page';
import { Time } from '../ui/time';
import styles from './harness.module.css';
import { timeOf } from './key';
import { NewSession } from './new-session';
import { confirmRemoval } from './session.page';
import { useBrowserStream } from './stream/browser-stream';

/** Polling interval, because sessions also change in other tabs and on other devices. */
const POLL_MS = 10_000;

export default function SessionsPage() {
  const { t } = useTranslation('harness');
  const navigate = useNavigate();
  const { count: waiting = 0 } = useBrowserStream();
  const [address, change] = useSearchParams();
  const [creating, setCreating] = useState(false);
  const { isSuperAdmin } = useMe();
  const { data: capabilities } = useQuery({
    queryKey: ['harness', 'capabilities'],
    queryFn: ({ signal }) => plinth.controlCapabilities({ signal }),
  });
  const { data: inbox = [] } = useQuery({
    queryKey: ['approvals', waiting],
    queryFn: ({ signal }) => plinth.approvalWaiting({ signal }),
  });
  const open = ({ sessionId }: HarnessSessionView): void =>
    void navigate({ to: '/harness/$sessionId', params: { sessionId } });
  const create = (
    <ActionButton icon={IconPlus} onClick={() => setCreating(true)}>
      {t('session.create')}
    </ActionButton>
  );
  const stateOf = ({ sessionId, activeRunId }: HarnessSessionView) => {
    const count = inbox.filter((entry) => entry.sessionId === sessionId).length;
    if (count > 0) return { name: 'waiting', tone: 'warn', count } as const;
    if (activeRunId !== null) return { name: 'working', tone: 'busy', count } as const;
    return { name: 'idle', tone: 'quiet', count } as const;
  };
  return (
    <Page
      title={t('title')}
      description={t('description')}
      actions={
        <>
          <LinkButton variant="default" icon={IconInbox} to="/harness/approvals">
            {t('inbox.open')}
            {waiting > 0 && (
              <Badge size="sm" color="red.9" ml={6}>
                {waiting}
              </Badge>
            )}
          </LinkButton>
          {create}
        </>
      }
    >
      {capabilities && !capabilities.writesEnabled && (
        <Alert color="yellow" mb="md" title={t('writes.stopped')}>
          {t('writes.stoppedHint')}
        </Alert>
      )}
      {capabilities && !capabilities.shell.available && (
        <Text size="sm" c="dimmed" mb="sm">
          {t('shell.missing')} {capabilities.shell.reason}
        </Text>
      )}
      <DataTable
        name="harness-sessions"
        label={t('title')}
        filters={[
          { name: 'search', label: t('session.search') },
          {
            name: 'removed',
            label: t('session.showRemoved'),
            input: (
              <Switch
                label={t('session.showRemoved')}
                checked={address['removed'] === 'yes'}
                onChange={({ currentTarget }) =>
                  change({ removed: currentTarget.checked ? 'yes' : undefined, page: undefined })
                }
              />
            ),
          },
        ]}
        query={({ search = '', removed }: SearchParams) => ({
          searchText: search.toLowerCase(),
          deleted: removed === 'yes',
        })}
        load={async ({ pageNum, pageSize, searchText, deleted }, signal) => {
          const query = { deleted, pageSize: 1_000 };
          const all = await plinth.harnessSessionList({ query, signal });
          const matches = all.filter(({ title, workspace }) =>
            `${title} ${workspace}`.toLowerCase().includes(searchText),
          );
          const from = (pageNum - 1) * pageSize;
          return { rows: matches.slice(from, from + pageSize), total: matches.length };
        }}
        rowKey={({ sessionId }: HarnessSessionView) => sessionId}
        onOpen={open}
        refetchInterval={POLL_MS}
        empty={
          <Empty icon={IconCode} title={t('session.none')} action={create}>
            {t('session.noneHint')}
          </Empty>
        }
        columns={[
          {
            id: 'title',
            title: t('session.title'),
            cell: ({ title, pinnedAt }) => (
              <Group gap={6} wrap="nowrap" component="span">
                {pinnedAt !== null && (
                  <IconPinnedFilled size={14} role="img" aria-label={t('session.pinned')} />
                )}
                {title}
              </Group>
            ),
          },
          {
            id: 'state',
            title: t('session.state'),
            width: 150,
            cell: (row) => {
              const { name, tone, count } = stateOf(row);
              return (
                <Text size="sm" className={styles[tone] ?? ''}>
                  {t(`session.states.${name}`, { count })}
                </Text>
              );
            },
          },
          {
            id: 'workspace',
            title: t('session.workspace'),
            cell: ({ workspace }) => (
              <Tooltip label={workspace}>
                <code className={styles['mono']}>{workspace.split('/').at(-1)}</code>
              </Tooltip>
            ),
          },
          { id: 'model', title: t('session.model') },
          {
            id: 'mode',
            title: t('session.mode'),
            cell: ({ permissionMode }) => t(`mode.${permissionMode}`),
          },
          {
            id: 'policy',
            title: t('session.policy'),
            optional: true,
            cell: ({ approvalPolicy }) => t(`policy.${approvalPolicy}`),
          },
          {
            id: 'updated',
            title: t('session.updated'),
            width: 140,
            cell: ({ updatedAt }) => <Time value={timeOf(updatedAt)} />,
          },
        ]}
        rowActions={(row) => <RowActions session={row} />}
      />
      {isSuperAdmin && capabilities && <WritesSwitch enabled={capabilities.writesEnabled} />}
      {creating && <NewSession onClose={() => setCreating(false)} onCreated={open} />}
    </Page>
  );
}

const CHANGES = [['harness-sessions']];

function RowActions({ session }: { readonly session: HarnessSessionView }) {
  const { t } = useTranslation('harness');
  const { sessionId, pinnedAt, deletedAt } = session;
  const path = { sessionId };
  const pin = useAction(
    () => plinth.harnessSessionPin({ path, body: { pinned: pinnedAt === null } }),
    {
      changes: CHANGES,
    },
  );
  const restore = useAction(() => plinth.harnessSessionRestore({ path }), {
    done: t('session.restored'),
    changes: CHANGES,
  });
  const remove = useAction(() => plinth.harnessSessionRemove({ path }), {
    done: t('session.removed'),
    changes: CHANGES,
  });
  if (deletedAt !== null) {
    return (
      <MenuItem icon={IconRestore} onClick={() => restore.mutate()}>
        {t('session.restore')}
      </MenuItem>
    );
  }
  return (
    <>
      <MenuItem icon={pinnedAt === null ? IconPin : IconPinnedOff} onClick={() => pin.mutate()}>
        {t(pinnedAt === null ? 'session.pin' : 'session.unpin')}
      </MenuItem>
      <MenuItem
        color="red"
        icon={IconTrash}
        onClick={() => confirmRemoval(t, session, () => remove.mutateAsync())}
      >
        {t('session.remove')}
      </MenuItem>
    </>
  );
}

/** Switch for super administrators that blocks or allows all file changes in every tenant. */
function WritesSwitch({ enabled }: { readonly enabled: boolean }) {
  const { t } = useTranslation('harness');
  const change = useAction(
    (next: boolean) => plinth.controlSwitchWrites({ body: { enabled: next } }),
    {
      changes: [['harness', 'capabilities']],
      after: ({ writesEnabled }) =>
        notifySuccess(t(writesEnabled ? 'writes.allowed' : 'writes.done')),
    },
  );
  const ask = (): void => {
    const next = !enabled;
    const id = modals.open({
      title: t(next ? 'writes.allowTitle' : 'writes.stopTitle'),
      children: (
        <>
          <Text mb="md">{t(next ? 'writes.allowBody' : 'writes.stopBody')}</Text>
          <Group justify="flex-end">
            <Button variant="default" onClick={() => modals.close(id)}>
              {t('cancel')}
            </Button>
            <Button
              color={next ? undefined : 'red.9'}
              onClick={() => {
                modals.close(id);
                change.mutate(next);
              }}
            >
              {t(next ? 'writes.allow' : 'writes.stop')}
            </Button>
          </Group>
        </>
      ),
    });
  };
  return (
    <Group mt="xl" gap="md" className={styles['writes'] ?? ''}>
      <div className={styles['grow']}>
        <Text fw={600}>{t('writes.title')}</Text>
        <Text size="sm" c="dimmed">
          {t(enabled ? 'writes.enabledHint' : 'writes.stoppedHint')}
        </Text>
      </div>
      <Button variant="default" loading={change.isPending} onClick={ask}>
        {t(enabled ? 'writes.stop' : 'writes.allow')}
      </Button>
    </Group>
  );
}
