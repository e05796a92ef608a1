import { Button, Checkbox, Group, Modal, Stack, Table, Text } from '@mantine/core';
import { withMessage } from '@plinth/client';
import type { KnowledgeView } from '@plinth/client';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { plinth } from '../app/plinth';
import { useAction } from '../ui/action';
import { FormFailure } from '../ui/form';
import { baseKey } from './base';
import { changedOf, needsParsing, useShownSetting } from './base-settings';
import type { Settings } from './base-settings';

interface Props {
  readonly base: KnowledgeView;
  /** Settings that were tried, without those that equal the base's settings. */
  readonly changes: Partial<Settings>;
  readonly onClose: () => void;
}

/** Compares the settings of the base before and after the change, and saves them. */
export function ApplySettings({ base, changes, onClose }: Props) {
  const { t } = useTranslation('knowledge');
  const formatSetting = useShownSetting();
  const changed = changedOf(base, changes);
  const again = base.documentCount > 0 && changed.some(needsParsing);
  const [reparse, setReparse] = useState(again);
  const [failure, setFailure] = useState<unknown>();
  const save = useAction(
    () =>
      withMessage(plinth.knowledgeUpdate, {
        body: {
          id: base.id,
          revision: base.revision,
          ...Object.fromEntries(changed.map((field) => [field, changes[field]])),
          ...(again && reparse && { reindex: true }),
        },
      }),
    {
      done: ({ message }) => message,
      changes: [baseKey(base.id), ['knowledge', 'list'], ['documents']],
      after: onClose,
      onFailure: setFailure,
    },
  );
  return (
    <Modal opened onClose={onClose} title={t('apply.title')} size="lg">
      <Stack>
        {changed.length === 0 ? (
          <Text>{t('apply.nothing', { name: base.name })}</Text>
        ) : (
          <>
            <Text>{t('apply.about', { name: base.name })}</Text>
            <Table>
              <Table.Thead>
                <Table.Tr>
                  <Table.Th>{t('apply.setting')}</Table.Th>
                  <Table.Th>{t('apply.before')}</Table.Th>
                  <Table.Th>{t('apply.after')}</Table.Th>
                </Table.Tr>
              </Table.Thead>
              <Table.Tbody>
                {changed.map((field) => (
                  <Table.Tr key={field}>
                    <Table.Td>{t(`field.${field}`)}</Table.Td>
                    <Table.Td>
                      <Text span td="line-through" c="dimmed" size="sm">
                        {formatSetting(field, base[field])}
                      </Text>
                    </Table.Td>
                    <Table.Td fw={600}>{formatSetting(field, changes[field])}</Table.Td>
                  </Table.Tr>
                ))}
              </Table.Tbody>
            </Table>
            {again && (
              <Checkbox
                label={t('settings.reparse', { count: base.documentCount })}
                description={t('settings.reparseHint')}
                checked={reparse}
                onChange={({ currentTarget }) => setReparse(currentTarget.checked)}
              />
            )}
          </>
        )}
        {failure !== undefined && <FormFailure error={failure} />}
        <Group justify="flex-end">
          <Button variant="default" onClick={onClose}>
            {t('cancel')}
          </Button>
          {changed.length > 0 && (
            <Button loading={save.isPending} onClick={() => save.mutate()}>
              {t('apply.save')}
            </Button>
          )}
        </Group>
      </Stack>
    </Modal>
  );
}
