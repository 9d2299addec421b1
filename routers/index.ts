import type { AnyTRPCProcedure, AnyTRPCRouter } from '@trpc/server'
import { aiRouter } from './ai/ai-router.ts'
import { explainRouter } from './ai/explain-model.ts'
import { limitsRouter } from './ai/limits/limits.ts'
import { usageRouter } from './ai/usage.ts'
import { consentPageRouter } from './apps/consent-page.ts'
import { extAppsRouter } from './apps/ext-apps.ts'
import { keychainRouter } from './apps/keychain-form.ts'
import { assistantTypesRouter } from './assistants/assistant-types-router.ts'
import { assistantsRouter } from './assistants/assistants-router.ts'
import { knowledgeRouter } from './assistants/knowledge/knowledge-router.ts'
import { aiModelDescriptionsRouter } from './catalogue/ai-model-descriptions.ts'
import { aiModelFlagsRouter } from './catalogue/ai-model-flags.ts'
import { aiModelsRouter } from './catalogue/ai-models.ts'
import { aiProvidersRouter } from './catalogue/ai-providers.ts'
import { modelsRouter } from './catalogue/catalogue-admin.ts'
import { pricesRouter } from './catalogue/prices.ts'
import { systemModelsRouter } from './catalogue/system-models.ts'
import { systemPromptsRouter } from './catalogue/system-prompts.ts'
import { aiToolCapabilitiesRouter } from './catalogue/tools/ai-tool-capabilities.ts'
import { aiToolsRouter } from './catalogue/tools/ai-tools.ts'
import { mcpRouter } from './catalogue/tools/mcp-admin.ts'
import { mcpServersRouter } from './catalogue/tools/mcp-servers.ts'
import { toolAccountsRouter } from './catalogue/tools/tool-accounts.ts'
import { createCallerFactory, mergeRouters, metaOf, router } from './core/trpc.ts'
import { accountInvitationsRouter } from './identity/account-invitations.ts'
import { pagesRouter } from './identity/page-visits.ts'
import { passkeyRouter } from './identity/passkey.ts'
import { passwordRouter } from './identity/password.ts'
import { personExportsRouter } from './identity/person-exports.ts'
import { registrationRouter } from './identity/registration.ts'
import { ownAccountRouter } from './identity/sessions/own-account.ts'
import { sessionsRouter } from './identity/sessions/sign-in.ts'
import { tokensRouter } from './identity/tokens.ts'
import { adminRouter } from './identity/user-admin.ts'
import { userKeychainValuesRouter } from './identity/user-keychain-values.ts'
import { users } from './identity/users.ts'
import { usersRouter } from './identity/users-router.ts'
import { mcpGatewayRouter } from './mcp/gateway.ts'
import { oauthRouter } from './oauth/oauth-router.ts'
import type { Resource } from './resource/declare.ts'
import { roomAiRouter } from './rooms/ai/room-ai.ts'
import { attachmentsRouter } from './rooms/attachments/attachments-router.ts'
import { filesRouter } from './rooms/attachments/files-router.ts'
import { conversationsRouter } from './rooms/conversations/conversations-router.ts'
import { sharedLinksRouter } from './rooms/conversations/shared-links-router.ts'
import { roomMembersRouter } from './rooms/members/room-members-router.ts'
import { promptsRouter } from './rooms/prompts.ts'
import { changeLogRouter, realtimeRouter } from './rooms/realtime.ts'
import { roomKeysRouter } from './rooms/room-keys.ts'
import { roomMessagesRouter } from './rooms/room-messages-router.ts'
import { roomReactionsRouter } from './rooms/room-reactions.ts'
import { roomsRouter } from './rooms/rooms-router.ts'
import { announcementsRouter } from './system/announcements.ts'
import { auditRouter } from './system/audit.ts'
import { appearanceRouter, languageRouter } from './system/browser-settings.ts'
import { configsRouter } from './system/configs.ts'
import { connectionsRouter } from './system/connections.ts'
import { migrationsRouter } from './system/frontend-migrations.ts'
import { healthRouter } from './system/health.ts'
import { appLogosRouter, linkPreviewsRouter } from './system/link-previews.ts'
import { backupsRouter, deprecationsRouter, metricsRouter, settingsRouter } from './system/operations.ts'
import { overviewRouter } from './system/overview.ts'
import { translationLabelsRouter } from './system/translation-labels.ts'

