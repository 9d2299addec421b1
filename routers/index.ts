import { adminRouter } from './admin.ts'
import { aiRouter } from './ai.ts'
import { aiModelDescriptions, aiModelDescriptionsRouter } from './ai-model-descriptions.ts'
import { aiModelFlags, aiModelFlagsRouter } from './ai-model-flags.ts'
import { aiModels, aiModelsRouter } from './ai-models.ts'
import { aiProviders, aiProvidersRouter } from './ai-providers.ts'
import { aiToolCapabilities, aiToolCapabilitiesRouter } from './ai-tool-capabilities.ts'
import { aiTools, aiToolsRouter } from './ai-tools.ts'
import { configs, configsRouter } from './configs.ts'
import { connections, connectionsRouter } from './connections.ts'
import { healthRouter } from './health.ts'
import { languageRouter } from './language.ts'
import { mcpServers, mcpServersRouter } from './mcp-servers.ts'
import { migrations, migrationsRouter } from './migrations.ts'
import { modelsRouter } from './models.ts'
import { passkeyRouter } from './passkey.ts'
import { passwordRouter } from './password.ts'
import { registrationRouter } from './registration.ts'
import type { Resource } from './resource.ts'
import { sessionsRouter } from './sessions.ts'
import { systemModels, systemModelsRouter } from './system-models.ts'
import { systemPrompts, systemPromptsRouter } from './system-prompts.ts'
import { tokensRouter } from './tokens.ts'
import { translationLabels, translationLabelsRouter } from './translation-labels.ts'
import { createCallerFactory, router } from './trpc.ts'
import { usageRouter } from './usage.ts'
import { userKeychainValues, userKeychainValuesRouter } from './user-keychain-values.ts'
import { users, usersRouter } from './users.ts'

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

export type AppRouter = typeof appRouter

/** Calls procedures in process, with the context of one call. */
export const createCaller = createCallerFactory(appRouter)
export type Api = ReturnType<typeof createCaller>
