import { MultiSelect, Select, Textarea, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import type { UserView } from '@plinth/client';
import { useQuery } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { plinth } from '../app/plinth';
import { useMe } from '../app/me';
import { Failure } from '../ui/states';
import { FormDrawer } from '../ui/form';
import { MAX_PASSWORD_CHARS, newPassword, NewPasswordField, MIN_PASSWORD_CHARS } from './password';
import type { Credentials } from './password';

interface Props {
  /** The user to edit; undefined to add one. */
  readonly user: UserView | undefined;
  readonly onCreated: (credentials: Credentials) => void;
  readonly onClose: () => void;
}

export function UserDrawer({ user, onCreated, onClose }: Props) {
  const { t } = useTranslation('administration');
  const { may, user: me } = useMe();
  const isMe = user !== undefined && user.userId === me?.userId;
  const canEdit = may(user ? 'system:user:edit' : 'system:user:add');
  const choices = useQuery({
    queryKey: ['users', 'form', user?.userId ?? 'new'],
    queryFn: ({ signal }) =>
      user
        ? plinth.userGet({ path: { userId: user.userId }, signal })
        : plinth.userForm({ signal }),
    enabled: may('system:user:query'),
  });
  const form = useForm({
    initialValues: valuesOf(user),
    validate: {
      userName: (value) => (/^\S{2,64}$/.test(value) ? null : t('users.userNameRule')),
      nickName: (value) => (user && value.trim() === '' ? t('users.nickNameMissing') : null),
      password: (value) =>
        !user && (value.length < MIN_PASSWORD_CHARS || value.length > MAX_PASSWORD_CHARS)
          ? t('password.rule')
          : null,
      email: (value) => (value === '' || /^\S+@\S+$/.test(value) ? null : t('users.emailRule')),
    },
  });
  const save = async ({ password, ...values }: typeof form.values) => {
    const roleIds = values.roleIds.map(Number);
    if (!user) {
      await plinth.userCreate({ body: { ...values, password, roleIds } });
      return;
    }
    const { roleIds: _unchanged, ...rest } = values;
    await plinth.userUpdate({
      body: {
        ...rest,
        userId: user.userId,
        ...(form.isDirty('roleIds') && { roleIds }),
      },
    });
  };
  return (
    <FormDrawer
      title={user ? t('users.editNamed', { name: user.userName }) : t('users.add')}
      form={form}
      action={t(user ? 'users.save' : 'users.add')}
      onSubmit={save}
      done={t(user ? 'users.saved' : 'users.added')}
      changes={[['users'], ['roles'], ['me']]}
      after={(_result, { userName, password }) => {
        if (!user) onCreated({ userName, password });
      }}
      onClose={onClose}
      valuesOf={valuesOf}
      readOnly={!canEdit && t('users.mayNotEdit')}
    >
      <TextInput
        label={t('users.userName')}
        description={t('users.userNameHelp')}
        autoComplete="off"
        data-autofocus={!user || undefined}
        required
        {...form.getInputProps('userName')}
      />
      <TextInput
        label={t('users.nickName')}
        description={t('users.nickNameHelp')}
        autoComplete="off"
        {...form.getInputProps('nickName')}
      />
      {!user && (
        <NewPasswordField
          label={t('password.password')}
          description={t('password.shownAfter')}
          onGenerate={(password) => form.setFieldValue('password', password)}
          {...form.getInputProps('password')}
        />
      )}
      {choices.error ? (
        <Failure error={choices.error} onRetry={() => void choices.refetch()} />
      ) : (
        <MultiSelect
          label={t('users.roles')}
          description={t(isMe ? 'users.notOwnRoles' : 'users.rolesHelp')}
          disabled={isMe || choices.isPending}
          data={(choices.data?.roles ?? user?.roles ?? []).map(({ roleId, roleName, status }) => ({
            value: String(roleId),
            label: status === '0' ? roleName : t('users.disabledRole', { name: roleName }),
          }))}
          searchable
          clearable
          nothingFoundMessage={t('users.noSuchRole')}
          {...form.getInputProps('roleIds')}
        />
      )}
      <TextInput
        label={t('users.email')}
        type="email"
        autoComplete="off"
        {...form.getInputProps('email')}
      />
      <TextInput
        label={t('users.phone')}
        type="tel"
        autoComplete="off"
        maxLength={20}
        {...form.getInputProps('phonenumber')}
      />
      <Select
        label={t('users.sex')}
        data={(['0', '1', '2'] as const).map((value) => ({ value, label: t(`sex.${value}`) }))}
        allowDeselect={false}
        {...form.getInputProps('sex')}
      />
      <Textarea
        label={t('users.remark')}
        maxRows={6}
        maxLength={500}
        {...form.getInputProps('remark')}
      />
    </FormDrawer>
  );
}

function valuesOf(user: UserView | undefined) {
  return {
    revision: user?.revision,
    userName: user?.userName ?? '',
    nickName: user?.nickName ?? '',
    password: user ? '' : newPassword(),
    roleIds: (user?.roles ?? []).map(({ roleId }) => String(roleId)),
    email: user?.email ?? '',
    phonenumber: user?.phonenumber ?? '',
    sex: user?.sex ?? '2',
    remark: user?.remark ?? '',
  };
}
