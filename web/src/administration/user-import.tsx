import {
  Alert,
  Button,
  Checkbox,
  Drawer,
  FileInput,
  Group,
  Stack,
  Table,
  Text,
} from '@mantine/core';
import { IconDownload, IconFileSpreadsheet } from '@tabler/icons-react';
import { ApiError } from '@plinth/client';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { plinth } from '../app/plinth';
import { ActionButton } from '../ui/buttons';
import { useAction } from '../ui/action';
import { saveFile } from '../ui/download';
import { FormFailure } from '../ui/form';

interface RefusedRow {
  readonly row: number;
  readonly reason: string;
}

/** Rows that the service refused, from the data of its error; empty for any other failure. */
function refusedOf(error: unknown): readonly RefusedRow[] {
  if (!(error instanceof ApiError)) return [];
  return (error.data as { rows?: readonly RefusedRow[] } | null)?.rows ?? [];
}

/** Adds users from a spreadsheet, all rows or none. Refused rows are shown with their reasons. */
export function UserImport({ onClose }: { readonly onClose: () => void }) {
  const { t } = useTranslation('administration');
  const [file, setFile] = useState<File | null>(null);
  const [updateSupport, setUpdateSupport] = useState(false);
  const [failure, setFailure] = useState<unknown>();
  const template = useAction(async () => saveFile(await plinth.userImportTemplate()));
  const run = useAction(
    (chosen: File) => {
      setFailure(undefined);
      return plinth.userImportUsers({ body: { file: chosen, updateSupport } });
    },
    {
      done: t('users.import.done'),
      changes: [['users']],
      after: onClose,
      onFailure: setFailure,
    },
  );
  const refused = refusedOf(failure);
  return (
    <Drawer opened onClose={onClose} title={t('users.import.open')}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (file) run.mutate(file);
        }}
      >
        <Stack>
          <Text>{t('users.import.about')}</Text>
          <ActionButton
            variant="default"
            icon={IconDownload}
            loading={template.isPending}
            onClick={() => template.mutate()}
          >
            {t('users.import.template')}
          </ActionButton>
          <FileInput
            label={t('users.import.file')}
            description={t('users.import.fileHelp')}
            placeholder={t('users.import.choose')}
            accept=".xlsx,application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
            leftSection={<IconFileSpreadsheet size={16} stroke={1.5} />}
            clearable
            clearButtonProps={{ 'aria-label': t('users.import.clear') }}
            value={file}
            onChange={(chosen) => {
              setFile(chosen);
              setFailure(undefined);
            }}
          />
          <Checkbox
            label={t('users.import.update')}
            description={t('users.import.updateHelp')}
            checked={updateSupport}
            onChange={({ currentTarget }) => setUpdateSupport(currentTarget.checked)}
          />
          {failure !== undefined && refused.length === 0 && <FormFailure error={failure} />}
          {refused.length > 0 && (
            <>
              <Alert color="red" role="alert">
                {t('users.import.refused', { count: refused.length })}
              </Alert>
              <Table aria-label={t('users.import.refusedRows')}>
                <Table.Thead>
                  <Table.Tr>
                    <Table.Th w={64}>{t('users.import.row')}</Table.Th>
                    <Table.Th>{t('users.import.reason')}</Table.Th>
                  </Table.Tr>
                </Table.Thead>
                <Table.Tbody>
                  {refused.map(({ row, reason }) => (
                    <Table.Tr key={row}>
                      <Table.Td>{row}</Table.Td>
                      <Table.Td>{reason}</Table.Td>
                    </Table.Tr>
                  ))}
                </Table.Tbody>
              </Table>
            </>
          )}
          <Group justify="flex-end">
            <Button variant="default" onClick={onClose}>
              {t('cancel')}
            </Button>
            <Button type="submit" loading={run.isPending} disabled={!file}>
              {t('users.import.run')}
            </Button>
          </Group>
        </Stack>
      </form>
    </Drawer>
  );
}
