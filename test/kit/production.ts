import { saltSettings } from '../../routers/identity/salts.ts'

const key = 'q8Zt3vLr0XwYb5Nc7HdJf2KgMs9PaEuT4iVo6'

/** Settings that production requires beside a database and models, and that let a test start and stop quickly. */
export const productionSettings = {
  NODE_ENV: 'production',
  APP_KEY: key,
  ...Object.fromEntries(Object.values(saltSettings).map((name) => [name, `${key} ${name}`])),
  ALLOW_EXTERNAL_COMMUNICATION: 'true',
  DRAIN_DELAY: '0',
}