export const appRouter = router({
  accountInvitations: accountInvitationsRouter,
  admin: adminRouter,
  ai: aiRouter,
  aiModelDescriptions: aiModelDescriptionsRouter,
  aiModelFlags: aiModelFlagsRouter,
  aiModels: aiModelsRouter,
  aiProviders: aiProvidersRouter,
  aiToolCapabilities: aiToolCapabilitiesRouter,
  aiTools: aiToolsRouter,
  announcements: announcementsRouter,
  appLogos: appLogosRouter,
  appearance: appearanceRouter,
  assistants: assistantsRouter,
  knowledge: knowledgeRouter,
  attachments: attachmentsRouter,
  audit: auditRouter,
  backups: backupsRouter,
  changeLog: changeLogRouter,
  configs: configsRouter,
  connections: connectionsRouter,
  consentPage: consentPageRouter,
  files: filesRouter,
  conversations: conversationsRouter,
  deprecations: deprecationsRouter,
  extApps: extAppsRouter,
  health: healthRouter,
  keychain: keychainRouter,
  language: languageRouter,
  limits: limitsRouter,
  linkPreviews: linkPreviewsRouter,
  mcp: mcpRouter,
  mcpGateway: mcpGatewayRouter,
  mcpServers: mcpServersRouter,
  metrics: metricsRouter,
  migrations: migrationsRouter,
  oauth: oauthRouter,
  overview: overviewRouter,
  models: mergeRouters(modelsRouter, explainRouter),
  prices: pricesRouter,
  pages: pagesRouter,
  ownAccount: ownAccountRouter,
  passkey: passkeyRouter,
  password: passwordRouter,
  personExports: personExportsRouter,
  realtime: realtimeRouter,
  registration: registrationRouter,
  roomKeys: roomKeysRouter,
  roomMembers: roomMembersRouter,
  roomMessages: roomMessagesRouter,
  roomReactions: roomReactionsRouter,
  rooms: mergeRouters(roomsRouter, roomAiRouter),
  sessions: sessionsRouter,
  settings: settingsRouter,
  sharedLinks: sharedLinksRouter,
  systemModels: systemModelsRouter,
  prompts: promptsRouter,
  systemPrompts: systemPromptsRouter,
  tokens: tokensRouter,
  toolAccounts: toolAccountsRouter,
  translationLabels: translationLabelsRouter,
  usage: usageRouter,
  userKeychainValues: userKeychainValuesRouter,
  users: usersRouter,
})

/** Every declared type, as the procedures expose them. */
export const resources: readonly Resource[] = listResources(appRouter)
const assistantResources = listResources(assistantTypesRouter)

function listResources({ _def }: AnyTRPCRouter): Resource[] {
  const procedures: AnyTRPCProcedure[] = Object.values(_def.procedures as object)
  return [...new Set(procedures.flatMap((procedure) => metaOf(procedure).exposes?.resource ?? []))]
}

/** The procedures and types of JSON:API. Those of assistants are there only if a setting says so. */
export const selectJsonApi = (hasAssistants: boolean): { router: AnyTRPCRouter; resources: readonly Resource[] } =>
  hasAssistants
    ? { router: mergeRouters(appRouter, assistantTypesRouter), resources: [...resources, ...assistantResources] }
    : { router: appRouter, resources }

/** The older surfaces show people by the same declaration. */
export { users }

export type AppRouter = typeof appRouter

/** Calls procedures in process, with the context of one call. */
export const createCaller = createCallerFactory(appRouter)
export type Api = ReturnType<typeof createCaller>
