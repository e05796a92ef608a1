import { NumberInput, Switch, Textarea, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import type { DictionaryEntryView, DictionaryTypeView } from '@plinth/client';
import type { QueryKey } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { plinth } from '../app/plinth';
import { useMe } from '../app/me';
import { FormDrawer } from '../ui/form';

interface TypeProps {
  /** The type to edit; undefined to add one. */
  readonly type: DictionaryTypeView | undefined;
  readonly onSaved: (dictType: string) => void;
  readonly onClose: () => void;
}

export function DictionaryTypeDrawer({ type, onSaved, onClose }: TypeProps) {
  const { t } = useTranslation('administration');
  const form = useForm({
    initialValues: typeValuesOf(type),
    validate: {
      dictName: (value) => (value.trim() === '' ? t('roles.nameMissing') : null),
      dictType: (value) => (/^[a-z][a-z0-9_]*$/.test(value) ? null : t('dictionary.typeRule')),
    },
  });
  const save = async (body: typeof form.values) => {
    await (type
      ? plinth.dictionaryTypeUpdate({ body: { ...body, dictId: type.dictId } })
      : plinth.dictionaryTypeCreate({ body }));
  };
  return (
    <FormDrawer
      title={t(type ? 'dictionary.editType' : 'dictionary.addType')}
      record={type?.dictId}
      form={form}
      action={t(type ? 'dictionary.saveType' : 'dictionary.addType')}
      onSubmit={save}
      done={t('dictionary.typeSaved')}
      changes={[['dictionary']]}
      after={(_result, { dictType }) => onSaved(dictType)}
      onClose={onClose}
      valuesOf={typeValuesOf}
    >
      <TextInput
        label={t('roles.name')}
        maxLength={100}
        required
        data-autofocus
        {...form.getInputProps('dictName')}
      />
      <TextInput
        label={t('dictionary.type')}
        description={t('dictionary.typeHelp')}
        maxLength={100}
        required
        {...form.getInputProps('dictType')}
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

interface EntryProps {
  readonly dictType: string;
  /** The entry to edit; undefined to add one. */
  readonly entry: DictionaryEntryView | undefined;
  readonly changes: readonly QueryKey[];
  readonly onClose: () => void;
}

export function DictionaryEntryDrawer({ dictType, entry, changes, onClose }: EntryProps) {
  const { t } = useTranslation('administration');
  const { may } = useMe();
  const canEdit = may(entry ? 'system:dict:edit' : 'system:dict:add');
  const form = useForm({
    initialValues: entryValuesOf(entry),
    validate: {
      dictLabel: (value) => (value.trim() === '' ? t('dictionary.labelMissing') : null),
      dictValue: (value) => (value.trim() === '' ? t('dictionary.valueMissing') : null),
    },
  });
  const save = async ({ isDefault, dictSort, ...values }: typeof form.values) => {
    const body = {
      ...values,
      dictType,
      dictSort: Number(dictSort),
      isDefault: isDefault ? ('Y' as const) : ('N' as const),
    };
    await (entry
      ? plinth.dictionaryEntryUpdate({ body: { ...body, dictCode: entry.dictCode } })
      : plinth.dictionaryEntryCreate({ body }));
  };
  return (
    <FormDrawer
      title={t(entry ? 'dictionary.editEntry' : 'dictionary.addEntry')}
      record={entry ? entry.dictCode : dictType}
      form={form}
      action={t(entry ? 'dictionary.saveEntry' : 'dictionary.addEntry')}
      onSubmit={save}
      done={t('dictionary.entrySaved')}
      changes={changes}
      onClose={onClose}
      valuesOf={entryValuesOf}
      readOnly={!canEdit && t('dictionary.mayNotEdit')}
    >
      <TextInput
        label={t('dictionary.label')}
        description={t('dictionary.labelHelp')}
        maxLength={100}
        required
        data-autofocus
        {...form.getInputProps('dictLabel')}
      />
      <TextInput
        label={t('dictionary.value')}
        description={t(entry?.seeded ? 'dictionary.valueFixed' : 'dictionary.valueHelp')}
        maxLength={100}
        required
        disabled={entry?.seeded ?? false}
        {...form.getInputProps('dictValue')}
      />
      <NumberInput
        label={t('roles.order')}
        description={t('roles.orderHelp')}
        min={-1_000_000}
        max={1_000_000}
        allowDecimal={false}
        {...form.getInputProps('dictSort')}
      />
      <Switch
        label={t('dictionary.default')}
        description={t('dictionary.defaultHelp')}
        {...form.getInputProps('isDefault', { type: 'checkbox' })}
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

function typeValuesOf(type: DictionaryTypeView | undefined) {
  return {
    revision: type?.revision,
    dictName: type?.dictName ?? '',
    dictType: type?.dictType ?? '',
    remark: type?.remark ?? '',
  };
}

function entryValuesOf(entry: DictionaryEntryView | undefined) {
  return {
    revision: entry?.revision,
    dictLabel: entry?.dictLabel ?? '',
    dictValue: entry?.dictValue ?? '',
    dictSort: (entry?.dictSort ?? 0) as number | string,
    isDefault: entry?.isDefault === 'Y',
    remark: entry?.remark ?? '',
  };
}
