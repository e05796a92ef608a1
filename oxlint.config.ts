import { defineConfig } from 'oxlint';

// There are no exceptions in files: change a rule here, with its reason. The directives of ESLint have no effect, and
// test/architecture/lint-rules.spec.ts refuses those of oxlint.

const typescript = ['**/*.{ts,tsx,mts}'];
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

const tooMany =
  'Give it at most 5 parameters: split it, or pass what belongs together as the object it is.';
const always = [
  {
    selector: 'TSAsExpression > TSAsExpression > TSUnknownKeyword',
    message: 'A double cast hides a wrong type: parse the value, or give it its right type.',
  },
  { selector: 'FunctionDeclaration[params.length>5]', message: tooMany },
  { selector: 'ArrowFunctionExpression[params.length>5]', message: tooMany },
  {
    // A route takes each part of the request that it reads as a parameter with a decorator.
    selector:
      'MethodDefinition:not([kind="constructor"]) > FunctionExpression[params.length>5]:not(:has(Decorator))',
    message: tooMany,
  },
];
const sqlOnlyInRepositories = [
  'Literal[value=/^\\s*(SELECT|INSERT INTO|UPDATE|DELETE FROM)\\s/]',
  'TemplateElement[value.raw=/^\\s*(SELECT|INSERT INTO|UPDATE|DELETE FROM)\\s/]',
  // The members of Database that take or make a statement.
  'MemberExpression[property.name=/^(query|prepared|repository|manager|dataSource)$/]:matches([object.name="database"], [object.property.name="database"])',
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
/** In src/model alone, every call that an adapter makes is limited and recorded. */
const notFromProvider = {
  regex: '/provider/index\\.js$',
  importNamePattern: 'AdapterRegistry$',
  message: 'src/model limits and records the calls of adapters: use what its index.ts exports.',
};
const throughOutbound = 'Every call to another server goes through src/platform/outbound.';
const globalFetch = ['globalThis', 'global'].map((object) => ({
  object,
  property: 'fetch',
  message: throughOutbound,
}));
const environment = {
  object: 'process',
  property: 'env',
  message: 'src/platform/config is the only reader of the environment: inject CONFIG.',
};

export default defineConfig({
  plugins: ['typescript'],
  jsPlugins: ['./scripts/lint/plugin.mjs'],
  categories: { correctness: 'off' },
  options: { typeAware: true, denyWarnings: true, respectEslintDisableDirectives: false },
  ignorePatterns: [
    'dist/',
    'acp/dist/',
    'client/dist/',
    'client/src/generated/',
    'coverage/',
    'data/',
    '.plinth/',
    'web/public/',
    'test/architecture/violations/',
  ],
  // The recommended set of ESLint. no-dupe-args and no-octal are missing, because both are syntax errors in a module.
  rules: {
    'constructor-super': 'error',
    'for-direction': 'error',
    'getter-return': 'error',
    'no-async-promise-executor': 'error',
    'no-case-declarations': 'error',
    'no-class-assign': 'error',
    'no-compare-neg-zero': 'error',
    'no-cond-assign': 'error',
    'no-const-assign': 'error',
    'no-constant-binary-expression': 'error',
    'no-constant-condition': 'error',
    'no-control-regex': 'error',
    'no-debugger': 'error',
    'no-delete-var': 'error',
    'no-dupe-class-members': 'error',
    'no-dupe-else-if': 'error',
    'no-dupe-keys': 'error',
    'no-duplicate-case': 'error',
    'no-empty': 'error',
    'no-empty-character-class': 'error',
    'no-empty-pattern': 'error',
    'no-empty-static-block': 'error',
    'no-ex-assign': 'error',
    'no-extra-boolean-cast': 'error',
    'no-fallthrough': 'error',
    'no-func-assign': 'error',
    'no-global-assign': 'error',
    'no-import-assign': 'error',
    'no-invalid-regexp': 'error',
    'no-irregular-whitespace': [
      'error',
      { skipJSXText: false, skipRegExps: false, skipTemplates: false },
    ],
    'no-loss-of-precision': 'error',
    'no-misleading-character-class': 'error',
    'no-new-native-nonconstructor': 'error',
    'no-nonoctal-decimal-escape': 'error',
    'no-obj-calls': 'error',
    'no-prototype-builtins': 'error',
    'no-redeclare': 'error',
    'no-regex-spaces': 'error',
    'no-self-assign': 'error',
    'no-setter-return': 'error',
    'no-shadow-restricted-names': 'error',
    'no-sparse-arrays': 'error',
    'no-this-before-super': 'error',
    'no-unassigned-vars': 'error',
    'no-undef': 'error',
    'no-unexpected-multiline': 'error',
    'no-unreachable': 'error',
    'no-unsafe-finally': 'error',
    'no-unsafe-negation': 'error',
    'no-unsafe-optional-chaining': 'error',
    'no-unused-labels': 'error',
    'no-unused-private-class-members': 'error',
    // With any option oxlint has the defaults of ESLint; without one it lets names pass that begin with an underscore.
    'no-unused-vars': ['error', { ignoreRestSiblings: false }],
    'no-useless-assignment': 'error',
    'no-useless-backreference': 'error',
    'no-useless-catch': 'error',
    'no-useless-escape': 'error',
    'preserve-caught-error': 'error',
    'require-yield': 'error',
    'use-isnan': 'error',
    'valid-typeof': 'error',
  },
  overrides: [
    {
      files: ['**/*.mjs'],
      globals: Object.fromEntries(NODE_GLOBALS.map((name) => [name, 'readonly' as const])),
    },
    {
      // Functions that Playwright runs in the page.
      files: ['test/bench/console/*.mjs'],
      globals: Object.fromEntries(PAGE_GLOBALS.map((name) => [name, 'readonly' as const])),
    },
    {
      // A script in sloppy mode may do what a module may not.
      files: ['**/*.cjs'],
      rules: {
        'plinth/restricted-syntax': [
          'error',
          { selector: 'Program', message: 'Write a module (.mjs).' },
        ],
      },
    },
    {
      files: typescript,
      rules: {
        // The compiler finds what these would.
        'constructor-super': 'off',
        'getter-return': 'off',
        'no-class-assign': 'off',
        'no-const-assign': 'off',
        'no-dupe-class-members': 'off',
        'no-dupe-keys': 'off',
        'no-func-assign': 'off',
        'no-import-assign': 'off',
        'no-new-native-nonconstructor': 'off',
        'no-obj-calls': 'off',
        'no-redeclare': 'off',
        'no-setter-return': 'off',
        'no-this-before-super': 'off',
        'no-undef': 'off',
        'no-unreachable': 'off',
        'no-unsafe-negation': 'off',
        // Control characters are what log lines and file names are cleaned of.
        'no-control-regex': 'off',

        // The strict set of typescript-eslint that needs no types. Left out is no-extraneous-class, because a module, an
        // entity or a DTO is a class with nothing but its decorators.
        'no-array-constructor': 'error',
        'no-unused-expressions': 'error',
        'no-unused-vars': [
          'error',
          { argsIgnorePattern: '^_', varsIgnorePattern: '^_', ignoreRestSiblings: true },
        ],
        'no-useless-constructor': 'error',
        'no-var': 'error',
        'prefer-const': 'error',
        'prefer-rest-params': 'error',
        'prefer-spread': 'error',
        'typescript/ban-ts-comment': [
          'error',
          {
            'ts-check': false,
            'ts-expect-error': 'allow-with-description',
            'ts-ignore': true,
            'ts-nocheck': true,
            minimumDescriptionLength: 10,
          },
        ],
        'typescript/no-duplicate-enum-values': 'error',
        'typescript/no-dynamic-delete': 'error',
        'typescript/no-empty-object-type': 'error',
        'typescript/no-explicit-any': 'error',
        'typescript/no-extra-non-null-assertion': 'error',
        'typescript/no-invalid-void-type': 'error',
        'typescript/no-misused-new': 'error',
        'typescript/no-namespace': 'error',
        'typescript/no-non-null-asserted-nullish-coalescing': 'error',
        'typescript/no-non-null-asserted-optional-chain': 'error',
        'typescript/no-non-null-assertion': 'error',
        'typescript/no-require-imports': 'error',
        'typescript/no-this-alias': 'error',
        'typescript/no-unnecessary-type-constraint': 'error',
        'typescript/no-unsafe-declaration-merging': 'error',
        'typescript/no-unsafe-function-type': 'error',
        'typescript/no-wrapper-object-types': 'error',
        'typescript/prefer-as-const': 'error',
        'typescript/prefer-literal-enum-member': 'error',
        'typescript/prefer-namespace-keyword': 'error',
        'typescript/triple-slash-reference': 'error',
        'typescript/unified-signatures': 'error',

        'max-lines-per-function': ['error', 80],
        'max-depth': ['error', 4],
        'no-console': 'error',
        'plinth/decorated-types': 'error',
        'plinth/restricted-syntax': ['error', ...always],
      },
    },
    {
      // The strict set of typescript-eslint that needs types. Left out are require-await, because a method may be async
      // because its contract is; no-useless-default-assignment, which takes parameters of generic functions for ones that are
      // always given; and no-misused-spread and no-unsafe-class-instance-assignment, because DTOs and views are classes only
      // for their decorators.
      files: typescript,
      rules: {
        'typescript/await-thenable': 'error',
        'typescript/no-array-delete': 'error',
        'typescript/no-base-to-string': 'error',
        // `() => emitter.emit(…)` in a callback says what it does.
        'typescript/no-confusing-void-expression': ['error', { ignoreArrowShorthand: true }],
        // Marked so that it stands out: outbound rules admit http for hosts of the operator's own network alone.
        'typescript/no-deprecated': [
          'error',
          {
            allow: [
              { from: 'package', name: 'allowInsecureRequests', package: 'openid-client' },
              // Most authorization servers of tool servers know no other way in yet.
              { from: 'package', name: 'registerClient', package: '@modelcontextprotocol/client' },
            ],
          },
        ],
        'typescript/no-duplicate-type-constituents': 'error',
        'typescript/no-floating-promises': 'error',
        'typescript/no-for-in-array': 'error',
        'typescript/no-generated-empty-object-type': 'error',
        'typescript/no-implied-eval': 'error',
        'typescript/no-meaningless-void-operator': 'error',
        'typescript/no-misused-promises': ['error', { checksVoidReturn: { attributes: false } }],
        'typescript/no-mixed-enums': 'error',
        'typescript/no-redundant-type-constituents': 'error',
        'typescript/no-unnecessary-boolean-literal-compare': 'error',
        'typescript/no-unnecessary-condition': 'error',
        'typescript/no-unnecessary-template-expression': 'error',
        'typescript/no-unnecessary-type-arguments': 'error',
        'typescript/no-unnecessary-type-assertion': 'error',
        'typescript/no-unnecessary-type-conversion': 'error',
        'typescript/no-unnecessary-type-parameters': 'error',
        'typescript/no-unsafe-argument': 'error',
        'typescript/no-unsafe-assignment': 'error',
        'typescript/no-unsafe-call': 'error',
        'typescript/no-unsafe-enum-comparison': 'error',
        'typescript/no-unsafe-member-access': 'error',
        'typescript/no-unsafe-return': 'error',
        'typescript/no-unsafe-unary-minus': 'error',
        'typescript/only-throw-error': 'error',
        'typescript/prefer-promise-reject-errors': 'error',
        'typescript/prefer-reduce-type-parameter': 'error',
        'typescript/prefer-return-this-type': 'error',
        'typescript/related-getter-setter-pairs': 'error',
        'typescript/restrict-plus-operands': [
          'error',
          {
            allowAny: false,
            allowBoolean: false,
            allowNullish: false,
            allowNumberAndString: false,
            allowRegExp: false,
          },
        ],
        'typescript/restrict-template-expressions': ['error', { allowNumber: true }],
        'typescript/return-await': ['error', 'error-handling-correctness-only'],
        'typescript/switch-exhaustiveness-check': [
          'error',
          { considerDefaultExhaustiveForUnions: true },
        ],
        'typescript/unbound-method': 'error',
        'typescript/use-unknown-in-catch-callback-variable': 'error',
      },
    },
    {
      // It applies a method of node-postgres to the client it was taken from.
      files: ['src/platform/database/pool.ts'],
      rules: { 'typescript/unbound-method': 'off' },
    },
    {
      // Jest reads a rejected expectation itself; a captured method is how a test looks at it.
      files: specs,
      rules: { 'typescript/unbound-method': 'off', 'typescript/no-unnecessary-condition': 'off' },
    },
    {
      // The router is told of a redirect by throwing it.
      files: ['web/**/*.ts', 'web/**/*.tsx'],
      rules: {
        'typescript/only-throw-error': [
          'error',
          {
            allow: [{ from: 'package', package: '@tanstack/router-core', name: 'Redirect' }],
          },
        ],
      },
    },
    {
      files: ['src/**/*.ts'],
      excludeFiles: specs,
      rules: {
        'plinth/plain-words': 'error',
        'plinth/restricted-syntax': ['error', ...always, ...sqlOnlyInRepositories],
        'no-restricted-imports': [
          'error',
          { paths: [...notFromNest, notFromTypeOrm], patterns: [notFromProvider] },
        ],
        'no-restricted-properties': ['error', environment, ...globalFetch],
        'no-restricted-globals': ['error', { name: 'fetch', message: throughOutbound }],
      },
    },
    {
      files: ['{acp,client,web}/src/**/*.{ts,tsx}'],
      excludeFiles: ['**/*.spec.*'],
      rules: { 'plinth/plain-words': 'error' },
    },
    {
      files: ['src/**/*.repository.ts', 'src/platform/database/**/*.ts'],
      rules: { 'plinth/restricted-syntax': ['error', ...always] },
    },
    {
      files: ['src/platform/database/migrations/*.ts'],
      rules: { 'max-lines-per-function': 'off' },
    },
    {
      // The adapters themselves, and the one class through which src/model has them.
      files: ['src/provider/**/*.ts', 'src/model/model.adapters.ts'],
      excludeFiles: specs,
      rules: { 'no-restricted-imports': ['error', { paths: [...notFromNest, notFromTypeOrm] }] },
    },
    {
      files: ['src/platform/error/**/*.ts'],
      rules: { 'no-restricted-imports': ['error', { paths: notFromNest.slice(0, 1) }] },
    },
    {
      // Programs hand the environment to loadConfig; app sets TZ, which the runtime reads from nowhere else.
      files: [
        'src/main.ts',
        'src/worker.ts',
        'src/command.ts',
        'src/knowledge-import.ts',
        'src/storage-move.ts',
        'src/backup.ts',
        'src/migrate.ts',
        'src/app.ts',
        'src/platform/config/**/*.ts',
      ],
      rules: { 'no-restricted-properties': ['error', ...globalFetch] },
    },
    {
      files: ['src/main.ts', 'src/worker.ts', 'web/src/i18n/index.ts'],
      rules: { 'no-console': 'off' },
    },
    {
      files: [`{src,simulator}/**/${SHAPELESS}.ts`, `{src,simulator}/**/*.${SHAPELESS}.ts`],
      rules: {
        'plinth/restricted-syntax': [
          'error',
          { selector: 'Program', message: 'Name the file for what it holds.' },
        ],
      },
    },
    { files: specs, rules: { 'max-lines-per-function': 'off' } },
    { files: ['test/bench/**/*.ts'], rules: { 'no-console': 'off' } },
    {
      // A component is its markup, which reads from top to bottom.
      files: ['web/**/*.{ts,tsx}'],
      rules: { 'max-lines-per-function': 'off' },
    },
  ],
});
