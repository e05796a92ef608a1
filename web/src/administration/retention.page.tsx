import {
  Button,
  Group,
  SegmentedControl,
  Select,
  Stack,
  Switch,
  Table,
  Text,
  TextInput,
  Title,
} from '@mantine/core';
import type { HoldView, RetentionView } from '@plinth/client';
import { useForm } from '@mantine/form';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { RetentionForm, retentionKey } from '../account/retention-form';
import { plinth } from '../app/plinth';
import { useMe } from '../app/me';
import { useAction } from '../ui/action';
import { confirmDestruction } from '../ui/confirm';
import { FormDrawer } from '../ui/form';
import { FramedTable } from '../ui/framed-table';
import { Page } from '../ui/page';
import { Failure, RowsSkeleton } from '../ui/states';
import { Time } from '../ui/time';

const POLICIES = ['allowed', 'enforced', 'forbidden'] as const;
type Policy = (typeof POLICIES)[number];
const holdsKey = ['retention', 'holds'] as const;

/** How long records of the tenant are kept, whether chats can be temporary, what traces have, and who is under legal hold. */
export default function RetentionPage() {
  const { t } = useTranslation('administration');
  const rules = useQuery({
    queryKey: [...retentionKey, 'tenant'],
    queryFn: ({ signal }) => plinth.retentionRules({ signal }),
  });
  return (
    <Page title={t('retention.title')} description={t('retention.about')} width="reading">
      <Stack gap="xl">
        {rules.error && <Failure error={rules.error} onRetry={() => void rules.refetch()} />}
        {rules.isPending && <RowsSkeleton rows={4} />}
        {rules.data && <Rules retention={rules.data} />}
        <Holds />
      </Stack>
    </Page>
  );
}

function Rules({ retention }: { readonly retention: RetentionView }) {
  const { t } = useTranslation('administration');
  const { may } = useMe();
  const [policy, setPolicy] = useState<Policy>(retention.temporaryChats);
  const [traceContent, setTraceContent] = useState(retention.traceContent);
  const canEdit = may('system:retention:edit');
  return (
    <RetentionForm
      retention={retention}
      readOnly={!canEdit}
      isChanged={policy !== retention.temporaryChats || traceContent !== retention.traceContent}
      save={(rules) =>
        plinth.retentionUpdate({ body: { rules, temporaryChats: policy, traceContent } })
      }
    >
      <Stack gap={4} align="flex-start">
        <Text fw={600} size="sm" id="temporary-label">
          {t('retention.temporary')}
        </Text>
        <Text size="sm" c="dimmed">
          {t(`retention.policyHelp.${policy}`)}
        </Text>
        <SegmentedControl
          aria-labelledby="temporary-label"
          value={policy}
          disabled={!canEdit}
          onChange={(value) => setPolicy(value)}
          data={POLICIES.map((value) => ({ value, label: t(`retention.policies.${value}`) }))}
        />
      </Stack>
      <Switch
        label={t('retention.traceContent')}
        description={t('retention.traceContentHelp')}
        checked={traceContent}
        disabled={!canEdit}
        onChange={({ currentTarget }) => setTraceContent(currentTarget.checked)}
      />
    </RetentionForm>
  );
}

function Holds() {
  const { t } = useTranslation('administration');
  const { may } = useMe();
  const [adding, setAdding] = useState(false);
  const mayHold = may('system:retention:hold');
  const { data, error, isPending, refetch } = useQuery({
    queryKey: holdsKey,
    queryFn: ({ signal }) => plinth.retentionHolds({ signal }),
  });
  const lift = useAction(({ userId }: HoldView) => plinth.retentionLift({ path: { userId } }), {
    done: t('retention.lifted'),
    changes: [holdsKey],
  });
  const ask = (hold: HoldView): void =>
    confirmDestruction({
      title: t('retention.liftTitle', { name: hold.userName }),
      body: t('retention.liftBody'),
      action: t('retention.lift'),
      run: () => lift.mutateAsync(hold),
    });
  return (
    <section aria-label={t('retention.holds')}>
      <Group justify="space-between" mb="xs">
        <Title order={2}>{t('retention.holds')}</Title>
        {mayHold && may('system:user:query') && (
          <Button variant="default" onClick={() => setAdding(true)}>
            {t('retention.place')}
          </Button>
        )}
      </Group>
      <Text c="dimmed" mb="md">
        {t('retention.holdsAbout')}
        {mayHold && !may('system:user:query') && ` ${t('retention.placeNeeds')}`}
      </Text>
      {error && <Failure error={error} onRetry={() => void refetch()} />}
      {isPending && <RowsSkeleton rows={2} />}
      {data?.length === 0 && <Text c="dimmed">{t('retention.noHolds')}</Text>}
      {data && data.length > 0 && (
        <FramedTable label={t('retention.holds')} minWidth={520}>
          <Table.Thead>
            <Table.Tr>
              <Table.Th>{t('users.userName')}</Table.Th>
              <Table.Th>{t('retention.reason')}</Table.Th>
              <Table.Th>{t('retention.placed')}</Table.Th>
              {mayHold && <Table.Th aria-label={t('retention.lift')} />}
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {data.map((hold) => (
              <Table.Tr key={hold.userId}>
                <Table.Td>{hold.userName}</Table.Td>
                <Table.Td>{hold.reason}</Table.Td>
                <Table.Td>
                  <Time value={hold.createTime} />
                  {hold.placedBy !== null && ` · ${hold.placedBy}`}
                </Table.Td>
                {mayHold && (
                  <Table.Td ta="right">
                    <Button variant="default" size="xs" onClick={() => ask(hold)}>
                      {t('retention.lift')}
                    </Button>
                  </Table.Td>
                )}
              </Table.Tr>
            ))}
          </Table.Tbody>
        </FramedTable>
      )}
      {adding && <HoldDrawer onClose={() => setAdding(false)} />}
    </section>
  );
}

function HoldDrawer({ onClose }: { readonly onClose: () => void }) {
  const { t } = useTranslation('administration');
  const { data } = useQuery({
    queryKey: ['users', 'options'],
    queryFn: ({ signal }) => plinth.userOptions({ signal }),
  });
  const form = useForm({
    initialValues: { userId: '', reason: '' },
    validate: {
      userId: (value) => (value === '' ? t('retention.userMissing') : null),
      reason: (value) => (value.trim() === '' ? t('retention.reasonMissing') : null),
    },
  });
  return (
    <FormDrawer
      title={t('retention.place')}
      form={form}
      action={t('retention.place')}
      onSubmit={({ userId, reason }) =>
        plinth.retentionHold({ path: { userId: Number(userId) }, body: { reason } })
      }
      done={t('retention.held')}
      changes={[holdsKey]}
      onClose={onClose}
    >
      <Select
        label={t('users.userName')}
        data={(data ?? []).map(({ userId, userName }) => ({
          value: String(userId),
          label: userName,
        }))}
        searchable
        required
        data-autofocus
        {...form.getInputProps('userId')}
      />
      <TextInput
        label={t('retention.reason')}
        maxLength={500}
        required
        {...form.getInputProps('reason')}
      />
    </FormDrawer>
  );
}
