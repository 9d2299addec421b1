import { adminRouter } from './admin.ts'
import { aiRouter } from './ai.ts'
import { healthRouter } from './health.ts'
import { modelsRouter } from './models.ts'
import { tokensRouter } from './tokens.ts'
import { createCallerFactory, router } from './trpc.ts'
import { usageRouter } from './usage.ts'
import { usersRouter } from './users.ts'

export const appRouter = router({
  admin: adminRouter,
  ai: aiRouter,
  health: healthRouter,
  models: modelsRouter,
  tokens: tokensRouter,
  usage: usageRouter,
  users: usersRouter,
})

export type AppRouter = typeof appRouter

/** Calls procedures in process, with the context of one call. */
export const createCaller = createCallerFactory(appRouter)
export type Api = ReturnType<typeof createCaller>
