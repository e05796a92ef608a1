import { Group, NumberInput, Slider, Stack, Switch, Text } from '@mantine/core';
import { useId, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { ModelPicker } from '../ui/pickers';
import type { SearchSettings } from './search-settings';

interface Props {
  readonly value: SearchSettings;
  readonly onChange: (value: SearchSettings) => void;
}

/** Fields for search settings. Sliders report their value when released. */
export function SearchFields({ value, onChange }: Props) {
  const { t } = useTranslation('knowledge');
  const set = (changes: Partial<SearchSettings>): void => onChange({ ...value, ...changes });
  return (
    <Stack gap="sm">
      <NumberInput
        label={t('retrieval.topK')}
        description={t('retrieval.topKHelp')}
        min={1}
        max={200}
        clampBehavior="strict"
        value={value.topK}
        onChange={(typed) => typeof typed === 'number' && typed >= 1 && set({ topK: typed })}
      />
      <Share
        label={t('retrieval.threshold')}
        help={t('retrieval.thresholdHelp')}
        value={value.threshold}
        onChange={(threshold) => set({ threshold })}
      />
      <Switch
        label={t('field.enableHybrid')}
        description={t('retrieval.hybridHelp')}
        checked={value.enableHybrid}
        onChange={({ currentTarget }) => set({ enableHybrid: currentTarget.checked })}
      />
      {value.enableHybrid && (
        <Share
          label={t('field.hybridAlpha')}
          help={t('retrieval.alphaHelp')}
          value={value.hybridAlpha}
          ends={[t('retrieval.vector'), t('retrieval.keyword')]}
          onChange={(hybridAlpha) => set({ hybridAlpha })}
        />
      )}
      <Switch
        label={t('field.enableRerank')}
        description={t('retrieval.rerankHelp')}
        checked={value.enableRerank}
        onChange={({ currentTarget }) => set({ enableRerank: currentTarget.checked })}
      />
      {value.enableRerank && (
        <ModelPicker
          category="rerank"
          label={t('field.rerankModel')}
          clearable
          value={value.rerankModel}
          onChange={(rerankModel) => set({ rerankModel })}
        />
      )}
    </Stack>
  );
}

interface ShareProps {
  readonly label: string;
  readonly help: string;
  readonly value: number;
  readonly ends?: readonly [string, string];
  readonly onChange: (value: number) => void;
}

/** Slider for a number from 0 to 1. */
function Share({ label, help, value, ends, onChange }: ShareProps) {
  const id = useId();
  const [moving, setMoving] = useState<number>();
  const position = moving ?? value;
  return (
    <div>
      <Group justify="space-between">
        <Text size="sm" fw={600} id={id}>
          {label}
        </Text>
        <Text size="sm">{position.toFixed(2)}</Text>
      </Group>
      <Slider
        min={0}
        max={1}
        step={0.01}
        label={null}
        value={position}
        thumbLabel={label}
        size="sm"
        onChange={setMoving}
        onChangeEnd={(next) => {
          setMoving(undefined);
          onChange(next);
        }}
      />
      {ends && (
        <Group justify="space-between" mt={4}>
          {ends.map((end) => (
            <Text key={end} size="xs" c="dimmed">
              {end}
            </Text>
          ))}
        </Group>
      )}
      <Text size="xs" c="dimmed" mt={6}>
        {help}
      </Text>
    </div>
  );
}
