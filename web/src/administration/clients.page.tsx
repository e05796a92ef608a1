import { useTranslation } from 'react-i18next';
import { Page } from '../ui/page';

export default function ClientsPage() {
  const { t } = useTranslation();
  return <Page title={t('pages.clients')}>{null}</Page>;
}
