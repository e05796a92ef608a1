import { Select, Text } from '@mantine/core';
import { useForm } from '@mantine/form';
import type { ApiKeyView, NewApiKeyView } from '@plinth/client';
import { useTranslation } from 'react-i18next';
import { plinth } from '../app/plinth';
import { FormDrawer } from '../ui/form';
import { KEY_LISTS } from './keys';

interface Props {
  readonly apiKey: ApiKeyView;
  readonly onRotated: (created: NewApiKeyView) => void;
  readonly onClose: () => void;
}

/** Choices for how long the old key stays valid, in seconds. */
const OVERLAPS = ['0', '3600', '86400', '604800'] as const;

export function RotateDialog({ apiKey, onRotated, onClose }: Props) {
  const { t } = useTranslation('apikey');
  const form = useForm({ initialValues: { overlap: '0' } });
  const rotate = ({ overlap }: typeof form.values) =>
    plinth.apiKeyRotate({ path: { id: apiKey.id }, body: { overlapSeconds: Number(overlap) } });
  return (
    <FormDrawer
      title={t('rotateNamed', { name: apiKey.name })}
      form={form}
      action={t('rotate')}
      onSubmit={rotate}
      changes={KEY_LISTS}
      after={onRotated}
      onClose={onClose}
    >
      <Text>{t('rotateBody')}</Text>
      <Select
        label={t('overlap')}
        data={OVERLAPS.map((value) => ({ value, label: t(`overlaps.${value}`) }))}
        allowDeselect={false}
        {...form.getInputProps('overlap')}
      />
    </FormDrawer>
  );
}
