import { ActionIcon, Tooltip } from '@mantine/core';
import { IconTextWrap } from '@tabler/icons-react';
import { memo, useEffect, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { CopyButton } from './copy-button';
import { highlighted } from './highlight';
import type { Line } from './highlight';
import styles from './code.module.css';

interface Props {
  readonly code: string;
  /** As a fence of Markdown names it; empty for text. */
  readonly language: string;
  /** Not coloured, such as while it grows. */
  readonly plain?: boolean;
  /** In place of the language, such as the name of a file. */
  readonly title?: string;
}

/** Code with its language, copied and wrapped by buttons. It scrolls sideways by itself. */
export const CodeBlock = memo(function CodeBlock({ code, language, plain = false, title }: Props) {
  const { t } = useTranslation('ui');
  const [wraps, setWraps] = useState(false);
  const name = title ?? (language || t('code.text'));
  const lines = useHighlighted(code, language, plain);
  return (
    <div className={styles['block']}>
      <div className={styles['head']}>
        <span>{name}</span>
        <span className={styles['buttons']}>
          <Tooltip label={t(wraps ? 'code.unwrap' : 'code.wrap')}>
            <ActionIcon
              size="sm"
              aria-label={t(wraps ? 'code.unwrap' : 'code.wrap')}
              aria-pressed={wraps}
              onClick={() => setWraps(!wraps)}
            >
              <IconTextWrap size={14} stroke={1.5} />
            </ActionIcon>
          </Tooltip>
          <CopyButton value={code} label={t('code.copy')} />
        </span>
      </div>
      <pre
        className={wraps ? styles['wrapped'] : styles['code']}
        tabIndex={0}
        role="region"
        aria-label={t('code.of', { name })}
      >
        <code>{lines ? <Coloured lines={lines} /> : code}</code>
      </pre>
    </div>
  );
});

const Coloured = memo(function Coloured({ lines }: { readonly lines: readonly Line[] }) {
  return lines.map((line, row) => (
    <span key={row}>
      {line.map(([text, light, dark], place) =>
        light === '' ? (
          text
        ) : (
          <span
            key={place}
            className={styles['token']}
            style={{ '--light': light, '--dark': dark } as object}
          >
            {text}
          </span>
        ),
      )}
      {row < lines.length - 1 && '\n'}
    </span>
  ));
});

/** Undefined until it is coloured, and for languages that are not known. */
export function useHighlighted(
  code: string,
  language: string,
  plain = false,
): readonly Line[] | undefined {
  const [found, setFound] = useState<{ readonly code: string; readonly lines: readonly Line[] }>();
  useEffect(() => {
    if (plain) return;
    let isShown = true;
    void highlighted(code, language).then((lines) => {
      if (isShown && lines) setFound({ code, lines });
    });
    return () => {
      isShown = false;
    };
  }, [code, language, plain]);
  return found?.code === code ? found.lines : undefined;
}
