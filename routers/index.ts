import { aiRouter } from './ai/ask.ts'
import { usageRouter } from './ai/usage.ts'
import { aiModelDescriptions, aiModelDescriptionsRouter } from './catalogue/ai-model-descriptions.ts'
import { aiModelFlags, aiModelFlagsRouter } from './catalogue/ai-model-flags.ts'
import { aiModels, aiModelsRouter } from './catalogue/ai-models.ts'
import { aiProviders, aiProvidersRouter } from './catalogue/ai-providers.ts'
import { aiToolCapabilities, aiToolCapabilitiesRouter } from './catalogue/ai-tool-capabilities.ts'
import { aiTools, aiToolsRouter } from './catalogue/ai-tools.ts'
import { modelsRouter } from './catalogue/catalogue-admin.ts'
import { mcpServers, mcpServersRouter } from './catalogue/mcp-servers.ts'
import { systemModels, systemModelsRouter } from './catalogue/system-models.ts'
import { systemPrompts, systemPromptsRouter } from './catalogue/system-prompts.ts'
import { createCallerFactory, router } from './core/trpc.ts'
import { pagesRouter } from './identity/page-visits.ts'
import { passkeyRouter } from './identity/passkey.ts'
import { passwordRouter } from './identity/password.ts'
import { registrationRouter } from './identity/registration.ts'
import { sessionsRouter } from './identity/sign-in.ts'
import { tokensRouter } from './identity/tokens.ts'
import { adminRouter } from './identity/user-admin.ts'
import { userKeychainValues, userKeychainValuesRouter } from './identity/user-keychain-values.ts'
import { users, usersRouter } from './identity/users.ts'
import type { Resource } from './resource/declare.ts'
import { configs, configsRouter } from './system/configs.ts'
import { connections, connectionsRouter } from './system/connections.ts'
import { migrations, migrationsRouter } from './system/frontend-migrations.ts'
import { healthRouter } from './system/health.ts'
import { languageRouter } from './system/language.ts'
import { translationLabels, translationLabelsRouter } from './system/translation-labels.ts'

export const appRouter = router({
  admin: adminRouter,
  ai: aiRouter,
  aiModelDescriptions: aiModelDescriptionsRouter,
  aiModelFlags: aiModelFlagsRouter,
  aiModels: aiModelsRouter,
  aiProviders: aiProvidersRouter,
  aiToolCapabilities: aiToolCapabilitiesRouter,
  aiTools: aiToolsRouter,
  configs: configsRouter,
  connections: connectionsRouter,
  health: healthRouter,
  language: languageRouter,
  mcpServers: mcpServersRouter,
  migrations: migrationsRouter,
  models: modelsRouter,
  pages: pagesRouter,
  passkey: passkeyRouter,
  password: passwordRouter,
  registration: registrationRouter,
  sessions: sessionsRouter,
  systemModels: systemModelsRouter,
  systemPrompts: systemPromptsRouter,
  tokens: tokensRouter,
  translationLabels: translationLabelsRouter,
  usage: usageRouter,
  userKeychainValues: userKeychainValuesRouter,
  users: usersRouter,
})

/** Every declared type. */
export const resources: readonly Resource[] = [
  aiModelDescriptions,
  aiModelFlags,
  aiModels,
  aiProviders,
  aiToolCapabilities,
  aiTools,
  configs,
  connections,
  mcpServers,
  migrations,
  systemModels,
  systemPrompts,
  translationLabels,
  userKeychainValues,
  users,
]

/** The older surfaces show people by the same declaration. */
export { users }

export type AppRouter = typeof appRouter

/** Calls procedures in process, with the context of one call. */
export const createCaller = createCallerFactory(appRouter)
export type Api = ReturnType<typeof createCaller>
