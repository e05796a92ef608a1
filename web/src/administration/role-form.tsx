import {
  Alert,
  Button,
  Group,
  NumberInput,
  SimpleGrid,
  Stack,
  Switch,
  Text,
  Textarea,
  TextInput,
  Title,
} from '@mantine/core';
import { useForm } from '@mantine/form';
import type { PermissionView, RoleView } from '@plinth/client';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { plinth } from '../app/plinth';
import { useMe } from '../app/me';
import { useAction } from '../ui/action';
import { focusFirstInvalid, FormFailure, LeaveGuard, useRecordForm } from '../ui/form';
import { PermissionTree } from './permission-tree';
import { allowedBy, compacted, expanded, groupsOf, groupTitle } from './permissions';
import styles from './role-form.module.css';

interface Props {
  readonly permissions: readonly PermissionView[];
  /** The role to edit; undefined to add one. */
  readonly role?: RoleView | undefined;
  /** The role to copy when adding a role. */
  readonly copied?: RoleView | undefined;
}

export function RoleForm({ permissions, role, copied }: Props) {
  const { t } = useTranslation('administration');
  const { may } = useMe();
  const navigate = useNavigate();
  const [failure, setFailure] = useState<unknown>();
  const valuesOf = (edited: RoleView | undefined) => {
    const source = edited ?? copied;
    const initialPermissions: readonly string[] = expanded(
      source?.permissions ?? [],
      permissions,
    ).filter(
      // A copy contains only permissions that the current user may grant.
      (permission) => edited !== undefined || may(permission),
    );
    return {
      revision: edited?.revision,
      roleName: edited?.roleName ?? (copied ? t('roles.copyOf', { name: copied.roleName }) : ''),
      roleKey: edited?.roleKey ?? '',
      roleSort: source?.roleSort ?? 0,
      remark: source?.remark ?? '',
      secondFactor: source?.secondFactor ?? 'optional',
      permissions: initialPermissions,
    };
  };
  const stored = valuesOf(role);
  const readOnly = reasonNotToEdit();
  const form = useForm({
    initialValues: stored,
    validate: {
      roleName: (value) => (value.trim() === '' ? t('roles.nameMissing') : null),
      roleKey: (value) => (value.trim() === '' ? t('roles.keyMissing') : null),
    },
  });
  useRecordForm(form, stored);
  const save = useAction(
    async ({ permissions: chosen, ...values }: typeof form.values) => {
      const permissionFields = {
        permissions: compacted(role?.permissions ?? [], chosen, permissions),
      };
      if (!role) {
        await plinth.roleCreate({ body: { ...values, ...permissionFields } });
        return;
      }
      // Unchanged permissions are not sent, because someone else may have changed them meanwhile.
      const changed = form.isDirty('permissions') ? permissionFields : {};
      await plinth.roleUpdate({ body: { ...values, ...changed, roleId: role.roleId } });
    },
    {
      done: t(role ? 'roles.saved' : 'roles.added'),
      changes: [['roles'], ['me'], ['users']],
      onFailure: setFailure,
      after: (_result, values) => {
        form.resetDirty(values);
        setFailure(undefined);
        if (!role) void navigate({ to: '/roles', ignoreBlocker: true });
      },
    },
  );

  function reasonNotToEdit(): string | undefined {
    if (!role) return may('system:role:add') ? undefined : t('roles.mayNotAdd');
    if (role.superAdmin) return t('roles.fixed');
    if (!may('system:role:edit')) return t('roles.mayNotEdit');
    return stored.permissions.every((permission) => may(permission)) ? undefined : t('roles.above');
  }

  return (
    <form
      noValidate
      onSubmit={form.onSubmit((values) => save.mutate(values), focusFirstInvalid)}
      className={styles['form']}
    >
      <LeaveGuard form={form} dirty={form.isDirty() && !save.isPending} />
      <Stack gap="lg">
        {readOnly && <Alert color="gray">{readOnly}</Alert>}
        <fieldset className={styles['fields']} disabled={readOnly !== undefined}>
          <SimpleGrid cols={{ base: 1, xs: 2 }}>
            <TextInput
              label={t('roles.name')}
              required
              maxLength={100}
              data-autofocus={!role || undefined}
              {...form.getInputProps('roleName')}
            />
            <TextInput
              label={t('roles.key')}
              description={t('roles.keyHelp')}
              required
              maxLength={100}
              {...form.getInputProps('roleKey')}
            />
            <NumberInput
              label={t('roles.order')}
              description={t('roles.orderHelp')}
              min={0}
              max={1_000_000}
              allowDecimal={false}
              {...form.getInputProps('roleSort')}
            />
            <Textarea
              label={t('roles.remark')}
              minRows={1}
              maxRows={5}
              maxLength={500}
              {...form.getInputProps('remark')}
            />
            <Switch
              label={t('roles.secondFactor')}
              description={t('roles.secondFactorHelp')}
              checked={form.values.secondFactor === 'required'}
              onChange={({ currentTarget }) =>
                form.setFieldValue('secondFactor', currentTarget.checked ? 'required' : 'optional')
              }
            />
          </SimpleGrid>
        </fieldset>
        <section>
          <Title order={2} mb="sm">
            {t('roles.permissions')}
          </Title>
          <PermissionTree
            permissions={permissions}
            chosen={form.values.permissions}
            readOnly={readOnly !== undefined}
            onChange={(chosen) => form.setFieldValue('permissions', chosen)}
          />
        </section>
        {failure !== undefined && (
          <FormFailure
            error={failure}
            edited={{ form, valuesOf, onDone: () => setFailure(undefined) }}
          />
        )}
        {!readOnly && (
          <Group className={styles['save']}>
            <Button type="submit" loading={save.isPending} disabled={role && !form.isDirty()}>
              {t(role ? 'roles.save' : 'roles.add')}
            </Button>
            {role && form.isDirty() && (
              <Button variant="default" onClick={() => form.reset()}>
                {t('roles.discard')}
              </Button>
            )}
          </Group>
        )}
      </Stack>
      <Summary permissions={permissions} chosen={form.values.permissions} />
    </form>
  );
}

