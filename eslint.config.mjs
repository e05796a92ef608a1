import js from '@eslint/js';
import tseslint from 'typescript-eslint';
import { decoratedTypes } from './scripts/lint/decorated-types.mjs';
import { plainWords } from './scripts/lint/plain-words.mjs';

const specs = ['**/*.spec.ts', 'test/**/*.ts'];

/** Words that say nothing about what a file holds. */
const SHAPELESS = '{utils,util,helpers,helper,common,types,constants,manager,base,misc}';

const NODE_GLOBALS = [
  'AbortController',
  'AbortSignal',
  'Blob',
  'Buffer',
  'FormData',
  'TextDecoder',
  'URL',
  'clearInterval',
  'clearTimeout',
  'console',
  'fetch',
  'module',
  'performance',
  'process',
  'setInterval',
  'setTimeout',
];

const PAGE_GLOBALS = ['PerformanceObserver', 'document', 'localStorage', 'window'];

const tooMany = 'Give it at most 4 parameters: pass one object, or split it.';
const always = [
  {
    selector: 'TSAsExpression > TSAsExpression > TSUnknownKeyword',
    message: 'A double cast hides a wrong type: parse the value, or give it its right type.',
  },
  { selector: 'FunctionDeclaration[params.length>4]', message: tooMany },
  { selector: 'ArrowFunctionExpression[params.length>4]', message: tooMany },
  {
    selector: 'MethodDefinition:not([kind="constructor"]) > FunctionExpression[params.length>4]',
    message: tooMany,
  },
];
const sqlOnlyInRepositories = [
  'Literal[value=/^\\s*(SELECT|INSERT INTO|UPDATE|DELETE FROM)\\s/]',
  'TemplateElement[value.raw=/^\\s*(SELECT|INSERT INTO|UPDATE|DELETE FROM)\\s/]',
].map((selector) => ({ selector, message: 'SQL lives in a *.repository.ts.' }));

const httpExceptions = [
  'HttpException',
  'BadRequestException',
  'UnauthorizedException',
  'ForbiddenException',
  'NotFoundException',
  'ConflictException',
  'PayloadTooLargeException',
  'UnprocessableEntityException',
  'InternalServerErrorException',
  'ServiceUnavailableException',
];
const notFromNest = [
  {
    name: '@nestjs/common',
    importNames: ['forwardRef'],
    message: 'Modules point one way: move what both need above them.',
  },
  {
    name: '@nestjs/common',
    importNames: httpExceptions,
    message: 'Throw a DomainError of src/platform/error; the filter alone knows statuses.',
  },
];
const notFromTypeOrm = {
  name: '@nestjs/typeorm',
  allowImportNames: ['TypeOrmModule'],
  message:
    'A repository takes Database, which joins the open transaction: an injected one would wait for it for ever on the embedded store.',
};
const environment = {
  object: 'process',
  property: 'env',
  message: 'src/platform/config is the only reader of the environment: inject CONFIG.',
};

export default tseslint.config(
  {
    ignores: [
      'dist/',
      'client/dist/',
      'client/src/generated/',
      'node_modules/',
      'coverage/',
      'data/',
      '.plinth/',
      'web/public/',
      'test/architecture/violations/',
    ],
  },
  // There are no exceptions in files: change a rule here, with its reason. Rules that need types: .oxlintrc.json.
  { linterOptions: { noInlineConfig: true, reportUnusedDisableDirectives: 'error' } },
  js.configs.recommended,
  {
    files: ['**/*.mjs', '**/*.cjs'],
    languageOptions: {
      globals: Object.fromEntries(NODE_GLOBALS.map((name) => [name, 'readonly'])),
    },
  },
  {
    // Functions that Playwright runs in the page.
    files: ['test/bench/console/*.mjs'],
    languageOptions: {
      globals: Object.fromEntries(PAGE_GLOBALS.map((name) => [name, 'readonly'])),
    },
  },
  {
    files: ['**/*.{ts,tsx}'],
    extends: [tseslint.configs.strict],
    plugins: {
      plinth: { rules: { 'decorated-types': decoratedTypes, 'plain-words': plainWords } },
    },
    rules: {
      'plinth/decorated-types': 'error',
      // A module, an entity or a DTO is a class with nothing but its decorators.
      '@typescript-eslint/no-extraneous-class': 'off',
      '@typescript-eslint/no-unused-vars': [
        'error',
        { argsIgnorePattern: '^_', varsIgnorePattern: '^_', ignoreRestSiblings: true },
      ],
      // Control characters are what log lines and file names are cleaned of.
      'no-control-regex': 'off',
      'max-lines-per-function': ['error', 50],
      'max-depth': ['error', 3],
      'no-console': 'error',
      'no-restricted-syntax': ['error', ...always],
    },
  },
  {
    files: ['src/**/*.ts'],
    ignores: specs,
    rules: {
      'no-restricted-syntax': ['error', ...always, ...sqlOnlyInRepositories],
      'no-restricted-imports': ['error', { paths: [...notFromNest, notFromTypeOrm] }],
      'no-restricted-properties': ['error', environment],
      'no-restricted-globals': [
        'error',
        {
          name: 'fetch',
          message: 'Every call to another server goes through src/platform/outbound.',
        },
      ],
    },
  },
  {
    files: ['src/**/*.ts'],
    ignores: specs,
    rules: { 'plinth/plain-words': 'error' },
  },
  {
    files: ['{client,web}/src/**/*.{ts,tsx}'],
    ignores: ['**/*.spec.*'],
    rules: { 'plinth/plain-words': 'error' },
  },
  {
    files: ['src/**/*.repository.ts', 'src/platform/database/**/*.ts'],
    rules: { 'no-restricted-syntax': ['error', ...always] },
  },
  {
    // Each part of the request that a route reads is a parameter of its own, and a path may name four records.
    files: ['src/harness/**/*.controller.ts'],
    rules: {
      'no-restricted-syntax': [
        'error',
        ...always.filter(({ message }) => message !== tooMany),
        ...sqlOnlyInRepositories,
      ],
    },
  },
  { files: ['src/platform/database/migrations/*.ts'], rules: { 'max-lines-per-function': 'off' } },
  {
    files: ['src/platform/error/**/*.ts'],
    rules: { 'no-restricted-imports': ['error', { paths: notFromNest.slice(0, 1) }] },
  },
  {
    // Programs hand the environment to loadConfig; app sets TZ, which the runtime reads from nowhere else.
    files: [
      'src/main.ts',
      'src/worker.ts',
      'src/knowledge-import.ts',
      'src/app.ts',
      'src/platform/config/**/*.ts',
    ],
    rules: { 'no-restricted-properties': 'off' },
  },
  {
    files: ['src/main.ts', 'src/worker.ts', 'web/src/i18n/index.ts'],
    rules: { 'no-console': 'off' },
  },
  {
    files: [`{src,simulator}/**/${SHAPELESS}.ts`, `{src,simulator}/**/*.${SHAPELESS}.ts`],
    rules: {
      'no-restricted-syntax': [
        'error',
        { selector: 'Program', message: 'Name the file for what it holds.' },
      ],
    },
  },
  {
    files: specs,
    rules: {
      'max-lines-per-function': 'off',
      '@typescript-eslint/no-empty-function': 'off',
    },
  },
  { files: ['test/bench/**/*.ts'], rules: { 'no-console': 'off' } },
  {
    files: ['web/**/*.{ts,tsx}'],
    rules: {
      // A component is its markup, which reads from top to bottom.
      'max-lines-per-function': 'off',
    },
  },
);
