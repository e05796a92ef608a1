import { List, Text, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { plinth } from '../app/plinth';
import { useMe } from '../app/me';
import { Address } from './address';
import { TextLink } from '../ui/buttons';
import styles from './sso.module.css';

const STEPS = ['account', 'key', 'provider', 'entra', 'okta'] as const;

/** Values to enter at a directory that provisions users and groups. */
export function Provisioning() {
  const { t } = useTranslation('sso');
  const { may } = useMe();
  const { data } = useQuery({
    queryKey: ['sso', 'settings'],
    queryFn: ({ signal }) => plinth.ssoSettings({ signal }),
  });
  if (!data) return null;
  return (
    <section className={styles['section']} aria-labelledby="provisioning">
      <Title order={2} id="provisioning" mb="sm">
        {t('scim.title')}
      </Title>
      <Text size="sm" mb="sm">
        {t('scim.about')}
      </Text>
      <Address label={t('scim.address')} value={data.scimAddress} />
      <List type="ordered" size="sm" spacing="xs" mt="sm">
        {STEPS.map((step) => (
          <List.Item key={step}>{t(`scim.step.${step}`)}</List.Item>
        ))}
      </List>
      {may('system:apikey:others') && (
        <TextLink size="sm" mt="sm" display="inline-block" to="/keys">
          {t('scim.keys')}
        </TextLink>
      )}
    </section>
  );
}
