import {
  ActionIcon,
  Group,
  MultiSelect,
  NumberInput,
  PasswordInput,
  Stack,
  Switch,
  Text,
  TextInput,
  Title,
} from '@mantine/core';
import type { UseFormReturnType } from '@mantine/form';
import { IconPlus, IconTrash } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { plinth } from '../app/plinth';
import { ActionButton } from '../ui/buttons';
import { messageOf } from '../ui/states';
import { number } from '../ui/format';
import styles from './model.module.css';
import { newKey } from './values';
import type { ModelValues } from './values';

const MAX_FALLBACKS = 5;
const MAX_KEYS = 20;

interface Props {
  readonly form: UseFormReturnType<ModelValues>;
  /** Id of the model; absent for a new one. */
  readonly modelId: number | undefined;
  readonly disabled: boolean;
}

/** Alternatives if a model's service fails: fallback models and additional keys of this model. */
export function Alternatives({ form, modelId, disabled }: Props) {
  const { t } = useTranslation('model');
  return (
    <Stack className={styles['section']}>
      <Title order={2}>{t('sections.alternatives')}</Title>
      <Text size="sm" c="dimmed">
        {t('alternatives.about')}
      </Text>
      <Fallbacks form={form} modelId={modelId} disabled={disabled} />
      <Keys form={form} />
      {modelId !== undefined && <Cooldowns modelId={modelId} keys={form.values.keys} />}
    </Stack>
  );
}

function Fallbacks({ form, modelId, disabled }: Props) {
  const { t } = useTranslation('model');
  const { category, modelName, modelDimension, fallbackIds } = form.values;
  const query = { category, pageSize: 1_000 };
  const { data, error } = useQuery({
    queryKey: ['models', 'fallbacks', category],
    queryFn: ({ signal }) => plinth.modelList({ query, signal }),
  });
  const fits = (data?.rows ?? []).filter(
    (one) =>
      one.id !== modelId &&
      (category !== 'vector' ||
        (one.modelName === modelName && one.modelDimension === modelDimension)),
  );
  // A stored choice stays visible. The service explains why it is not suitable.
  const others = fallbackIds.filter((id) => !fits.some((one) => String(one.id) === id));
  return (
    <MultiSelect
      label={t('alternatives.fallbacks')}
      description={t(category === 'vector' ? 'alternatives.sameVectors' : 'alternatives.inOrder')}
      data={[
        ...fits.map(({ id, modelName: name, modelDescribe, providerCode }) => ({
          value: String(id),
          label: `${modelDescribe || name} (${providerCode})`,
        })),
        ...others.map((id) => ({ value: id, label: t('alternatives.otherModel', { id }) })),
      ]}
      searchable
      clearable
      disabled={disabled}
      maxValues={MAX_FALLBACKS}
      nothingFoundMessage={t('alternatives.noModel')}
      {...form.getInputProps('fallbackIds')}
      error={error ? messageOf(error) : form.errors['fallbackIds']}
    />
  );
}

function Keys({ form }: Pick<Props, 'form'>) {
  const { t } = useTranslation('model');
  const { keys } = form.values;
  return (
    <Stack gap="xs" role="group" aria-label={t('alternatives.keys')}>
      <Text size="sm" fw={500}>
        {t('alternatives.keys')}
      </Text>
      <Text size="xs" c="dimmed">
        {t('alternatives.keysHelp')}
      </Text>
      {keys.length > 0 && (
        <NumberInput
          label={t('alternatives.ownWeight')}
          w={200}
          min={1}
          max={100}
          allowDecimal={false}
          {...form.getInputProps('keyWeight')}
        />
      )}
      {keys.map(({ id, label }, place) => (
        <Group key={id ?? `new-${place}`} gap="xs" align="flex-start" className={styles['key']}>
          <TextInput
            label={t('alternatives.keyName')}
            maxLength={100}
            flex={1}
            {...form.getInputProps(`keys.${place}.label`)}
          />
          <PasswordInput
            label={t(id === undefined ? 'key' : 'newKey')}
            placeholder={id === undefined ? undefined : t('keyStored')}
            autoComplete="off"
            visibilityToggleButtonProps={{ 'aria-label': t('showKey') }}
            flex={1}
            {...form.getInputProps(`keys.${place}.apiKey`)}
          />
          <NumberInput
            label={t('alternatives.weight')}
            w={90}
            min={1}
            max={100}
            allowDecimal={false}
            {...form.getInputProps(`keys.${place}.weight`)}
          />
          <Switch
            label={t('alternatives.used')}
            mt={32}
            {...form.getInputProps(`keys.${place}.enabled`, { type: 'checkbox' })}
          />
          <ActionIcon
            variant="subtle"
            color="gray"
            mt={28}
            aria-label={t('alternatives.removeKey', { name: label || place + 1 })}
            onClick={() => form.removeListItem('keys', place)}
          >
            <IconTrash size={16} stroke={1.5} />
          </ActionIcon>
        </Group>
      ))}
      <Group>
        <ActionButton
          size="xs"
          variant="default"
          icon={IconPlus}
          disabled={keys.length >= MAX_KEYS}
          onClick={() => form.insertListItem('keys', newKey())}
        >
          {t('alternatives.addKey')}
        </ActionButton>
      </Group>
    </Stack>
  );
}

interface CooldownsProps {
  readonly modelId: number;
  readonly keys: ModelValues['keys'];
}

/** Lists keys that are cooling down and currently skipped. */
function Cooldowns({ modelId, keys }: CooldownsProps) {
  const { t } = useTranslation('model');
  const { data = [] } = useQuery({
    queryKey: ['models', String(modelId), 'cooldowns'],
    queryFn: ({ signal }) => plinth.modelCooldowns({ path: { id: modelId }, signal }),
    refetchInterval: 10_000,
  });
  if (data.length === 0) return null;
  const nameOf = (keyId: number | null): string =>
    keys.find(({ id }) => id === keyId)?.label ?? t('alternatives.ownKey');
  return (
    <ul className={styles['cooldowns']} aria-label={t('alternatives.cooldowns')}>
      {data.map(({ keyId, reason, seconds }) => (
        <li key={`${keyId ?? ''} ${reason}`}>
          {t(`alternatives.${reason}`, { name: nameOf(keyId), seconds: number(seconds) })}
        </li>
      ))}
    </ul>
  );
}
