import 'katex/dist/katex.min.css';
import rehypeKatex from 'rehype-katex';
import remarkMath from 'remark-math';
import type { Options } from 'react-markdown';

type Plugins = NonNullable<Options['rehypePlugins']>;

/** A single dollar is a price as often as a formula: `withFormulas` decides. */
export const remark: Plugins = [[remarkMath, { singleDollarTextMath: false }]];

/** Runs after the text was sanitised. KaTeX trusts no command that loads or links. */
export const rehype: Plugins = [
  [
    rehypeKatex,
    { trust: false, maxExpand: 200, maxSize: 20, strict: 'ignore', errorColor: 'currentColor' },
  ],
];
