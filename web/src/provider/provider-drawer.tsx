import { Autocomplete, NumberInput, Textarea, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { withMessage } from '@plinth/client';
import type { ProviderView } from '@plinth/client';
import { useQuery } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { plinth } from '../app/plinth';
import { FormDrawer } from '../ui/form';

interface Props {
  /** The provider to edit; absent to add one. */
  readonly provider: ProviderView | undefined;
  readonly onClose: () => void;
}

export function ProviderDrawer({ provider, onClose }: Props) {
  const { t } = useTranslation('provider');
  const { data: codes } = useQuery({
    queryKey: ['provider-codes'],
    queryFn: ({ signal }) => plinth.modelProviderOptions({ signal }),
    staleTime: Infinity,
  });
  const form = useForm({
    initialValues: valuesOf(provider),
    validate: {
      providerName: (value) => (value.trim() === '' ? t('nameMissing') : null),
      providerCode: (value) => (value.trim() === '' ? t('codeMissing') : null),
    },
  });
  const save = (values: typeof form.values) =>
    provider
      ? withMessage(plinth.providerUpdate, { body: { id: provider.id, ...values } })
      : withMessage(plinth.providerCreate, { body: values });
  const label = codes?.find(({ value }) => value === form.values.providerCode)?.label;
  return (
    <FormDrawer
      title={t(provider ? 'edit' : 'add')}
      record={provider?.id}
      action={t(provider ? 'save' : 'add')}
      form={form}
      onSubmit={save}
      done={({ message }) => message}
      changes={[['providers'], ['models'], ['home']]}
      onClose={onClose}
      valuesOf={valuesOf}
    >
      <TextInput
        label={t('name')}
        withAsterisk
        data-autofocus
        {...form.getInputProps('providerName')}
      />
      <Autocomplete
        label={t('code')}
        description={label ? t('codeIs', { label }) : t('codeHelp')}
        withAsterisk
        data={codes?.map(({ value }) => value) ?? []}
        renderOption={({ option }) =>
          `${option.value} · ${codes?.find(({ value }) => value === option.value)?.label ?? ''}`
        }
        {...form.getInputProps('providerCode')}
      />
      <TextInput
        label={t('address')}
        description={t('addressHelp')}
        placeholder="https://api.example.com/v1"
        type="url"
        {...form.getInputProps('apiHost')}
      />
      {form.values.providerCode === 'custom_messages' && (
        <TextInput
          label={t('protocolVersion')}
          placeholder="2023-06-01"
          {...form.getInputProps('protocolVersion')}
        />
      )}
      <TextInput label={t('description')} {...form.getInputProps('providerDesc')} />
      <NumberInput
        label={t('order')}
        description={t('orderHelp')}
        allowDecimal={false}
        {...form.getInputProps('sortOrder')}
      />
      <Textarea label={t('remark')} {...form.getInputProps('remark')} />
    </FormDrawer>
  );
}

function valuesOf(provider: ProviderView | undefined) {
  return {
    revision: provider?.revision,
    providerName: provider?.providerName ?? '',
    providerCode: provider?.providerCode ?? '',
    apiHost: provider?.apiHost ?? '',
    protocolVersion: provider?.protocolVersion ?? '',
    providerDesc: provider?.providerDesc ?? '',
    sortOrder: provider?.sortOrder ?? 0,
    remark: provider?.remark ?? '',
  };
}
