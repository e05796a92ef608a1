import { Code, Group, Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { CopyButton } from '../ui/copy-button';
import styles from './sso.module.css';

/** A URL to enter at a provider, with a copy button. */
export function Address({ label, value }: { readonly label: string; readonly value: string }) {
  const { t } = useTranslation('sso');
  return (
    <div>
      <Text size="sm" fw={500}>
        {label}
      </Text>
      <Group gap={4} wrap="nowrap" className={styles['address']}>
        <Code>{value}</Code>
        <CopyButton value={value} label={t('copyNamed', { name: label })} />
      </Group>
    </div>
  );
}
