import { Typography } from '@mantine/core';
import { memo } from 'react';
import ReactMarkdown from 'react-markdown';
import remarkGfm from 'remark-gfm';
import styles from './harness.module.css';

const PLUGINS = [remarkGfm];

/** Renders Markdown of a model without HTML or images. Links open in a new tab. */
export const Prose = memo(function Prose({ text }: { readonly text: string }) {
  return (
    <Typography className={styles['prose'] ?? ''}>
      <ReactMarkdown
        remarkPlugins={PLUGINS}
        disallowedElements={['img']}
        unwrapDisallowed
        components={{
          a: ({ href, children }) => (
            <a href={href} target="_blank" rel="noopener noreferrer nofollow">
              {children}
            </a>
          ),
          pre: ({ children }) => <pre tabIndex={0}>{children}</pre>,
        }}
      >
        {text}
      </ReactMarkdown>
    </Typography>
  );
});
