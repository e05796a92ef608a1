import { Badge, Button, Group, Modal, PasswordInput, Stack, Text, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { IconDeviceMobile, IconKey } from '@tabler/icons-react';
import type { SecondFactorView } from '@plinth/client';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { plinth } from '../app/plinth';
import { Enrolment, RecoveryCodes } from '../sign-in/enrolment';
import { FormDrawer } from '../ui/form';
import { Failure, RowsSkeleton } from '../ui/states';
import { Time } from '../ui/time';
import styles from './account.module.css';

const KEY = ['second-factors'];

/** Lists the user's second factors; each can be removed, and others added. */
export function SecondFactors() {
  const { t } = useTranslation('account');
  const queries = useQueryClient();
  const [adding, setAdding] = useState(false);
  const [removed, setRemoved] = useState<SecondFactorView>();
  const [renewing, setRenewing] = useState(false);
  const [codes, setCodes] = useState<readonly string[]>();
  const { data, error, isPending, refetch } = useQuery({
    queryKey: KEY,
    queryFn: ({ signal }) => plinth.secondFactorList({ signal }),
  });
  if (error) return <Failure error={error} onRetry={() => void refetch()} />;
  if (isPending) return <RowsSkeleton rows={2} height={56} />;
  const { factors, recoveryCodes, required, kinds } = data;
  return (
    <Stack gap="sm">
      <Text c="dimmed">{t('second.about')}</Text>
      {required && factors.length === 0 && <Text>{t('second.required')}</Text>}
      {factors.length > 0 && (
        <ul className={styles['signIns']} aria-label={t('second.title')}>
          {factors.map((factor) => (
            <Factor key={factor.id} factor={factor} onRemove={() => setRemoved(factor)} />
          ))}
        </ul>
      )}
      <Group>
        <Button variant="default" onClick={() => setAdding(true)}>
          {t('second.add')}
        </Button>
        {factors.length > 0 && (
          <>
            <Button variant="default" onClick={() => setRenewing(true)}>
              {t('second.newCodes')}
            </Button>
            <Text size="sm" c="dimmed">
              {t('second.codesLeft', { count: recoveryCodes })}
            </Text>
          </>
        )}
      </Group>
      {adding && (
        <AddFactor
          kinds={kinds}
          onAdded={(newCodes) => {
            setAdding(false);
            setCodes(newCodes ?? undefined);
            void queries.invalidateQueries({ queryKey: KEY });
          }}
          onClose={() => setAdding(false)}
        />
      )}
      {removed && <RemoveFactor factor={removed} onClose={() => setRemoved(undefined)} />}
      {renewing && <RenewCodes onRenewed={setCodes} onClose={() => setRenewing(false)} />}
      {codes && (
        <Modal
          opened
          onClose={() => undefined}
          withCloseButton={false}
          closeOnEscape={false}
          title={t('second.codes')}
        >
          <RecoveryCodes codes={codes} onClose={() => setCodes(undefined)} />
        </Modal>
      )}
    </Stack>
  );
}

interface FactorProps {
  readonly factor: SecondFactorView;
  readonly onRemove: () => void;
}

function Factor({ factor: { kind, name, lastUsedTime }, onRemove }: FactorProps) {
  const { t } = useTranslation('account');
  const Icon = kind === 'totp' ? IconDeviceMobile : IconKey;
  return (
    <li className={styles['signIn']}>
      <Icon size={20} stroke={1.5} className={styles['device']} />
      <Stack gap={0} className={styles['facts']}>
        <Group gap="xs">
          <Text fw={600}>{name}</Text>
          <Badge size="sm" variant="light">
            {t(`second.kinds.${kind}`)}
          </Badge>
        </Group>
        <Text size="sm" c="dimmed">
          {lastUsedTime === null ? (
            t('second.neverUsed')
          ) : (
            <>
              {t('second.lastUsed')} <Time value={lastUsedTime} />
            </>
          )}
        </Text>
      </Stack>
      <Button
        variant="default"
        size="xs"
        aria-label={t('second.removeNamed', { name })}
        onClick={onRemove}
      >
        {t('second.remove')}
      </Button>
    </li>
  );
}

interface AddProps {
  readonly kinds: readonly string[];
  readonly onAdded: (recoveryCodes: readonly string[] | null) => void;
  readonly onClose: () => void;
}

/** The password is asked for again, because a factor outlives the sign-in. */
function AddFactor({ kinds, onAdded, onClose }: AddProps) {
  const { t } = useTranslation('account');
  const [password, setPassword] = useState('');
  return (
    <Modal opened onClose={onClose} closeOnClickOutside={false} title={t('second.add')}>
      <Enrolment
        kinds={kinds}
        begin={(kind) => plinth.secondFactorEnrol({ body: { kind, password } })}
        confirm={async (body) => {
          const { recoveryCodes } = await plinth.secondFactorConfirm({ body });
          onAdded(recoveryCodes);
        }}
      >
        <PasswordInput
          label={t('password.old')}
          autoComplete="current-password"
          visibilityToggleButtonProps={{ 'aria-label': t('password.show') }}
          data-autofocus
          value={password}
          onChange={({ currentTarget }) => setPassword(currentTarget.value)}
        />
      </Enrolment>
    </Modal>
  );
}

interface RemoveProps {
  readonly factor: SecondFactorView;
  readonly onClose: () => void;
}

function RemoveFactor({ factor: { id, name }, onClose }: RemoveProps) {
  const { t } = useTranslation('account');
  const form = useIdentityForm();
  return (
    <FormDrawer
      title={t('second.removeNamed', { name })}
      form={form}
      action={t('second.remove')}
      onSubmit={(identity) => plinth.secondFactorRemove({ body: { id, ...identity } })}
      done={t('second.removed', { name })}
      changes={[KEY]}
      onClose={onClose}
    >
      <Text>{t('second.removeBody')}</Text>
      <IdentityFields form={form} />
    </FormDrawer>
  );
}

interface RenewProps {
  readonly onRenewed: (codes: readonly string[]) => void;
  readonly onClose: () => void;
}

function RenewCodes({ onRenewed, onClose }: RenewProps) {
  const { t } = useTranslation('account');
  const form = useIdentityForm();
  return (
    <FormDrawer
      title={t('second.newCodes')}
      form={form}
      action={t('second.newCodes')}
      onSubmit={(identity) => plinth.secondFactorRenewRecoveryCodes({ body: identity })}
      changes={[KEY]}
      after={({ recoveryCodes }) => onRenewed(recoveryCodes)}
      onClose={onClose}
    >
      <Text>{t('second.newCodesBody')}</Text>
      <IdentityFields form={form} />
    </FormDrawer>
  );
}

function useIdentityForm() {
  const { t } = useTranslation('account');
  return useForm({
    initialValues: { password: '', code: '' },
    validate: {
      password: (value, { code }) => (value === '' && code === '' ? t('second.missing') : null),
    },
  });
}

/** The password, or a code of a second factor. */
function IdentityFields({ form }: { readonly form: ReturnType<typeof useIdentityForm> }) {
  const { t } = useTranslation('account');
  return (
    <>
      <PasswordInput
        label={t('password.old')}
        autoComplete="current-password"
        visibilityToggleButtonProps={{ 'aria-label': t('password.show') }}
        data-autofocus
        {...form.getInputProps('password')}
      />
      <TextInput
        label={t('second.orCode')}
        autoComplete="one-time-code"
        {...form.getInputProps('code')}
      />
    </>
  );
}
