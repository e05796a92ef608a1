import { Box, Group, Stack, Text, Title, UnstyledButton } from '@mantine/core';
import { useRouter } from '@tanstack/react-router';
import { useTranslation } from 'react-i18next';
import { useSearchParams } from '../app/search-params';
import { changeLanguage, LANGUAGES, language } from '../i18n';
import type { Language } from '../i18n';
import { useTitle } from '../ui/page';
import { SignInForm } from './sign-in-form';
import styles from './sign-in.module.css';

export default function SignInPage() {
  const { t } = useTranslation('sign-in');
  useTitle(t('title'));
  const router = useRouter();
  const [{ next, ssoError, tenant }] = useSearchParams();
  // Accepts only a path of this origin, so that links cannot redirect elsewhere.
  const returnTo = next && /^\/(?![/\\])[^\\\p{Cc}]*$/u.test(next) ? next : '/';
  const proceed = (): Promise<void> => router.navigate({ href: returnTo, replace: true } as never);
  return (
    <main className={styles['page']}>
      <Box className={styles['card']}>
        <Stack gap={4} mb="lg">
          <img src="/icon.svg" alt="" width={36} height={36} />
          <Title order={1} mt="sm">
            {t('title')}
          </Title>
          <Text c="dimmed">{t('subtitle')}</Text>
        </Stack>
        <SignInForm
          ssoError={ssoError}
          tenantId={tenant}
          returnTo={returnTo}
          onDone={() => void proceed()}
        />
        <Group gap="md" mt="xl" justify="center">
          {Object.entries(LANGUAGES).map(([code, title]) => (
            <UnstyledButton
              key={code}
              lang={code}
              className={styles['language']}
              aria-pressed={language() === code}
              onClick={() => void changeLanguage(code as Language)}
            >
              {title}
            </UnstyledButton>
          ))}
        </Group>
      </Box>
    </main>
  );
}
