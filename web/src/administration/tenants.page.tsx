import { useTranslation } from 'react-i18next';
import { Page } from '../ui/page';

export default function TenantsPage() {
  const { t } = useTranslation();
  return <Page title={t('pages.tenants')}>{null}</Page>;
}
