import { useTranslation } from 'react-i18next';
import { Page } from '../ui/page';

export default function AgentPage() {
  const { t } = useTranslation();
  return <Page title={t('pages.agents')}>{null}</Page>;
}
