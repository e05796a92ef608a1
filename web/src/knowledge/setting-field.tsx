import {
  Badge,
  NumberInput,
  Radio,
  Select,
  Stack,
  Switch,
  Textarea,
  TextInput,
} from '@mantine/core';
import type { UseFormReturnType } from '@mantine/form';
import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import type { Revised } from '../ui/form';
import { ModelPicker } from '../ui/pickers';
import { languageChoices, settingInfo } from './base-settings';
import type { Field, Settings } from './base-settings';

export type SettingsForm = UseFormReturnType<Settings & Revised>;

interface Props {
  readonly form: SettingsForm;
  readonly name: Field;
}

/** Input for one setting, based on its kind and limits in the service's table. */
export function SettingField({ form, name }: Props) {
  const { t } = useTranslation('knowledge');
  const { kind, optional = false, required = false, category = '', ...limits } = settingInfo(name);
  const props = {
    label: name === 'share' ? t('base.shareWithAll') : t(`field.${name}`),
    description: <Help field={name} />,
    ...form.getInputProps(name),
  };
  const { min, max, step } = limits;
  switch (kind) {
    case 'line':
      return (
        <TextInput
          {...props}
          required={required}
          placeholder={name === 'vectorModel' ? t('settings.defaultStore') : undefined}
          maxLength={max}
        />
      );
    case 'paragraph':
      return <Textarea {...props} minRows={name === 'description' ? 2 : 1} maxLength={max} />;
    case 'model':
      return (
        <ModelPicker
          {...props}
          category={category}
          placeholder={name === 'ocrModel' ? t('settings.tesseract') : t('none')}
          clearable={optional}
        />
      );
    case 'whole':
    case 'decimal':
      return (
        <NumberInput
          {...props}
          {...(optional && optionalNumber(form, name))}
          min={name === 'textBlockSize' ? 1 : name === 'overlapChar' ? 0 : min}
          max={max}
          step={step}
          decimalScale={kind === 'decimal' ? 4 : undefined}
        />
      );
    case 'switch':
      return (
        <Switch
          label={props.label}
          description={props.description}
          checked={form.values[name] === 1}
          onChange={({ currentTarget }) => form.setFieldValue(name, currentTarget.checked ? 1 : 0)}
        />
      );
    case 'choice':
      return name === 'neighbours' ? (
        <Neighbours form={form} />
      ) : (
        <Select
          {...props}
          data={languageChoices(t('language.auto'))}
          searchable
          allowDeselect={false}
        />
      );
  }
}

function Neighbours({ form }: Pick<Props, 'form'>) {
  const { t } = useTranslation('knowledge');
  return (
    <Radio.Group aria-label={t('field.neighbours')} {...form.getInputProps('neighbours')}>
      <Stack gap="xs">
        {(['none', 'adjacent', 'section'] as const).map((mode) => (
          <Radio
            key={mode}
            value={mode}
            label={t(`neighbours.${mode}`)}
            description={t(`neighboursHelp.${mode}`)}
          />
        ))}
      </Stack>
    </Radio.Group>
  );
}

/** An empty field means null. */
function optionalNumber(form: SettingsForm, name: Field) {
  return {
    value: form.values[name] ?? '',
    onChange: (typed: number | string) =>
      form.setFieldValue(name, typed === '' ? null : Number(typed)),
  };
}

/** Help text of a setting, with a note if changes take effect only after parsing again. */
function Help({ field }: { readonly field: Field }): ReactNode {
  const { t } = useTranslation('knowledge');
  if (field === 'name') return undefined;
  return (
    <>
      {t(`help.${field}`)}
      {settingInfo(field).parsing && (
        <>
          {' '}
          <Badge component="span" size="xs" variant="default" fw={400}>
            {t('settings.needsParsing')}
          </Badge>
        </>
      )}
    </>
  );
}
