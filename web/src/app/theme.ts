import { createTheme } from '@mantine/core';
import i18next from 'i18next';
import type { CSSVariablesResolver, MantineColorsTuple } from '@mantine/core';

/** Greys with a slight cool tint. */
const slate: MantineColorsTuple = [
  '#f7f8fa',
  '#eff1f4',
  '#e3e6eb',
  '#cfd4dc',
  '#a9b1bd',
  '#7d8694',
  '#5f6877',
  '#454d5a',
  '#2b313b',
  '#171b22',
];

const night: MantineColorsTuple = [
  '#e6e8ec',
  '#c6cad2',
  '#a3a9b4',
  '#868d99',
  '#363d48',
  '#30363f',
  '#2a2f38',
  '#1c2027',
  '#14171d',
  '#0e1015',
];

const indigo: MantineColorsTuple = [
  '#eef0ff',
  '#e0e3fe',
  '#c5caf9',
  '#a5acf5',
  '#8b92f0',
  '#6f75ea',
  '#575bdd',
  '#4a4bcb',
  '#3f3fae',
  '#36378b',
];

/** White text on the filled shades has a contrast of at least 4.9:1. */
const red: MantineColorsTuple = [
  '#fff5f5',
  '#ffe3e3',
  '#ffc9c9',
  '#ffa8a8',
  '#ff8787',
  '#f25c5c',
  '#d32f2f',
  '#c92a2a',
  '#b02525',
  '#921d1d',
];

/** Label of the button that closes a drawer or dialog, in the current language. */
const closeButtonProps = () => ({ 'aria-label': i18next.t('ui:close') });

export const theme = createTheme({
  fontFamily:
    'Inter, system-ui, -apple-system, "Segoe UI", Roboto, "PingFang SC", "Microsoft YaHei", "Noto Sans CJK SC", sans-serif',
  fontFamilyMonospace:
    'ui-monospace, SFMono-Regular, "SF Mono", Menlo, Consolas, "Liberation Mono", monospace',
  fontSizes: { xs: '12px', sm: '14px', md: '14px', lg: '16px', xl: '20px' },
  lineHeights: { xs: '1.4', sm: '1.5', md: '1.5', lg: '1.5', xl: '1.4' },
  headings: {
    fontWeight: '600',
    sizes: {
      h1: { fontSize: '20px', lineHeight: '1.4' },
      h2: { fontSize: '16px', lineHeight: '1.5' },
      h3: { fontSize: '14px', lineHeight: '1.5' },
      h4: { fontSize: '14px', lineHeight: '1.5' },
    },
  },
  spacing: { xs: '8px', sm: '12px', md: '16px', lg: '24px', xl: '32px' },
  radius: { xs: '4px', sm: '6px', md: '8px', lg: '12px', xl: '16px' },
  defaultRadius: 'md',
  colors: { gray: slate, dark: night, indigo, red },
  primaryColor: 'indigo',
  primaryShade: { light: 7, dark: 6 },
  autoContrast: true,
  cursorType: 'pointer',
  respectReducedMotion: true,
  components: {
    Badge: { defaultProps: { tt: 'none' } },
    ActionIcon: { defaultProps: { variant: 'subtle', color: 'gray' } },
    Button: { defaultProps: { size: 'sm' } },
    Card: { defaultProps: { withBorder: true, shadow: 'none', padding: 'md' } },
    // Help is under its field, where an error takes its place.
    InputWrapper: {
      defaultProps: { inputWrapperOrder: ['label', 'input', 'description', 'error'] },
    },
    Drawer: {
      defaultProps: () => ({
        position: 'right',
        size: 'lg',
        overlayProps: { opacity: 0.35 },
        closeButtonProps: closeButtonProps(),
      }),
    },
    Modal: {
      defaultProps: () => ({
        centered: true,
        overlayProps: { opacity: 0.35 },
        closeButtonProps: closeButtonProps(),
      }),
    },
    Paper: { defaultProps: { withBorder: true } },
    Textarea: { defaultProps: { autosize: true, minRows: 2 } },
    Table: {
      defaultProps: { verticalSpacing: 'xs', horizontalSpacing: 'sm', highlightOnHover: true },
    },
    Tooltip: { defaultProps: { openDelay: 400, withArrow: false, fz: 'xs' } },
    Menu: {
      defaultProps: {
        position: 'bottom-end',
        shadow: 'md',
        width: 220,
        // The placeholder is not a menu item, and a menu may expose nothing else to screen readers.
        withInitialFocusPlaceholder: false,
      },
    },
  },
});

/** Colours with a contrast of at least 4.5:1 for all text on all surfaces, in both themes. */
export const cssVariables: CSSVariablesResolver = () => ({
  variables: { '--plinth-reading-width': '720px', '--plinth-table-width': '1200px' },
  light: {
    '--mantine-color-text': '#1b2029',
    '--mantine-color-default-border': '#cbd1da',
    '--mantine-color-dimmed': '#5a6372',
    '--mantine-color-placeholder': '#68717f',
    '--mantine-color-error': '#b3261e',
    '--mantine-color-anchor': '#4140b4',
    '--plinth-disabled': '#a9b1bd',
    '--plinth-surface': '#ffffff',
    '--plinth-sunken': '#f7f8fa',
    '--plinth-border': '#e3e6eb',
    '--plinth-good': '#17713a',
    '--plinth-warn': '#8a5300',
    '--plinth-bad': '#b3261e',
  },
  dark: {
    '--mantine-color-body': '#14171d',
    '--mantine-color-text': '#e2e5ea',
    '--mantine-color-default-border': '#3b424e',
    '--mantine-color-dimmed': '#9da5b2',
    '--mantine-color-placeholder': '#8b93a1',
    '--mantine-color-error': '#ff8a80',
    '--mantine-color-anchor': '#a5acf5',
    '--plinth-disabled': '#565e6b',
    '--plinth-surface': '#1a1e25',
    '--plinth-sunken': '#101318',
    '--plinth-border': '#2c323c',
    '--plinth-good': '#6fd08c',
    '--plinth-warn': '#f0b765',
    '--plinth-bad': '#ff8a80',
  },
});
