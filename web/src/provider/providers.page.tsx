import { useTranslation } from 'react-i18next';
import { Page } from '../ui/page';

export default function ProvidersPage() {
  const { t } = useTranslation();
  return <Page title={t('pages.providers')}>{null}</Page>;
}
