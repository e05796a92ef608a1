import { IconPhoto, IconSquare, IconSquareCheck } from '@tabler/icons-react';
import { createContext, memo, useContext, useEffect, useMemo, useState } from 'react';
import type { ComponentProps, ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import ReactMarkdown from 'react-markdown';
import type { Components, ExtraProps, Options } from 'react-markdown';
import rehypeSanitize, { defaultSchema } from 'rehype-sanitize';
import remarkGfm from 'remark-gfm';
import { CodeBlock } from './code';
import { blocksOf, hasFormula, withFormulas } from './markdown-blocks';
import styles from './markdown.module.css';

interface Props {
  readonly text: string;
  /** Whether the text is still growing. Code is highlighted when its fence is closed. */
  readonly growing?: boolean;
  /** Renders citations such as `[1]`. */
  readonly citation?: (number: number) => ReactNode;
  /** Numbers that are valid citations. */
  readonly citations?: ReadonlySet<number>;
}

/** Classes that mark formulas for KaTeX. All other attributes of untrusted text are removed. */
const schema: typeof defaultSchema = {
  ...defaultSchema,
  attributes: {
    ...defaultSchema.attributes,
    code: [['className', /^language-[\w+#.-]+$/, 'math-inline', 'math-display']],
  },
  protocols: { ...defaultSchema.protocols, href: ['http', 'https', 'mailto'] },
};

type Plugins = NonNullable<Options['rehypePlugins']>;

interface Formulas {
  readonly remark: Plugins;
  readonly rehype: Plugins;
}

let formulas: Formulas | undefined;
let loading: Promise<void> | undefined;

/** Loads KaTeX with the first formula. */
function useFormulas(hasFormulas: boolean): Formulas | undefined {
  const [, loaded] = useState(formulas !== undefined);
  useEffect(() => {
    if (!hasFormulas || formulas) return;
    let isShown = true;
    loading ??= import('./markdown-formulas').then((plugins) => {
      formulas = plugins;
    });
    // If KaTeX fails to load, formulas are shown as source.
    loading.then(
      () => isShown && loaded(true),
      () => (loading = undefined),
    );
    return () => {
      isShown = false;
    };
  }, [hasFormulas]);
  return hasFormulas ? formulas : undefined;
}

interface Citing {
  readonly citation: (number: number) => ReactNode;
  readonly numbers: ReadonlySet<number>;
}

const CitationContext = createContext<Citing | undefined>(undefined);
const GrowingContext = createContext(false);

/**
 * Renders untrusted Markdown: no HTML, no scripts, external images only after a click, links in a new tab.
 * Only the last block of a growing text is parsed again.
 */
export function Markdown({ text, growing = false, citation, citations }: Props) {
  const blocks = useMemo(() => blocksOf(text), [text]);
  const key = citations ? [...citations].join() : '';
  const citing = useMemo(
    () =>
      citation && key !== ''
        ? { citation, numbers: new Set(key.split(',').map(Number)) }
        : undefined,
    [citation, key],
  );
  return (
    <CitationContext value={citing}>
      <div className={styles['markdown']}>
        {blocks.map((block, place) => (
          <Block
            key={place}
            text={block}
            growing={growing && place === blocks.length - 1}
            cites={citing !== undefined}
          />
        ))}
      </div>
    </CitationContext>
  );
}

const Block = memo(function Block({
  text,
  growing,
  cites,
}: {
  readonly text: string;
  readonly growing: boolean;
  readonly cites: boolean;
}) {
  const math = useFormulas(hasFormula(text));
  const remark = math ? [remarkGfm, ...math.remark] : [remarkGfm];
  const rehype: Plugins = [[rehypeSanitize, schema]];
  if (math) rehype.push(...math.rehype);
  if (cites) rehype.push(markCitations);
  return (
    <GrowingContext value={growing}>
      <ReactMarkdown remarkPlugins={remark} rehypePlugins={rehype} components={components}>
        {math ? withFormulas(text) : text}
      </ReactMarkdown>
    </GrowingContext>
  );
});

interface Node {
  readonly type: string;
  readonly tagName?: string;
  readonly properties?: object;
  readonly value?: string;
  children?: Node[];
}

const CITATION = /\[(\d{1,3})\]/g;

/** Turns every `[1]` outside of code and links into an element. */
function markCitations() {
  const mark = (node: Node): void => {
    if (!node.children || ['code', 'pre', 'a'].includes(node.tagName ?? '')) return;
    node.children = node.children.flatMap((child) => {
      if (child.type !== 'text') {
        mark(child);
        return [child];
      }
      const parts: Node[] = [];
      let end = 0;
      const value = child.value ?? '';
      for (const match of value.matchAll(CITATION)) {
        if (match.index > end) parts.push({ type: 'text', value: value.slice(end, match.index) });
        parts.push({
          type: 'element',
          tagName: 'cite',
          properties: {},
          children: [{ type: 'text', value: match[1] ?? '' }],
        });
        end = match.index + match[0].length;
      }
      if (parts.length === 0) return [child];
      if (end < value.length) parts.push({ type: 'text', value: value.slice(end) });
      return parts;
    });
  };
  return mark;
}

function Citation({ children }: { readonly children?: ReactNode }) {
  const citing = useContext(CitationContext);
  const number = Number(children);
  return citing?.numbers.has(number) ? citing.citation(number) : <>[{children}]</>;
}

function MarkdownLink({ href, children }: ComponentProps<'a'> & ExtraProps) {
  // A link to a footnote of the same text.
  if (href?.startsWith('#')) return <a href={href}>{children}</a>;
  return (
    <a href={href} target="_blank" rel="noopener noreferrer nofollow">
      {children}
    </a>
  );
}

/** An external image would reveal the reader to its host, so it opens in a new tab after a click. */
function MarkdownImage({ src, alt }: ComponentProps<'img'> & ExtraProps) {
  const { t } = useTranslation('ui');
  const address = typeof src === 'string' && /^https?:/i.test(src) ? src : undefined;
  const name = alt || t('markdown.image');
  if (address === undefined) return <span>{name}</span>;
  return (
    <a
      className={styles['image']}
      href={address}
      target="_blank"
      rel="noopener noreferrer nofollow"
    >
      <IconPhoto size={16} stroke={1.5} aria-hidden />
      {t('markdown.openImage', { name, host: hostOf(address) })}
    </a>
  );
}

function hostOf(address: string): string {
  try {
    return new URL(address).host;
  } catch {
    return address;
  }
}

/** A code fence, the only content of a `pre`. */
function MarkdownPre({ children, node }: ComponentProps<'pre'> & ExtraProps) {
  const growing = useContext(GrowingContext);
  const code = node?.children[0];
  if (code?.type !== 'element' || code.tagName !== 'code') return <pre>{children}</pre>;
  const text = code.children.map((child) => (child.type === 'text' ? child.value : '')).join('');
  const names = code.properties['className'];
  const name = Array.isArray(names)
    ? names.map(String).find((one) => one.startsWith('language-'))
    : '';
  return (
    <CodeBlock
      code={text.replace(/\n$/, '')}
      language={name?.slice('language-'.length) ?? ''}
      plain={growing}
    />
  );
}

function MarkdownTable({ children }: ComponentProps<'table'> & ExtraProps) {
  const { t } = useTranslation('ui');
  return (
    <div className={styles['table']} role="region" aria-label={t('markdown.table')} tabIndex={0}>
      <table>{children}</table>
    </div>
  );
}

function TaskMark({ checked }: ComponentProps<'input'> & ExtraProps) {
  const { t } = useTranslation('ui');
  const Icon = checked ? IconSquareCheck : IconSquare;
  return (
    <Icon
      size={16}
      stroke={1.5}
      role="img"
      aria-label={t(checked ? 'markdown.taskDone' : 'markdown.taskOpen')}
      className={styles['task']}
    />
  );
}

/** Headings are lowered, because the page has its own headings above them. */
const components: Components = {
  a: MarkdownLink,
  cite: Citation,
  h1: 'h3',
  h2: 'h4',
  h3: 'h5',
  h4: 'h6',
  h5: 'h6',
  img: MarkdownImage,
  input: TaskMark,
  pre: MarkdownPre,
  table: MarkdownTable,
};