interface SummaryProps {
  readonly permissions: readonly PermissionView[];
  readonly chosen: readonly string[];
}

/** Describes what a user with this role can do. */
function Summary({ permissions, chosen }: SummaryProps) {
  const { t } = useTranslation('administration');
  const groups = groupsOf(permissions.filter(({ permission }) => chosen.includes(permission)));
  const sizes = new Map(
    groupsOf(permissions).map((group) => [group.key, group.permissions.length]),
  );
  return (
    <aside className={styles['summary']} aria-label={t('role.allows')}>
      <Title order={2} mb={4}>
        {t('role.allows')}
      </Title>
      <Text size="sm" c="dimmed" mb="sm">
        {t('role.everyUser')}
      </Text>
      {groups.length === 0 && <Text size="sm">{t('role.nothing')}</Text>}
      {groups.map((group) => (
        <div key={group.key} className={styles['part']}>
          <Text fw={600} size="sm">
            {groupTitle(t, group)}
          </Text>
          {sizes.get(group.key) === group.permissions.length && group.permissions.length > 2 ? (
            <Text size="sm" c="dimmed">
              {t('role.everythingOf')}
            </Text>
          ) : (
            <ul>
              {group.permissions.map((one) => (
                <li key={one.permission}>{allowedBy(t, one)}</li>
              ))}
            </ul>
          )}
        </div>
      ))}
      {chosen.includes('system:role:edit') && (
        <Alert color="yellow" mt="sm">
          {t('role.warnRoles')}
        </Alert>
      )}
      {chosen.includes('system:user:resetPwd') && (
        <Alert color="yellow" mt="sm">
          {t('role.warnPasswords')}
        </Alert>
      )}
      {chosen.includes('coding:harness:approve') && (
        <Alert color="yellow" mt="sm">
          {t('role.warnHarness')}
        </Alert>
      )}
    </aside>
  );
}
