import mime from 'mime'
import manifest from '../package.json' with { type: 'json' }
import type { AttachmentQuotas, FileRules, PublicSettings, Salts, Settings } from '../routers/core/settings.ts'
import { fallbackSalt, saltSettings } from '../routers/identity/salts.ts'
import { fileTypes, plainTextExtensions, plainTextTypes } from './config/settings/file-kinds.ts'
import { findBindingSource } from './config/settings/login.ts'
import type { Env } from './config/settings.ts'
import { deriveRealtimeSecret } from './stores/vault.ts'

const readToolSettings = (env: Env): Settings['tools'] => ({
  approvalTimeout: env.AI_TOOL_APPROVAL_TIMEOUT,
  approvalLifetime: env.AI_TOOL_APPROVAL_LIFETIME,
  questionLifetime: env.AI_TOOL_QUESTION_LIFETIME,
  timeout: env.AI_TOOL_TIMEOUT,
  maxResult: env.AI_TOOL_RESULT_MAX,
  atOnce: env.AI_TOOLS_AT_ONCE,
  nativeUses: env.AI_NATIVE_TOOL_USES,
  statusCheckEvery: env.AI_STATUS_CHECK_EVERY,
  gateway: { callsAtOnce: env.MCP_CALLS_AT_ONCE, callsPerMinute: env.MCP_CALLS_PER_MINUTE },
})

/** Builds the settings that procedures may use. */
export function buildSettings(env: Env, appKey: string): Settings {
  const baseUrl = env.BASE_URL ?? `http://${env.HOST}:${env.PORT}`
  return {
    version: manifest.version,
    brand: env.BRAND,
    baseUrl,
    public: buildPublicSettings(env, appKey),
    bindingSource: findBindingSource(env),
    allowExternalCommunication: allowsTokens(env),
    allowExternalApps: env.ALLOW_EXTERNAL_APPS,
    connectRequestSeconds: env.ALLOW_EXTERNAL_APPS_CONNECT_REQUEST_TIMEOUT,
    connectionsPerMinute: env.APP_CONNECTIONS_PER_MINUTE,
    allowAccountRemoval: env.ALLOW_ACCOUNT_REMOVAL,
    allowUserTokenCreation: env.ALLOW_USER_TOKEN_CREATION ?? env.NODE_ENV === 'development',
    oauth: readOAuthSettings(env),
    usageRetentionMonths: env.RETENTION_USAGE_MONTHS,
    aiRequestsPerMinute: env.RATE_LIMIT_AI_PER_MINUTE,
    strictParameters: env.STRICT_PARAMETERS,
    servesDemo: env.NODE_ENV !== 'production',
    tools: readToolSettings(env),
    auditAddresses: env.AUDIT_ADDRESSES,
    auditRetentionMonths: env.RETENTION_AUDIT_MONTHS,
    sessionLifetime: env.SESSION_LIFETIME,
    freshSessionTime: env.FRESH_SESSION_TIME,
    maxOutputTokens: env.LIMITS_MAX_OUTPUT_TOKENS,
    maxPromptFiles: env.AI_MAX_FILES,
    unreadTimeout: env.AI_UNREAD_TIMEOUT,
    textWait: env.FILE_TEXT_WAIT,
    defaultLocale: env.APP_LOCALE,
    syncLog: env.SYNC_LOG,
    messageSize: env.ROOM_MESSAGE_MAX_SIZE,
    enforcesNewKeys: env.ROOM_REKEY === 'enforce',
    keychain: { maxEntries: env.KEYCHAIN_MAX_ENTRIES, maxBytes: env.KEYCHAIN_MAX_BYTES },
    ...readQuotas(env),
    reviewsAssistants: env.ASSISTANTS_REVIEW,
    peopleSearchesPerMinute: env.PEOPLE_SEARCHES_PER_MINUTE,
    profileChangesPerMinute: env.PROFILE_CHANGES_PER_MINUTE,
    linkPreviewsPerMinute: env.LINK_PREVIEWS_PER_MINUTE,
    ...readAiInRooms(env),
    realtime: { key: env.REVERB_APP_KEY ?? env.BRAND, secret: env.REVERB_APP_SECRET ?? deriveRealtimeSecret(appKey) },
  }
}

const allowsTokens = (env: Env) => env.ALLOW_EXTERNAL_COMMUNICATION ?? env.NODE_ENV === 'development'

const readOAuthSettings = (env: Env): Settings['oauth'] => ({
  clients: allowsTokens(env) ? (env.OAUTH_CLIENTS ?? (env.NODE_ENV === 'development' ? 'any' : 'off')) : 'off',
  clientHosts: env.OAUTH_CLIENT_HOSTS,
  abilities: env.OAUTH_ABILITIES,
  accessLifetime: env.OAUTH_ACCESS_LIFETIME,
  grantLifetime: env.OAUTH_GRANT_LIFETIME,
  grantsPerPerson: env.OAUTH_GRANTS_PER_PERSON,
  requestsPerMinute: env.OAUTH_REQUESTS_PER_MINUTE,
  redirects: env.OAUTH_REDIRECTS,
})

const readQuotas = (
  env: Env,
): Pick<Settings, 'rooms' | 'conversations' | 'attachments' | 'knowledge' | 'sharedLinks'> => ({
  rooms: readRoomQuotas(env),
  conversations: readConversationQuotas(env),
  attachments: readAttachmentQuotas(env),
  knowledge: readKnowledgeSettings(env),
  sharedLinks: readSharedLinkSettings(env),
})

