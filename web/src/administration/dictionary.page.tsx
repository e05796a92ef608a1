import { useTranslation } from 'react-i18next';
import { Page } from '../ui/page';

export default function DictionaryPage() {
  const { t } = useTranslation();
  return <Page title={t('pages.dictionary')}>{null}</Page>;
}
