import { useTranslation } from 'react-i18next';
import { Page } from '../ui/page';

export default function FeedbackPage() {
  const { t } = useTranslation();
  return <Page title={t('pages.feedback')}>{null}</Page>;
}
