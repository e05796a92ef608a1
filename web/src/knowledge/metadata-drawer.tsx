import { ActionIcon, Autocomplete, Group, Select, TagsInput, Text, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { IconPlus, IconTrash } from '@tabler/icons-react';
import type { AttachmentView } from '@plinth/client';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { plinth } from '../app/plinth';
import { ActionButton } from '../ui/buttons';
import { onEach } from '../ui/action';
import { FormDrawer } from '../ui/form';
import { notifySuccess } from '../ui/notify';
import { baseKey } from './base';
import { isDate, typeOf } from './metadata';
import type { MetadataType, MetadataValue } from './metadata';

interface Props {
  readonly knowledgeId: number;
  /** The documents to edit. Metadata of a single document is replaced; for several documents, the keys are added. */
  readonly documents: readonly AttachmentView[];
  readonly onClose: () => void;
}

interface Entry {
  readonly key: string;
  readonly type: MetadataType;
  readonly text: string;
  readonly list: string[];
}

const TYPES: readonly MetadataType[] = ['text', 'number', 'date', 'list'];
const KEY = /^[\p{L}\p{N}](?:[\p{L}\p{N}._ -]{0,62}[\p{L}\p{N}._-])?$/u;

export function MetadataDrawer({ knowledgeId, documents, onClose }: Props) {
  const { t } = useTranslation('knowledge');
  const queries = useQueryClient();
  const [only] = documents;
  const isOne = documents.length === 1;
  const { data: keys } = useQuery({
    queryKey: [...baseKey(knowledgeId), 'metadata keys'],
    queryFn: ({ signal }) => plinth.attachMetadataKeys({ path: { knowledgeId }, signal }),
  });
  const form = useForm<{ entries: Entry[] }>({
    initialValues: { entries: isOne && only ? entriesOf(only.metadata) : [NEW] },
    validate: {
      entries: {
        key: (key, { entries }) => {
          if (!KEY.test(key)) return t('metadata.keyWrong');
          return entries.filter((one) => one.key === key).length > 1
            ? t('metadata.keyTwice')
            : null;
        },
        text: (text, { entries }, path) => {
          const entry = entries[Number(path.split('.')[1])];
          if (!entry || entry.type === 'list') return null;
          if (text.trim() === '') return t('metadata.valueMissing');
          if (entry.type === 'number' && !Number.isFinite(Number(text)))
            return t('metadata.noNumber');
          return entry.type === 'date' && !isDate(text) ? t('metadata.noDate') : null;
        },
        list: (list, { entries }, path) =>
          entries[Number(path.split('.')[1])]?.type === 'list' && list.length === 0
            ? t('metadata.valueMissing')
            : null,
      },
    },
  });
  const save = async ({ entries }: { entries: Entry[] }): Promise<void> => {
    const newMetadata = Object.fromEntries(entries.map((entry) => [entry.key, valueOf(entry)]));
    try {
      await onEach(documents, ({ id, metadata }) =>
        plinth.attachUpdateMetadata({
          path: { id },
          body: { metadata: isOne ? newMetadata : { ...metadata, ...newMetadata } },
        }),
      );
    } finally {
      void queries.invalidateQueries({ queryKey: baseKey(knowledgeId) });
      void queries.invalidateQueries({ queryKey: ['documents'] });
    }
    notifySuccess(t('metadata.saved'));
  };
  return (
    <FormDrawer
      title={t('metadata.title')}
      record={documents.map(({ id }) => id).join()}
      form={form}
      action={t('metadata.save')}
      onSubmit={save}
      onClose={onClose}
    >
      <Text size="sm" c="dimmed">
        {isOne ? t('metadata.about') : t('metadata.aboutMany', { count: documents.length })}
      </Text>
      {form.values.entries.map((entry, place) => (
        <Group key={place} gap={6} wrap="nowrap" align="flex-start">
          <Autocomplete
            aria-label={t('metadata.key')}
            placeholder={t('metadata.key')}
            data={[...new Set((keys ?? []).map(({ key }) => key))]}
            flex={1}
            {...form.getInputProps(`entries.${place}.key`)}
          />
          <Select
            aria-label={t('metadata.type')}
            data={TYPES.map((type) => ({ value: type, label: t(`metadata.types.${type}`) }))}
            allowDeselect={false}
            w={96}
            {...form.getInputProps(`entries.${place}.type`)}
          />
          {entry.type === 'list' ? (
            <TagsInput
              aria-label={t('metadata.value')}
              placeholder={entry.list.length === 0 ? t('metadata.listHint') : undefined}
              flex={1.4}
              {...form.getInputProps(`entries.${place}.list`)}
            />
          ) : (
            <TextInput
              aria-label={t('metadata.value')}
              placeholder={entry.type === 'date' ? '2026-01-31' : t('metadata.value')}
              flex={1.4}
              {...form.getInputProps(`entries.${place}.text`)}
            />
          )}
          <ActionIcon
            mt={6}
            aria-label={t('metadata.remove', { key: entry.key })}
            onClick={() => form.removeListItem('entries', place)}
          >
            <IconTrash size={16} stroke={1.5} />
          </ActionIcon>
        </Group>
      ))}
      <ActionButton
        variant="subtle"
        icon={IconPlus}
        onClick={() => form.insertListItem('entries', NEW)}
        disabled={form.values.entries.length >= 50}
      >
        {t('metadata.add')}
      </ActionButton>
    </FormDrawer>
  );
}

const NEW: Entry = { key: '', type: 'text', text: '', list: [] };

function entriesOf(metadata: Readonly<Record<string, unknown>>): Entry[] {
  return Object.entries(metadata).map(([key, value]) => ({
    key,
    type: typeOf(value),
    text: Array.isArray(value) ? '' : String(value),
    list: Array.isArray(value) ? value.map(String) : [],
  }));
}

function valueOf({ type, text, list }: Entry): MetadataValue {
  if (type === 'list') return list;
  return type === 'number' ? Number(text) : text.trim();
}
