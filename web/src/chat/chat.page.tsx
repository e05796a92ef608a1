import { useTranslation } from 'react-i18next';
import { Page } from '../ui/page';

export default function ChatPage() {
  const { t } = useTranslation();
  return <Page title={t('pages.chat')}>{null}</Page>;
}
