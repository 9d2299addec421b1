import { saltSettings } from '../../routers/identity/salts.ts'

const key = 'q8Zt3vLr0XwYb5Nc7HdJf2KgMs9PaEuT4iVo6'

/** What production insists on beside a database and models, and what lets a test in and out at once. */
export const productionSettings = {
  NODE_ENV: 'production',
  APP_KEY: key,
  ...Object.fromEntries(Object.values(saltSettings).map((name) => [name, `${key} ${name}`])),
  ALLOW_EXTERNAL_COMMUNICATION: 'true',
  DRAIN_DELAY: '0',
}