const readKnowledgeSettings = (env: Env): Settings['knowledge'] => ({
  bytesPerPerson: env.KNOWLEDGE_QUOTA,
  filesPerPerson: env.KNOWLEDGE_QUOTA_FILES,
  charactersPerFile: env.FILE_TEXT_MAX_CHARACTERS,
  embedding:
    env.KNOWLEDGE_EMBEDDING_MODEL === undefined
      ? undefined
      : { model: env.KNOWLEDGE_EMBEDDING_MODEL, dimensions: env.KNOWLEDGE_EMBEDDING_DIMENSIONS ?? null },
  wordsWeight: env.KNOWLEDGE_WORDS_WEIGHT,
})

const readRoomQuotas = (env: Env): Settings['rooms'] => ({
  perPerson: env.ROOMS_PER_PERSON,
  members: env.ROOM_MAX_MEMBERS,
  disclosures: env.ROOM_DISCLOSURES,
  disclosureMonths: env.RETENTION_DISCLOSURES_MONTHS,
  invitations: env.ROOM_MAX_INVITATIONS,
  invitationLifetime: env.ROOM_INVITATION_LIFETIME,
})

const readConversationQuotas = (env: Env): Settings['conversations'] => ({
  perPerson: env.CONVERSATIONS_PER_PERSON,
  messages: env.CONVERSATION_MAX_MESSAGES,
  messageSize: env.CONVERSATION_MESSAGE_MAX_SIZE,
  bytesPerPerson: env.CONVERSATION_QUOTA,
})

const readAttachmentQuotas = (env: Env): AttachmentQuotas => ({
  perMessage: env.MAX_ATTACHMENT_FILES,
  bytesPerPerson: env.ATTACHMENT_QUOTA,
  perPerson: env.ATTACHMENT_QUOTA_FILES,
  retentionMonths: env.RETENTION_FILES_MONTHS,
  uploadTimeout: env.UPLOAD_TIMEOUT,
})

const readSharedLinkSettings = (env: Env): Settings['sharedLinks'] => ({
  readers: env.SHARED_LINKS,
  groups: env.SHARED_LINKS_GROUPS,
  openGroups: env.OPEN_LINKS_GROUPS,
  maxDays: env.SHARED_LINKS_MAX_DAYS,
  maxBytes: env.SHARED_LINK_MAX_SIZE,
  bytesPerPerson: env.SHARED_LINKS_QUOTA,
  perPerson: env.SHARED_LINKS_PER_PERSON,
})

const readAiInRooms = (env: Env): Pick<Settings, 'aiHandle' | 'allowProgramsInRooms'> => ({
  aiHandle: `@${env.AI_MENTION_HANDLE ?? (toHandle(env.SITE_NAME ?? '') || env.BRAND)}`,
  allowProgramsInRooms: env.ALLOW_EXTERNAL_APPS_GROUPS_AI,
})

/** Makes a handle of a name: `uni-chat` of «Uni Chat». */
const toHandle = (name: string) =>
  name
    .normalize('NFKD')
    .replace(/\p{M}+/gu, '')
    .replaceAll('ß', 'ss')
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, '-')
    .replace(/^-|-$/g, '')

const pictureTypes = ['image/png', 'image/jpeg', 'image/webp', 'image/gif', 'image/avif']

/** Selects the settings that front ends may read. */
function buildPublicSettings(env: Env, appKey: string): PublicSettings {
  return {
    salts: deriveSalts(env, appKey),
    passkey: readPasskeyRules(env),
    avatars: toFileRules(env.MAX_AVATAR_FILE_SIZE, pictureTypes),
    files: readFileRules(env),
  }
}

/** Another front end, which reads members in snake case, opens keychains by the reference. */
function readPasskeyRules(env: Env): PublicSettings['passkey'] {
  const keychainForm = env.KEYCHAIN_FORM ?? (env.JSONAPI_MEMBER_CASE === 'snake' ? 'reference' : 'salted')
  return {
    allowPaste: env.APP_SECURITY_PASSKEY_ALLOW_PASTE,
    restrictCharacters: env.APP_SECURITY_PASSKEY_CHAR_LIMITATION ?? keychainForm === 'reference',
    keychainForm,
  }
}

function toFileRules(maxFileSize: number, allowedMimeTypes: readonly string[]): FileRules {
  const extensions = allowedMimeTypes.flatMap((type) => [...(mime.getAllExtensions(type) ?? [])])
  return { maxFileSize, allowedMimeTypes, allowedExtensions: [...new Set(extensions)] }
}

function deriveSalts(env: Env, appKey: string): Salts {
  const names = Object.entries(saltSettings)
  return Object.fromEntries(
    names.map(([name, setting]) => [name, env[setting] ?? fallbackSalt(appKey, setting)]),
  ) as unknown as Salts
}

/** Reads the rules for files of messages. */
function readFileRules({ MAX_FILE_SIZE: maxFileSize, ALLOWED_FILE_MIME_TYPES: allowedOnly }: Env): FileRules {
  const allowed = allowedOnly.length > 0 ? allowedOnly.map(toDetectableType) : fileTypes
  const allowsText = allowed.includes('text/plain')
  const extensions = allowed.flatMap((kind) => [...(mime.getAllExtensions(kind) ?? [])])
  return {
    maxFileSize,
    allowedMimeTypes: [...new Set([...allowed, ...(allowsText ? plainTextTypes : [])])],
    allowedExtensions: [...new Set([...extensions, ...(allowsText ? plainTextExtensions : [])])],
  }
}

/** Maps the plain text types to `text/plain`, because the bytes of a file do not tell them apart. */
const toDetectableType = (kind: string) => (plainTextTypes.includes(kind) ? 'text/plain' : kind)
