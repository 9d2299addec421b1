import { adminSession, router } from '../core/trpc.ts'

export const settingsRouter = router({
  /** All settings with their value, secrets masked. They are changed where the service is started. */
  list: adminSession.query(({ ctx }) => ctx.services.listSettings()),
})
