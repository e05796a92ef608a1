import { useTranslation } from 'react-i18next';
import { Page } from '../ui/page';

export default function AuditPage() {
  const { t } = useTranslation();
  return <Page title={t('pages.audit')}>{null}</Page>;
}
