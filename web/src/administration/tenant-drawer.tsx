import { NumberInput, Switch, Textarea, TextInput, Title } from '@mantine/core';
import { useForm } from '@mantine/form';
import type { TenantView } from '@plinth/client';
import { useTranslation } from 'react-i18next';
import { plinth } from '../app/plinth';
import { useMe } from '../app/me';
import { FormDrawer } from '../ui/form';
import { MAX_PASSWORD_CHARS, newPassword, NewPasswordField, MIN_PASSWORD_CHARS } from './password';
import type { Credentials } from './password';

/** The tenant of super administrators, which cannot be disabled. */
export const HOME_TENANT = '000000';

interface Props {
  /** The tenant to edit; undefined to add one. */
  readonly tenant: TenantView | undefined;
  readonly onCreated: (credentials: Credentials) => void;
  readonly onClose: () => void;
}

/** Form of a tenant. A new tenant is added together with its first administrator. */
export function TenantDrawer({ tenant, onCreated, onClose }: Props) {
  const { t } = useTranslation('administration');
  const { may } = useMe();
  const canEdit = may(tenant ? 'system:tenant:edit' : 'system:tenant:add');
  const isHome = tenant?.tenantId === HOME_TENANT;
  const form = useForm({
    initialValues: valuesOf(tenant),
    validate: {
      companyName: (value) => (value.trim() === '' ? t('tenants.companyMissing') : null),
      tenantId: (value) =>
        tenant || value === '' || /^\d{6}$/.test(value) ? null : t('tenants.idRule'),
      username: (value) => (tenant || /^\S{2,64}$/.test(value) ? null : t('users.userNameRule')),
      password: ({ length }) =>
        !tenant && (length < MIN_PASSWORD_CHARS || length > MAX_PASSWORD_CHARS)
          ? t('password.rule')
          : null,
    },
  });
  const save = async ({
    username,
    password,
    tenantId,
    expireTime,
    ...values
  }: typeof form.values) => {
    const body = {
      ...values,
      accountCount: values.accountCount === '' ? -1 : Number(values.accountCount),
    };
    if (!tenant) {
      await plinth.tenantCreate({
        body: {
          ...body,
          username,
          password,
          ...(tenantId && { tenantId }),
          ...(expireTime && { expireTime }),
        },
      });
      return;
    }
    await plinth.tenantUpdate({
      body: {
        ...body,
        id: tenant.id,
        // A time of day set by another client is kept unless the date changes.
        ...(form.isDirty('expireTime') && { expireTime }),
      },
    });
  };
  return (
    <FormDrawer
      title={tenant ? t('tenants.editNamed', { name: tenant.companyName }) : t('tenants.add')}
      form={form}
      action={t(tenant ? 'tenants.save' : 'tenants.add')}
      onSubmit={save}
      done={t(tenant ? 'tenants.saved' : 'tenants.added')}
      changes={[['tenants']]}
      after={(_result, { username: userName, password }) => {
        if (!tenant) onCreated({ userName, password });
      }}
      onClose={onClose}
      valuesOf={valuesOf}
      readOnly={!canEdit && t('tenants.mayNotEdit')}
    >
      <TextInput
        label={t('tenants.company')}
        maxLength={100}
        required
        data-autofocus={!tenant || undefined}
        {...form.getInputProps('companyName')}
      />
      <TextInput
        label={t('tenants.id')}
        description={t(tenant ? 'tenants.idFixed' : 'tenants.idHelp')}
        disabled={tenant !== undefined}
        inputMode="numeric"
        {...form.getInputProps('tenantId')}
      />
      {!tenant && (
        <>
          <Title order={3} mt="xs">
            {t('tenants.first')}
          </Title>
          <TextInput
            label={t('users.userName')}
            description={t('tenants.firstHelp')}
            autoComplete="off"
            required
            {...form.getInputProps('username')}
          />
          <NewPasswordField
            label={t('password.password')}
            description={t('password.shownAfter')}
            onGenerate={(password) => form.setFieldValue('password', password)}
            {...form.getInputProps('password')}
          />
        </>
      )}
      <Title order={3} mt="xs">
        {t('tenants.limits')}
      </Title>
      <TextInput
        type="date"
        label={t('tenants.ends')}
        description={t(isHome ? 'tenants.homeIsFixed' : 'tenants.endsHelp')}
        disabled={isHome}
        {...form.getInputProps('expireTime')}
      />
      <NumberInput
        label={t('tenants.limit')}
        description={t('tenants.limitHelp')}
        min={0}
        max={1_000_000}
        allowDecimal={false}
        {...form.getInputProps('accountCount')}
      />
      <Switch
        label={t('tenants.register')}
        description={t('tenants.registerHelp')}
        {...form.getInputProps('registerEnabled', { type: 'checkbox' })}
      />
      <Title order={3} mt="xs">
        {t('tenants.details')}
      </Title>
      <TextInput
        label={t('tenants.contact')}
        maxLength={50}
        {...form.getInputProps('contactUserName')}
      />
      <TextInput
        label={t('users.phone')}
        type="tel"
        maxLength={30}
        {...form.getInputProps('contactPhone')}
      />
      <TextInput
        label={t('tenants.domain')}
        description={t('tenants.domainHelp')}
        maxLength={200}
        {...form.getInputProps('domain')}
      />
      <TextInput label={t('tenants.address')} maxLength={200} {...form.getInputProps('address')} />
      <TextInput
        label={t('tenants.licence')}
        maxLength={50}
        {...form.getInputProps('licenseNumber')}
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

function valuesOf(tenant: TenantView | undefined) {
  return {
    revision: tenant?.revision,
    companyName: tenant?.companyName ?? '',
    tenantId: tenant?.tenantId ?? '',
    username: '',
    password: tenant ? '' : newPassword(),
    contactUserName: tenant?.contactUserName ?? '',
    contactPhone: tenant?.contactPhone ?? '',
    // Only the date is entered; the time defaults to midnight.
    expireTime: tenant?.expireTime?.slice(0, 10) ?? '',
    accountCount: (tenant && tenant.accountCount >= 0 ? tenant.accountCount : '') as
      | number
      | string,
    registerEnabled: tenant?.registerEnabled ?? false,
    domain: tenant?.domain ?? '',
    address: tenant?.address ?? '',
    licenseNumber: tenant?.licenseNumber ?? '',
    intro: tenant?.intro ?? '',
    remark: tenant?.remark ?? '',
  };
}
