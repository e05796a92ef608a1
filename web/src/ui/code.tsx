import { IconTextWrap } from '@tabler/icons-react';
import { memo, useEffect, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { IconButton } from './buttons';
import { CopyButton } from './copy-button';
import { highlighted } from './highlight';
import type { Line } from './highlight';
import styles from './code.module.css';

interface Props {
  readonly code: string;
  /** Language name as in a Markdown fence; empty for plain text. */
  readonly language: string;
  /** Whether to skip highlighting, for example while the code grows. */
  readonly plain?: boolean;
  /** Title shown instead of the language, such as a file name. */
  readonly title?: string;
}

/** A code block with its language and buttons to copy and wrap. It scrolls horizontally. */
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
          <IconButton
            icon={IconTextWrap}
            label={t(wraps ? 'code.unwrap' : 'code.wrap')}
            size="sm"
            aria-pressed={wraps}
            onClick={() => setWraps(!wraps)}
          />
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

/** Highlighted lines; undefined until ready and for unknown languages. */
export function useHighlighted(
  code: string,
  language: string,
  plain = false,
): readonly Line[] | undefined {
  const [coloured, setColoured] = useState<{
    readonly code: string;
    readonly lines: readonly Line[];
  }>();
  useEffect(() => {
    if (plain) return;
    let isShown = true;
    void highlighted(code, language).then((lines) => {
      if (isShown && lines) setColoured({ code, lines });
    });
    return () => {
      isShown = false;
    };
  }, [code, language, plain]);
  return coloured?.code === code ? coloured.lines : undefined;
}
