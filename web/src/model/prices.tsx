import {
  ActionIcon,
  Button,
  Collapse,
  Group,
  NumberInput,
  Stack,
  Text,
  TextInput,
} from '@mantine/core';
import type { UseFormReturnType } from '@mantine/form';
import { IconChevronDown, IconChevronRight, IconPlus, IconTrash } from '@tabler/icons-react';
import { useId, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { ActionButton } from '../ui/buttons';
import { isCategory } from './categories';
import styles from './model.module.css';
import { newTier, TIER_PRICES } from './values';
import type { ModelValues } from './values';

const MAX_TIERS = 10;

/** Price fields of each category, the usual ones and those that few services have. */
const PRICES = {
  chat: [
    ['inputPrice', 'cachedInputPrice', 'outputPrice'],
    [
      ...([
        'cacheWritePrice',
        'cacheWriteHourPrice',
        'audioInputPrice',
        'audioOutputPrice',
      ] as const),
      ...(['webSearchPrice', 'codeRunPrice', 'minimumPrice', 'batchPriceFactor'] as const),
    ],
  ],
  vector: [['inputPrice'], ['minimumPrice', 'batchPriceFactor']],
  rerank: [['inputPrice'], ['minimumPrice']],
  image: [['imagePrice'], ['minimumPrice']],
  audio: [['characterPrice'], ['minimumPrice']],
  video: [['secondPrice'], ['minimumPrice']],
  transcription: [
    ['secondPrice', 'inputPrice', 'outputPrice'],
    ['audioInputPrice', 'minimumPrice'],
  ],
  moderation: [['inputPrice'], ['minimumPrice', 'batchPriceFactor']],
} as const;

const HELP = {
  inputPrice: 'priceHelp',
  outputPrice: 'priceHelp',
  cachedInputPrice: 'cachedPriceHelp',
  cacheWritePrice: 'cacheWritePriceHelp',
  cacheWriteHourPrice: 'cacheWriteHourPriceHelp',
  audioInputPrice: 'audioPriceHelp',
  audioOutputPrice: 'audioPriceHelp',
  imagePrice: 'unitPriceHelp',
  secondPrice: 'unitPriceHelp',
  characterPrice: 'characterPriceHelp',
  webSearchPrice: 'toolPriceHelp',
  codeRunPrice: 'toolPriceHelp',
  minimumPrice: 'minimumPriceHelp',
  batchPriceFactor: 'batchPriceFactorHelp',
} as const;

interface Props {
  readonly form: UseFormReturnType<ModelValues>;
}

/** The prices of a model. Those that few services have are shown on request, and where they are set. */
export function PriceFields({ form }: Props) {
  const { t } = useTranslation('model');
  const id = useId();
  const { category, contextTiers, serviceTierFactors, currency, priceSource } = form.values;
  const [usual, rare] = isCategory(category) ? PRICES[category] : [[], []];
  const isSet =
    rare.some((price) => form.values[price] !== '') ||
    contextTiers.length + serviceTierFactors.length > 0 ||
    currency + priceSource !== '';
  const [isOpen, setOpen] = useState(isSet);
  const field = (price: keyof typeof HELP) => (
    <NumberInput
      key={price}
      label={t(price)}
      description={t(HELP[price])}
      min={0}
      {...form.getInputProps(price)}
    />
  );
  return (
    <Stack gap="md">
      <div className={styles['columns']}>{usual.map(field)}</div>
      <Group>
        <Button
          variant="subtle"
          size="compact-sm"
          aria-expanded={isOpen}
          aria-controls={id}
          leftSection={isOpen ? <IconChevronDown size={16} /> : <IconChevronRight size={16} />}
          onClick={() => setOpen(!isOpen)}
        >
          {t('morePrices')}
        </Button>
      </Group>
      <Collapse expanded={isOpen} id={id}>
        {isOpen && (
          <Stack gap="md">
            <div className={styles['columns']}>
              {rare.map(field)}
              <TextInput
                label={t('currency')}
                description={t('currencyHelp')}
                maxLength={3}
                {...form.getInputProps('currency')}
              />
              <TextInput
                label={t('priceSource')}
                description={t('priceSourceHelp')}
                maxLength={500}
                {...form.getInputProps('priceSource')}
              />
            </div>
            {category === 'chat' && <ContextTiers form={form} />}
            {category === 'chat' && <ServiceTiers form={form} />}
          </Stack>
        )}
      </Collapse>
    </Stack>
  );
}

function ContextTiers({ form }: Props) {
  const { t } = useTranslation('model');
  const { contextTiers } = form.values;
  return (
    <Tiers
      form={form}
      name="contextTiers"
      added={newTier()}
      fields={contextTiers.map((_, place) => (
        <Group key={place} gap="xs" align="flex-start" flex={1}>
          <NumberInput
            label={t('tiers.above')}
            w={120}
            min={1}
            allowDecimal={false}
            thousandSeparator
            {...form.getInputProps(`contextTiers.${place}.above`)}
          />
          {TIER_PRICES.map((price) => (
            <NumberInput
              key={price}
              label={t(`tiers.${price}`)}
              w={100}
              min={0}
              {...form.getInputProps(`contextTiers.${place}.${price}`)}
            />
          ))}
        </Group>
      ))}
    />
  );
}

function ServiceTiers({ form }: Props) {
  const { t } = useTranslation('model');
  const { serviceTierFactors } = form.values;
  return (
    <Tiers
      form={form}
      name="serviceTierFactors"
      added={{ tier: '', factor: '' }}
      fields={serviceTierFactors.map((_, place) => (
        <Group key={place} gap="xs" align="flex-start">
          <TextInput
            label={t('tiers.tier')}
            placeholder="priority"
            maxLength={20}
            {...form.getInputProps(`serviceTierFactors.${place}.tier`)}
          />
          <NumberInput
            label={t('tiers.factor')}
            w={100}
            min={0}
            max={100}
            {...form.getInputProps(`serviceTierFactors.${place}.factor`)}
          />
        </Group>
      ))}
    />
  );
}

interface TiersProps extends Props {
  readonly name: 'contextTiers' | 'serviceTierFactors';
  /** The values of a tier that is added. */
  readonly added: ModelValues['contextTiers'][number] | ModelValues['serviceTierFactors'][number];
  /** The fields of each tier. */
  readonly fields: readonly React.ReactElement[];
}

function Tiers({ form, name, added, fields }: TiersProps) {
  const { t } = useTranslation('model');
  return (
    <Stack gap="xs" role="group" aria-label={t(name)}>
      <Text size="sm" fw={500}>
        {t(name)}
      </Text>
      <Text size="xs" c="dimmed">
        {t(`${name}Help`)}
      </Text>
      {fields.map((tier, place) => (
        <Group key={place} gap="xs" align="flex-start" wrap="nowrap">
          {tier}
          <ActionIcon
            variant="subtle"
            color="gray"
            mt={28}
            aria-label={t('tiers.remove', { name: place + 1 })}
            onClick={() => form.removeListItem(name, place)}
          >
            <IconTrash size={16} stroke={1.5} />
          </ActionIcon>
        </Group>
      ))}
      {fields.length < MAX_TIERS && (
        <Group>
          <ActionButton
            variant="default"
            size="xs"
            icon={IconPlus}
            onClick={() => form.insertListItem(name, added)}
          >
            {t(`${name}Add`)}
          </ActionButton>
        </Group>
      )}
    </Stack>
  );
}
