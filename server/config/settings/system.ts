import { z } from 'zod'
import { availableLocales } from '../../../routers/ports/locales.ts'

/** Settings of the AI user, languages and frontend migrations. */
export const systemShape = {
  SVC_NAME: z.string().max(120).default('svc').describe('Display name of the AI user, fixed when the database is made'),
  SVC_USERNAME: z
    .string()
    .max(120)
    .toLowerCase()
    .default('svc')
    .describe('Username of the AI user, fixed when the database is made'),
  SVC_AVATAR: z
    .string()
    .optional()
    .describe(
      'Image file of the AI user, taken when the database is made; later `update-avatar` replaces it; a built-in one when absent',
    ),
  APP_LOCALE: z
    .enum(availableLocales)
    .default('en_US')
    .describe('Language for callers who ask for none of the available ones'),
  LABELS_DIR: z
    .string()
    .optional()
    .describe('Folder with files such as `de_DE.json`, whose texts replace the built-in ones'),
  FRONTEND_MIGRATIONS: z.string().optional().describe('Folder with the files of frontend migrations'),
}
