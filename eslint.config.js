import { defineConfig, globalIgnores } from 'eslint/config';
import tseslint from 'typescript-eslint';

// The compiler's strict options, and prettier, hold the rest: here are the mistakes that only types show.
export default defineConfig(
  globalIgnores(['gen/', '.data/', 'dist/']),
  { linterOptions: { reportUnusedDisableDirectives: 'error' } },
  {
    files: ['**/*.ts'],
    extends: [tseslint.configs.recommendedTypeChecked],
    languageOptions: { parserOptions: { projectService: true } },
    rules: {
      eqeqeq: 'error',
      // async without await is how a throw becomes a rejection.
      '@typescript-eslint/require-await': 'off',
      // A promise returned from `try` without `await` rejects after its `catch` and `finally` are left.
      '@typescript-eslint/return-await': ['error', 'error-handling-correctness-only'],
      // A new state or reason must be handled wherever the others are.
      '@typescript-eslint/switch-exhaustiveness-check': 'error',
      '@typescript-eslint/consistent-type-imports': ['error', { fixStyle: 'inline-type-imports' }],
      // `import { type X }` alone leaves an import that loads the file when it runs.
      '@typescript-eslint/no-import-type-side-effects': 'error',
    },
  },
);
