import { SimpleGrid, Stack, Text, UnstyledButton } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { useTranslation } from 'react-i18next';
import { useMe } from '../app/me';
import { WORK } from '../app/navigation';
import styles from './home.module.css';

/** Links to the pages that the user may open, each with a one-sentence description. */
export function Shortcuts() {
  const { t } = useTranslation('home');
  const { may } = useMe();
  const entries = WORK.filter(({ path, permissions }) => path !== '/' && may(...permissions));
  return (
    <SimpleGrid cols={{ base: 1, xs: 2, md: 3 }} spacing="sm">
      {entries.map(({ path, title, icon: Icon }) => (
        <UnstyledButton
          key={path}
          className={styles['shortcut']}
          renderRoot={(props) => <Link to={path as never} {...props} />}
        >
          <Icon size={20} stroke={1.5} />
          <Stack gap={0}>
            <Text fw={600}>{t(`shortcuts.${title as 'chat'}.title`)}</Text>
            <Text size="sm" c="dimmed">
              {t(`shortcuts.${title as 'chat'}.about`)}
            </Text>
          </Stack>
        </UnstyledButton>
      ))}
    </SimpleGrid>
  );
}
