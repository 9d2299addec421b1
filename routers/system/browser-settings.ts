import { z } from 'zod'
import { Problem } from '../core/problems.ts'
import { browserProcedure, router } from '../core/trpc.ts'
import { localPath } from '../identity/local-path.ts'
import { matchLocale } from '../ports/locales.ts'
import { schemes } from '../ports/session.ts'

export const appearanceRouter = router({
  /** Sets the colour scheme of this browser for all its users; `system` follows the browser's preference. */
  change: browserProcedure.input(z.strictObject({ scheme: z.enum(schemes) })).mutation(({ ctx, input: { scheme } }) => {
    ctx.browser.setScheme(scheme)
    return { scheme }
  }),
})

export const languageRouter = router({
  /** Sets the language of this browser for all its users, in the session and beyond it. Returns where a form goes on. */
  change: browserProcedure
    .input(z.strictObject({ inputLang: z.string().length(5, 'must have 5 characters'), redirectUri: localPath() }))
    .mutation(async ({ ctx, input }) => {
      const locale = matchLocale(input.inputLang)
      if (!locale) throw new Problem('unknown_language')
      await ctx.browser.setLocale(locale)
      return { locale, redirectUri: input.redirectUri ?? '/' }
    }),
})
