import {
  Alert,
  Badge,
  Button,
  Code,
  Group,
  Modal,
  Select,
  Stack,
  Text,
  TextInput,
} from '@mantine/core';
import { useForm } from '@mantine/form';
import type { NoticeTargetView } from '@plinth/client';
import { IconBell } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { plinth } from '../app/plinth';
import { useMe } from '../app/me';
import { CopyButton } from '../ui/copy-button';
import { FormDrawer } from '../ui/form';
import { ListPage } from '../ui/list-page';
import { Time } from '../ui/time';
import styles from './usage.module.css';

/** Polling interval, because notices are delivered while the list is open. */
const REFRESH_MS = 10_000;
const KINDS = ['webhook', 'mail'] as const;

interface Props {
  /** Puts the content below the tabs of the page. */
  readonly inTabs: (content: ReactNode) => ReactNode;
}

/** The addresses that are told when a share of a limit is used. The secret of a new webhook is shown once. */
export function Notices({ inTabs }: Props) {
  const { t } = useTranslation('usage');
  const { may } = useMe();
  const [secret, setSecret] = useState<string>();
  return (
    <ListPage
      name="notices"
      title={t('notices.title')}
      description={t('notices.about')}
      within={inTabs}
      load={(query, signal) => plinth.noticeTargetList({ query, signal })}
      rowKey={({ id }: NoticeTargetView) => id}
      refetchInterval={REFRESH_MS}
      add={may('system:limit:add') && t('notices.add')}
      form={(_, close) => <AddressDrawer onSecret={setSecret} onClose={close} />}
      canOpen={false}
      columns={[
        {
          id: 'address',
          title: t('notices.address'),
          cell: ({ address }) => <span className={styles['address']}>{address}</span>,
        },
        {
          id: 'kind',
          title: t('notices.kind'),
          width: 120,
          sort: true,
          cell: ({ kind }) => t(`notices.kinds.${kind}`),
        },
        {
          id: 'last',
          title: t('notices.last'),
          width: 360,
          cell: (target) => <LastNotice target={target} />,
        },
        {
          id: 'createTime',
          title: t('notices.addedTime'),
          width: 140,
          sort: true,
          show: 'time',
        },
      ]}
      remove={
        may('system:limit:remove') && {
          single: true,
          title: () => t('notices.removeTitle'),
          body: (targets) => targets.map(({ address }) => t('notices.removeBody', { address })),
          action: () => t('notices.remove'),
          run: (targets) =>
            plinth.noticeTargetRemove({ path: { ids: targets.map(({ id }) => String(id)) } }),
          done: t('notices.removed'),
        }
      }
      empty={{
        icon: IconBell,
        title: t('notices.empty'),
        hint: t('notices.emptyHint'),
        isBare: true,
      }}
    >
      {secret !== undefined && <SecretOnce secret={secret} onClose={() => setSecret(undefined)} />}
    </ListPage>
  );
}

/** Colour of a state, and of its text, which reads on it in both themes. */
const COLOURS = {
  waiting: ['gray', 'var(--mantine-color-text)'],
  retried: ['yellow', 'var(--plinth-warn)'],
  delivered: ['green', 'var(--plinth-good)'],
  failed: ['red', 'var(--plinth-bad)'],
} as const;

/** State of the last notice, and why its last attempt failed. */
function LastNotice({ target }: { readonly target: NoticeTargetView }) {
  const { t } = useTranslation('usage');
  const { lastState, lastTime, lastError } = target;
  if (lastState === null) {
    return (
      <Text size="sm" c="dimmed">
        {t('notices.none')}
      </Text>
    );
  }
  const state = lastState === 'waiting' && lastError !== null ? 'retried' : lastState;
  const [color, text] = COLOURS[state];
  return (
    <Stack gap={4}>
      <Group gap="xs">
        <Badge variant="light" color={color} c={text}>
          {t(`notices.states.${state}`)}
        </Badge>
        <Time value={lastTime} />
      </Group>
      {lastError !== null && (
        <Text size="xs" c="dimmed">
          {lastError}
        </Text>
      )}
    </Stack>
  );
}

interface DrawerProps {
  readonly onSecret: (secret: string) => void;
  readonly onClose: () => void;
}

/** Drawer that adds an address. Mail can be chosen only where the installation sends it. */
function AddressDrawer({ onSecret, onClose }: DrawerProps) {
  const { t } = useTranslation('usage');
  const { data } = useQuery({
    queryKey: ['notices', 'kinds'],
    queryFn: ({ signal }) => plinth.noticeTargetKinds({ signal }),
  });
  const form = useForm<{ kind: NoticeTargetView['kind']; address: string }>({
    initialValues: { kind: 'webhook', address: '' },
    validate: {
      address: (address, { kind }) => {
        const isAddress = kind === 'mail' ? /^\S+@\S+$/ : /^https?:\/\/\S+$/;
        return isAddress.test(address.trim()) ? null : t(`notices.rules.${kind}`);
      },
    },
  });
  const { kind } = form.values;
  const sendsMail = data?.kinds.includes('mail');
  const save = (values: typeof form.values) =>
    plinth.noticeTargetCreate({ body: { kind: values.kind, address: values.address.trim() } });
  return (
    <FormDrawer
      title={t('notices.add')}
      form={form}
      action={t('notices.add')}
      onSubmit={save}
      done={t('notices.added')}
      changes={[['notices']]}
      after={({ secret }) => secret !== null && onSecret(secret)}
      onClose={onClose}
    >
      <Select
        label={t('notices.kind')}
        description={sendsMail === false && t('notices.noMail')}
        data={KINDS.map((value) => ({
          value,
          label: t(`notices.kinds.${value}`),
          disabled: value === 'mail' && sendsMail === false,
        }))}
        allowDeselect={false}
        {...form.getInputProps('kind')}
      />
      <TextInput
        type={kind === 'mail' ? 'email' : 'url'}
        label={t('notices.address')}
        description={t(`notices.help.${kind}`)}
        placeholder={kind === 'mail' ? 'costs@example.com' : 'https://hooks.example.com/plinth'}
        maxLength={2_000}
        required
        {...form.getInputProps('address')}
      />
    </FormDrawer>
  );
}

interface OnceProps {
  readonly secret: string;
  readonly onClose: () => void;
}

/** Shows the secret of a webhook once; the API does not answer it again. */
function SecretOnce({ secret, onClose }: OnceProps) {
  const { t } = useTranslation('usage');
  return (
    <Modal
      opened
      onClose={onClose}
      title={t('notices.once.title')}
      closeOnClickOutside={false}
      closeOnEscape={false}
      withCloseButton={false}
    >
      <Stack>
        <Text>{t('notices.once.about')}</Text>
        <Group gap={4} wrap="nowrap" className={styles['secret']}>
          <Code>{secret}</Code>
          <CopyButton value={secret} label={t('notices.once.copy')} />
        </Group>
        <Alert color="yellow">{t('notices.once.keep')}</Alert>
        <Group justify="flex-end">
          <Button onClick={onClose} data-autofocus>
            {t('notices.once.close')}
          </Button>
        </Group>
      </Stack>
    </Modal>
  );
}
