import { Checkbox, NumberInput, PasswordInput, Select, Switch, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import type { SearchCodeView, SearchProviderView } from '@plinth/client';
import { useTranslation } from 'react-i18next';
import { plinth } from '../app/plinth';
import { notifySuccess } from '../ui/notify';
import { FormDrawer } from '../ui/form';
import type { Revised } from '../ui/form';
import { CHANGES, useKinds } from './kinds';
import type { SearchCode } from './kinds';

interface Props {
  /** The provider to edit; undefined to add one. */
  readonly provider: SearchProviderView | undefined;
  readonly onAdded: ((provider: SearchProviderView) => void) | undefined;
  readonly onClose: () => void;
}

const ADDRESS = /^https?:\/\/[^/\s]\S*$/i;

export function ProviderDrawer({ provider, onAdded, onClose }: Props) {
  const { t } = useTranslation('search');
  const { kinds, labelOf } = useKinds();
  const kindOf = (code: string | null): SearchCodeView | undefined =>
    kinds.find((kind) => kind.code === code);
  const form = useForm({
    initialValues: valuesOf(provider),
    validate: {
      code: (code) => (code === null ? t('serviceMissing') : null),
      name: (name) => (name.trim() === '' ? t('nameMissing') : null),
      address: (address, { code }) => {
        if (address.trim() === '')
          return kindOf(code)?.address === null ? t('addressMissing') : null;
        return ADDRESS.test(address.trim()) ? null : t('addressRule');
      },
      apiKey: (apiKey, values) => {
        if (apiKey !== '' || values.removesKey) return null;
        if (provider?.hasKey && isMoved(provider, values.address)) return t('keyAgain');
        return kindOf(values.code)?.needsKey && !provider?.hasKey ? t('keyMissing') : null;
      },
    },
  });
  const { code, removesKey } = form.values;
  const kind = kindOf(code);
  const choose = (chosen: string | null): void => {
    const next = kindOf(chosen);
    if (!next) return;
    const isOwnName =
      form.values.name !== '' && !kinds.some(({ label }) => label === form.values.name);
    form.setValues({ code: next.code, ...(!isOwnName && { name: next.label }) });
  };
  const save = async (values: typeof form.values): Promise<SearchProviderView> => {
    const { revision, ...rest } = values;
    const body = bodyOf(rest);
    if (provider) {
      return plinth.searchProviderUpdate({ body: { ...body, id: provider.id, revision } });
    }
    return plinth.searchProviderCreate({ body: { ...body, code: code ?? 'searxng' } });
  };
  const keyHelp = provider?.hasKey ? 'keyKept' : kind?.needsKey ? 'keyHelp' : 'keyOptional';
  return (
    <FormDrawer
      title={t(provider ? 'edit' : 'add')}
      record={provider?.id}
      form={form}
      action={t(provider ? 'save' : 'add')}
      onSubmit={save}
      done={provider && t('saved')}
      changes={CHANGES}
      after={(saved) => {
        if (provider) return;
        notifySuccess(t('added', { name: saved.name }));
        onAdded?.(saved);
      }}
      onClose={onClose}
      valuesOf={valuesOf}
    >
      {provider ? (
        <TextInput label={t('service')} value={labelOf(provider.code)} readOnly disabled />
      ) : (
        <Select
          label={t('service')}
          data={kinds.map(({ code: value, label }) => ({ value, label }))}
          allowDeselect={false}
          required
          data-autofocus
          {...form.getInputProps('code')}
          onChange={choose}
        />
      )}
      <TextInput label={t('name')} maxLength={100} required {...form.getInputProps('name')} />
      <TextInput
        label={t('address')}
        description={t(kind?.address === null ? 'addressOwn' : 'addressHelp')}
        placeholder={kind ? (kind.address ?? 'https://search.example.com') : undefined}
        type="url"
        maxLength={500}
        required={kind?.address === null}
        {...form.getInputProps('address')}
      />
      <PasswordInput
        label={t('key')}
        description={t(keyHelp)}
        autoComplete="new-password"
        maxLength={500}
        required={kind?.needsKey === true && !provider?.hasKey}
        disabled={removesKey}
        visibilityToggleButtonProps={{ 'aria-label': t('showKey') }}
        {...form.getInputProps('apiKey')}
      />
      {provider?.hasKey && kind?.needsKey === false && (
        <Checkbox
          label={t('removeKey')}
          {...form.getInputProps('removesKey', { type: 'checkbox' })}
        />
      )}
      <NumberInput
        label={t('price')}
        description={t('priceHelp')}
        min={0}
        max={1_000_000}
        decimalScale={6}
        {...form.getInputProps('price')}
      />
      <NumberInput
        label={t('order')}
        description={t('orderHelp')}
        min={0}
        allowDecimal={false}
        {...form.getInputProps('sortOrder')}
      />
      <Switch
        label={t('enabled')}
        description={t('enabledHelp')}
        {...form.getInputProps('enabled', { type: 'checkbox' })}
      />
    </FormDrawer>
  );
}

interface Values extends Revised {
  readonly code: SearchCode | null;
  readonly name: string;
  readonly address: string;
  readonly apiKey: string;
  readonly removesKey: boolean;
  readonly price: number | '';
  readonly sortOrder: number;
  readonly enabled: boolean;
}

function valuesOf(provider: SearchProviderView | undefined): Values {
  return {
    revision: provider?.revision,
    code: provider?.code ?? null,
    name: provider?.name ?? '',
    address: provider?.address ?? '',
    apiKey: '',
    removesKey: false,
    price: provider?.price ?? '',
    sortOrder: provider?.sortOrder ?? 0,
    enabled: provider?.status === 0,
  };
}

/** Whether the provider gets another address, to which its stored key is not sent. */
function isMoved({ address }: SearchProviderView, entered: string): boolean {
  return entered.trim().replace(/\/+$/, '') !== address;
}

function bodyOf({
  name,
  address,
  apiKey,
  removesKey,
  price,
  sortOrder,
  enabled,
}: Omit<Values, 'revision'>) {
  const key = removesKey ? '' : apiKey || undefined;
  return {
    name: name.trim(),
    ...(address.trim() !== '' && { address: address.trim() }),
    ...(key !== undefined && { apiKey: key }),
    price,
    sortOrder,
    status: enabled ? (0 as const) : (1 as const),
  };
}
