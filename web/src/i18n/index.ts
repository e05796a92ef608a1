import i18next from 'i18next';
import type { BackendModule, ResourceKey } from 'i18next';
import { initReactI18next } from 'react-i18next';

/** Languages of the console, each in its own name. */
export const LANGUAGES = { en: 'English', zh: '中文' } as const;
export type Language = keyof typeof LANGUAGES;

const KEY = 'plinth.language';

/** `<area>/texts.<language>.json` is the namespace `<area>`; it is loaded with the first page that uses it. */
const files = import.meta.glob<{ default: ResourceKey }>('../*/texts.*.json');

const backend: BackendModule = {
  type: 'backend',
  init: () => undefined,
  read: (language, namespace, done) => {
    const load = files[`../${namespace}/texts.${language}.json`];
    if (!load) {
      done(new Error(`There are no texts of ${namespace} in ${language}.`), null);
      return;
    }
    load().then(
      ({ default: texts }) => done(null, texts),
      (error: unknown) => done(error as Error, null),
    );
  },
};

function preferred(): Language {
  const chosen = localStorage.getItem(KEY);
  if (chosen && chosen in LANGUAGES) return chosen as Language;
  return navigator.language.toLowerCase().startsWith('zh') ? 'zh' : 'en';
}

export function language(): Language {
  return i18next.language as Language;
}

export async function changeLanguage(to: Language): Promise<void> {
  localStorage.setItem(KEY, to);
  await i18next.changeLanguage(to);
}

i18next.on('languageChanged', (to) => {
  document.documentElement.lang = to === 'zh' ? 'zh-CN' : to;
});

export const ready = i18next
  .use(backend)
  .use(initReactI18next)
  .init({
    lng: preferred(),
    fallbackLng: false,
    ns: ['app', 'ui'],
    defaultNS: 'app',
    // React already escapes values.
    interpolation: { escapeValue: false },
    returnNull: false,
    parseMissingKeyHandler: (key: string, fallback?: string) => {
      // A missing text fails the console tests; otherwise the page would show its key.
      if (fallback === undefined) console.error(`No text for ${key} in ${language()}`);
      return fallback ?? key;
    },
    appendNamespaceToMissingKey: true,
  });
