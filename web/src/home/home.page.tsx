import { useTranslation } from 'react-i18next';
import { Page } from '../ui/page';

export default function HomePage() {
  const { t } = useTranslation();
  return <Page title={t('pages.home')}>{null}</Page>;
}
