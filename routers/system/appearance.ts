import { z } from 'zod'
import { browserProcedure, router } from '../core/trpc.ts'
import { schemes } from '../ports/session.ts'

export const appearanceRouter = router({
  /** Chosen for this browser, whoever uses it; `system` follows what the browser says. */
  change: browserProcedure.input(z.strictObject({ scheme: z.enum(schemes) })).mutation(({ ctx, input: { scheme } }) => {
    ctx.browser.setScheme(scheme)
    return { scheme }
  }),
})
