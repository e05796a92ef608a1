import { MultiSelect, Textarea, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useQuery } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { plinth } from '../app/plinth';
import { useMe } from '../app/me';
import { messageOf } from '../ui/states';
import { FormDrawer } from '../ui/form';

/** Form that adds a service account: a user for programs, without a password. */
export function ServiceAccountDrawer({ onClose }: { readonly onClose: () => void }) {
  const { t } = useTranslation('apikey');
  const { may } = useMe();
  const choices = useQuery({
    queryKey: ['users', 'form', 'new'],
    queryFn: ({ signal }) => plinth.userForm({ signal }),
    enabled: may('system:user:query'),
  });
  const form = useForm({
    initialValues: { userName: '', remark: '', roleIds: [] as string[] },
    validate: {
      userName: (value) => (/^\S{2,64}$/.test(value) ? null : t('account.nameRule')),
    },
  });
  const save = ({ roleIds, ...values }: typeof form.values) =>
    plinth.userCreateService({ body: { ...values, roleIds: roleIds.map(Number) } });
  return (
    <FormDrawer
      title={t('account.add')}
      form={form}
      action={t('account.add')}
      onSubmit={save}
      done={t('account.added')}
      changes={[['users']]}
      onClose={onClose}
    >
      <TextInput
        label={t('account.name')}
        description={t('account.about')}
        autoComplete="off"
        required
        data-autofocus
        {...form.getInputProps('userName')}
      />
      <MultiSelect
        label={t('account.roles')}
        description={t('account.rolesHelp')}
        data={(choices.data?.roles ?? []).map(({ roleId, roleName }) => ({
          value: String(roleId),
          label: roleName,
        }))}
        searchable
        {...form.getInputProps('roleIds')}
        error={choices.error && messageOf(choices.error)}
      />
      <Textarea label={t('account.remark')} maxLength={500} {...form.getInputProps('remark')} />
    </FormDrawer>
  );
}
