import { useTranslation } from 'react-i18next';
import { Page } from '../ui/page';

export default function AgentsPage() {
  const { t } = useTranslation();
  return <Page title={t('pages.agents')}>{null}</Page>;
}
