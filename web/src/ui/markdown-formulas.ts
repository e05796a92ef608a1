import 'katex/dist/katex.min.css';
import rehypeKatex from 'rehype-katex';
import remarkMath from 'remark-math';
import type { Options } from 'react-markdown';

type Plugins = NonNullable<Options['rehypePlugins']>;

/** Single dollars often mark prices, so `withFormulas` decides which are formulas. */
export const remark: Plugins = [[remarkMath, { singleDollarTextMath: false }]];

/** Runs after sanitising. KaTeX commands that load resources or create links are not trusted. */
export const rehype: Plugins = [
  [
    rehypeKatex,
    { trust: false, maxExpand: 200, maxSize: 20, strict: 'ignore', errorColor: 'currentColor' },
  ],
];
