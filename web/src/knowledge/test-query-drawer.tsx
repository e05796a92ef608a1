import { ActionIcon, Group, Select, Text, Textarea, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useDebouncedValue } from '@mantine/hooks';
import { IconPlus, IconTrash } from '@tabler/icons-react';
import type { KnowledgeView, TestQueryView } from '@plinth/client';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { plinth } from '../app/plinth';
import { ActionButton } from '../ui/buttons';
import { FormDrawer } from '../ui/form';
import { baseKey } from './base';

interface Props {
  readonly base: KnowledgeView;
  readonly query: TestQueryView | undefined;
  readonly onClose: () => void;
}

interface Entry {
  readonly docId: string;
  readonly fid: string;
  readonly name: string;
  readonly relevance: string;
}

const RELEVANCES = ['3', '2', '1'] as const;

/** Form of a test query: a question and its expected results. Fragments from imports and feedback can be removed. */
export function TestQueryDrawer({ base, query, onClose }: Props) {
  const { t } = useTranslation('knowledge');
  const form = useForm<{ query: string; expected: Entry[] }>({
    initialValues: {
      query: query?.query ?? '',
      expected: query ? query.expected.map(entryOf) : [NEW],
    },
    validate: {
      query: (text) => (text.trim() === '' ? t('test.queryMissing') : null),
      expected: {
        docId: (docId, { expected }, path) => {
          const entry = expected[Number(path.split('.')[1])];
          if (docId === '' && entry?.fid === '') return t('test.documentMissing');
          return docId !== '' && expected.filter((one) => one.docId === docId).length > 1
            ? t('test.documentTwice')
            : null;
        },
      },
    },
  });
  const save = async ({
    query: text,
    expected,
  }: {
    query: string;
    expected: Entry[];
  }): Promise<void> => {
    const body = {
      query: text.trim(),
      expected: expected.map(({ docId, fid, relevance }) => ({
        ...(docId !== '' ? { docId } : { fid }),
        relevance: Number(relevance),
      })),
    };
    const path = { knowledgeId: base.id };
    if (query) await plinth.testSetUpdate({ path, body: { id: query.id, ...body } });
    else await plinth.testSetCreate({ path, body });
  };
  return (
    <FormDrawer
      title={t(query ? 'test.edit' : 'test.add')}
      record={query?.id}
      form={form}
      action={t('test.save')}
      onSubmit={save}
      done={t('test.saved')}
      changes={[baseKey(base.id), ['test queries']]}
      onClose={onClose}
    >
      <Textarea label={t('test.query')} required data-autofocus {...form.getInputProps('query')} />
      <Text size="sm" fw={500} mb={-8}>
        {t('test.expected')}
      </Text>
      {form.values.expected.map((entry, place) => (
        <Group key={place} gap={6} wrap="nowrap" align="flex-start">
          {entry.fid === '' ? (
            <DocumentPicker
              base={base}
              name={entry.name}
              value={entry.docId}
              error={form.errors[`expected.${place}.docId`]}
              onChange={(docId, name) =>
                form.replaceListItem('expected', place, { ...entry, docId, name })
              }
            />
          ) : (
            <TextInput
              aria-label={t('test.fragment')}
              value={`${entry.name} · ${t('test.fragment')}`}
              readOnly
              flex={1}
            />
          )}
          <Select
            aria-label={t('test.relevanceTitle')}
            data={RELEVANCES.map((value) => ({ value, label: t(`test.relevance.${value}`) }))}
            allowDeselect={false}
            w={150}
            {...form.getInputProps(`expected.${place}.relevance`)}
          />
          <ActionIcon
            mt={6}
            aria-label={t('test.removeExpected', { name: entry.name })}
            disabled={form.values.expected.length === 1}
            onClick={() => form.removeListItem('expected', place)}
          >
            <IconTrash size={16} stroke={1.5} />
          </ActionIcon>
        </Group>
      ))}
      <ActionButton
        variant="subtle"
        icon={IconPlus}
        onClick={() => form.insertListItem('expected', NEW)}
      >
        {t('test.addExpected')}
      </ActionButton>
    </FormDrawer>
  );
}

const NEW: Entry = { docId: '', fid: '', name: '', relevance: '2' };

function entryOf({
  docId = '',
  fid = '',
  sourceName,
  relevance,
}: TestQueryView['expected'][number]): Entry {
  return {
    docId,
    fid: docId === '' ? fid : '',
    name: sourceName ?? '',
    relevance: String(relevance),
  };
}

interface PickerProps {
  readonly base: KnowledgeView;
  readonly name: string;
  readonly value: string;
  readonly error: React.ReactNode;
  readonly onChange: (docId: string, name: string) => void;
}

/** Selects a document of the base by searching for its name. */
function DocumentPicker({ base, name, value, error, onChange }: PickerProps) {
  const { t } = useTranslation('knowledge');
  const [text, setText] = useState('');
  const [find] = useDebouncedValue(text === name ? '' : text, 200);
  const { data } = useQuery({
    queryKey: [...baseKey(base.id), 'document choices', find],
    queryFn: ({ signal }) =>
      plinth.attachList({
        query: {
          knowledgeId: base.id,
          pageSize: 50,
          orderByColumn: 'name',
          isAsc: 'asc',
          ...(find && { name: find }),
        },
        signal,
      }),
    placeholderData: keepPreviousData,
  });
  const documents = (data?.rows ?? []).map((row) => ({ value: row.docId, label: row.name }));
  const isKnown = value === '' || documents.some((one) => one.value === value);
  return (
    <Select
      aria-label={t('test.document')}
      placeholder={t('test.document')}
      data={isKnown ? documents : [{ value, label: name || t('test.gone') }, ...documents]}
      value={value === '' ? null : value}
      searchable
      searchValue={text}
      onSearchChange={setText}
      filter={({ options }) => options}
      nothingFoundMessage={t('test.noDocument')}
      allowDeselect={false}
      flex={1}
      error={error}
      onChange={(docId, option) => docId !== null && onChange(docId, option?.label ?? '')}
    />
  );
}
