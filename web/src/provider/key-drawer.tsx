import { PasswordInput, Text } from '@mantine/core';
import { useForm } from '@mantine/form';
import { withMessage } from '@plinth/client';
import type { ProviderView } from '@plinth/client';
import { useTranslation } from 'react-i18next';
import { plinth } from '../app/plinth';
import { FormDrawer } from '../ui/form';

interface Props {
  readonly provider: ProviderView;
  readonly onClose: () => void;
}

/** Drawer that sets a new key for all models of a provider. */
export function KeyDrawer({ provider, onClose }: Props) {
  const { t } = useTranslation('provider');
  const form = useForm({
    initialValues: { apiKey: '' },
    validate: { apiKey: (value) => (value === '' ? t('key.missing') : null) },
  });
  const replace = ({ apiKey }: typeof form.values) =>
    withMessage(plinth.modelChangeKeys, {
      body: { providerCode: provider.providerCode, apiKey },
    });
  return (
    <FormDrawer
      title={t('key.replace')}
      action={t('key.replace')}
      form={form}
      onSubmit={replace}
      done={({ message }) => message}
      changes={[['models']]}
      onClose={onClose}
    >
      <Text>{t('key.about', { name: provider.providerName })}</Text>
      <PasswordInput
        label={t('key.new')}
        autoComplete="off"
        data-autofocus
        visibilityToggleButtonProps={{ 'aria-label': t('key.show') }}
        {...form.getInputProps('apiKey')}
      />
    </FormDrawer>
  );
}
