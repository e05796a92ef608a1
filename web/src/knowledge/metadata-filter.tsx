import {
  ActionIcon,
  Button,
  Group,
  Indicator,
  NumberInput,
  Popover,
  Select,
  Stack,
  Text,
  TextInput,
} from '@mantine/core';
import { IconFilter, IconPlus, IconX } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { plinth } from '../app/plinth';
import { ActionButton } from '../ui/buttons';
import { Failure } from '../ui/states';
import { baseKey } from './base';
import { conditionsOf, filterOf, isDate, OPS_OF } from './metadata';
import type { Condition, MetadataType } from './metadata';

interface Props {
  readonly knowledgeId: number;
  /** The filter as JSON text from the URL. */
  readonly value: string | undefined;
  readonly onChange: (filter: string | undefined) => void;
}

/** Filters documents by metadata; all conditions must match. Offers the keys that documents of the base have. */
export function MetadataFilter({ knowledgeId, value, onChange }: Props) {
  const { t } = useTranslation('knowledge');
  const [open, setOpen] = useState(false);
  const [drafts, setDrafts] = useState<readonly Condition[]>(conditionsOf(value));
  const { data: keys, error } = useQuery({
    queryKey: [...baseKey(knowledgeId), 'metadata keys'],
    queryFn: ({ signal }) => plinth.attachMetadataKeys({ path: { knowledgeId }, signal }),
    enabled: open,
  });
  const applied = conditionsOf(value).length;
  const types = new Map<string, MetadataType>((keys ?? []).map(({ key, type }) => [key, type]));
  const set = (place: number, changes: Partial<Condition>): void =>
    setDrafts(drafts.map((one, index) => (index === place ? { ...one, ...changes } : one)));
  const complete = drafts.filter((one) => isComplete(one, types.get(one.key)));
  const apply = (conditions: readonly Condition[]): void => {
    const filter = filterOf(conditions);
    onChange(filter && JSON.stringify(filter));
    setOpen(false);
  };
  const add = (): void => {
    const [first] = types.keys();
    if (first === undefined) return;
    setDrafts([
      ...drafts,
      { key: first, op: OPS_OF[types.get(first) ?? 'text'][0] ?? 'eq', value: '' },
    ]);
  };
  return (
    <Popover
      opened={open}
      onChange={(next) => {
        setOpen(next);
        if (next) setDrafts(conditionsOf(value));
      }}
      position="bottom-start"
      shadow="md"
      trapFocus
      withinPortal
    >
      <Indicator disabled={applied === 0} label={applied} size={16} offset={4}>
        <Popover.Target>
          <ActionButton
            variant="default"
            icon={IconFilter}
            onClick={() => {
              setDrafts(conditionsOf(value));
              setOpen(!open);
            }}
          >
            {t('filter.title')}
          </ActionButton>
        </Popover.Target>
      </Indicator>
      <Popover.Dropdown w={{ base: 'calc(100vw - 32px)', xs: 480 }} aria-label={t('filter.title')}>
        <Stack gap="xs">
          {error && <Failure error={error} />}
          {keys?.length === 0 && (
            <Text size="sm" c="dimmed">
              {t('filter.noKeys')}
            </Text>
          )}
          {drafts.map((condition, place) => (
            <ConditionFields
              key={place}
              condition={condition}
              types={types}
              onChange={(changes) => set(place, changes)}
              onRemove={() => setDrafts(drafts.filter((_, index) => index !== place))}
            />
          ))}
          <Group justify="space-between">
            <ActionButton
              size="compact-sm"
              variant="subtle"
              icon={IconPlus}
              disabled={types.size === 0}
              onClick={add}
            >
              {t('filter.add')}
            </ActionButton>
            <Group gap="xs">
              {applied > 0 && (
                <Button size="compact-sm" variant="default" onClick={() => apply([])}>
                  {t('filter.clear')}
                </Button>
              )}
              <Button
                size="compact-sm"
                disabled={complete.length < drafts.length || (drafts.length === 0 && applied === 0)}
                onClick={() => apply(complete)}
              >
                {t('filter.apply')}
              </Button>
            </Group>
          </Group>
        </Stack>
      </Popover.Dropdown>
    </Popover>
  );
}

function isComplete({ key, op, value }: Condition, type: MetadataType = 'text'): boolean {
  if (key === '') return false;
  if (op === 'exists') return true;
  return type === 'date' ? isDate(String(value)) : value !== '';
}

interface ConditionProps {
  readonly condition: Condition;
  readonly types: ReadonlyMap<string, MetadataType>;
  readonly onChange: (changes: Partial<Condition>) => void;
  readonly onRemove: () => void;
}

function ConditionFields({
  condition: { key, op, value },
  types,
  onChange,
  onRemove,
}: ConditionProps) {
  const { t } = useTranslation('knowledge');
  const type = types.get(key) ?? 'text';
  return (
    <Group gap={6} wrap="nowrap" align="flex-start">
      <Select
        aria-label={t('metadata.key')}
        data={[...types.keys()]}
        value={key}
        allowDeselect={false}
        flex={1}
        comboboxProps={{ withinPortal: false }}
        onChange={(chosen) => {
          if (chosen === null) return;
          const [first = 'eq'] = OPS_OF[types.get(chosen) ?? 'text'];
          onChange({ key: chosen, op: first, value: '' });
        }}
      />
      <Select
        aria-label={t('filter.op')}
        data={OPS_OF[type].map((one) => ({ value: one, label: t(`filter.ops.${one}`) }))}
        value={op}
        allowDeselect={false}
        w={120}
        comboboxProps={{ withinPortal: false }}
        onChange={(chosen) =>
          chosen !== null && onChange({ op: chosen, value: chosen === 'exists' ? true : '' })
        }
      />
      {op === 'exists' ? (
        <Select
          aria-label={t('metadata.value')}
          data={[
            { value: 'true', label: t('yes') },
            { value: 'false', label: t('no') },
          ]}
          value={String(value)}
          allowDeselect={false}
          flex={1}
          comboboxProps={{ withinPortal: false }}
          onChange={(chosen) => onChange({ value: chosen === 'true' })}
        />
      ) : type === 'number' ? (
        <NumberInput
          aria-label={t('metadata.value')}
          value={value === '' ? '' : Number(value)}
          flex={1}
          hideControls
          onChange={(typed) => onChange({ value: typed === '' ? '' : Number(typed) })}
        />
      ) : (
        <TextInput
          aria-label={t('metadata.value')}
          value={String(value)}
          flex={1}
          placeholder={type === 'date' ? '2026-01-31' : undefined}
          onChange={({ currentTarget }) => onChange({ value: currentTarget.value })}
        />
      )}
      <ActionIcon mt={6} aria-label={t('filter.remove')} onClick={onRemove}>
        <IconX size={16} stroke={1.5} />
      </ActionIcon>
    </Group>
  );
}
