import type { Ability } from '../../entities/identity/access-token.ts'
import type { LoginSourceName } from '../../entities/identity/user.ts'

/** A setting as administrators see it, as `.env` would have it. */
export interface SettingValue {
  name: string
  type: string
  default: string
  meaning: string
  secret: boolean
  /** Masked where it is a secret. */
  value: string
  /** The value was given where the service was started. */
  isSet: boolean
}

/** The part of the settings that rules depend on. */
export interface Settings {
  /** Version of this service. */
  version: string
  /** The name of this service in addresses, cookies, ids and titles. */
  brand: string
  baseUrl: string
  /** The login source whose sign-ins bind unbound people by their username. */
  bindingSource: LoginSourceName | undefined
  allowExternalCommunication: boolean
  allowExternalApps: boolean
  /** True if people may remove their own accounts. */
  allowAccountRemoval: boolean
  allowUserTokenCreation: boolean
  oauth: OAuthSettings
  /** True if programs may have a model answer in rooms. */
  allowProgramsInRooms: boolean
  /** The mention that calls the AI user, with its `@`. */
  aiHandle: string
  aiRequestsPerMinute: number
  /** True if unknown members in requests of other APIs are refused. */
  strictParameters: boolean
  /** True if the demo provider is enabled. */
  servesDemo: boolean
  tools: ToolSettings
  /** Whole months for which single calls are kept; forever if absent. */
  usageRetentionMonths: number | undefined
  /** Precision with which the audit log keeps addresses of callers. */
  auditAddresses: 'full' | 'network' | 'none'
  /** Months after which audit entries are removed. */
  auditRetentionMonths: number
  /** Milliseconds until an unused session expires. */
  sessionLifetime: number
  /** Milliseconds after a sign-in for which a session counts as fresh. */
  freshSessionTime: number
  /** Largest number of output tokens reserved for an answer, if its model has no smaller limit. */
  maxOutputTokens: number
  /** Bytes of all files of an AI request together. */
  maxPromptFiles: number
  /** Milliseconds that a streamed answer waits for a client that reads nothing. */
  unreadTimeout: number
  /** Milliseconds that an AI request waits for the text of a file that is still being read. */
  textWait: number
  defaultLocale: string
  /** True if responses of mutations contain the positions they wrote to the change log. */
  syncLog: boolean
  /** Largest content of a message in a room, in characters of its ciphertext. */
  messageSize: number
  /** True if messages encrypted with an earlier key of their room are refused. */
  enforcesNewKeys: boolean
  keychain: KeychainQuota
  rooms: RoomQuotas
  conversations: ConversationQuotas
  attachments: AttachmentQuotas
  knowledge: KnowledgeSettings
  /** True if an assistant for all answers only by versions that an administrator has approved. */
  reviewsAssistants: boolean
  sharedLinks: SharedLinkSettings
  peopleSearchesPerMinute: number
  /** Seconds in which a connect request of an app can be answered. */
  connectRequestSeconds: number
  connectionsPerMinute: number
  profileChangesPerMinute: number
  linkPreviewsPerMinute: number
  realtime: RealtimeKeys
  public: PublicSettings
}

/** Programs that people may sign in; each value includes those before it. */
export const clientPolicies = ['off', 'registered', 'documents', 'any'] as const

/** The sign-in of programs. All times are in milliseconds. */
interface OAuthSettings {
  /** `off` also if access tokens are not allowed at all. */
  clients: (typeof clientPolicies)[number]
  /** Hosts whose client documents are accepted; `*` stands for all public ones. */
  clientHosts: readonly string[]
  /** Abilities that people can give to programs. */
  abilities: readonly Ability[]
  accessLifetime: number
  /** Time after the last refresh in which a grant ends. */
  grantLifetime: number
  grantsPerPerson: number
  /** Requests of programs per minute and network address: for tokens, registrations and revocations. */
  requestsPerMinute: number
  /** Redirect addresses of private schemes that are accepted. */
  redirects: readonly string[]
}

interface ToolSettings {
  /** Milliseconds that a call waits for approval. */
  approvalTimeout: number
  /** Milliseconds for which an approval for a conversation is valid. */
  approvalLifetime: number
  /** Milliseconds for which an approval request that ended an answer can be answered. */
  questionLifetime: number
  /** Milliseconds that a call may run, if its server has no timeout of its own. */
  timeout: number
  /** Largest result, in bytes. */
  maxResult: number
  /** Number of concurrent tool calls of one answer. */
  atOnce: number
  /** Number of uses of each provider tool per request. */
  nativeUses: number
  /** Milliseconds between status checks of models and tool servers. */
  statusCheckEvery: number
  /** Limits of calls by programs that speak MCP, of one person on all replicas. */
  gateway: { callsAtOnce: number; callsPerMinute: number }
}

/** Path of the Pusher protocol's socket below the base URL. */
export const SOCKET_PATH = '/ws/transfer'

/** Returns the path of the JSON:API below the base URL. */
export const apiPath = (brand: string) => `/api/${brand}/v1`

/** Keys of clients of the Pusher protocol. */
export interface RealtimeKeys {
  /** Public: it stands in the address. */
  key: string
  /** Signs channel subscriptions. */
  secret: string
}

export interface RoomQuotas {
  /** Rooms per person. */
  perPerson: number
  /** Members per room, including the AI user. */
  members: number
  /** Disclosure records per room. */
  disclosures: number
  /** Months for which disclosures are kept; as long as the room if absent. */
  disclosureMonths: number | undefined
  /** Pending invitations per room. */
  invitations: number
  /** In milliseconds. */
  invitationLifetime: number
}

export interface ConversationQuotas {
  perPerson: number
  /** Messages per conversation. */
  messages: number
  /** Characters of ciphertext. */
  messageSize: number
  /** Bytes of all conversations of a person, without their files. */
  bytesPerPerson: number
}

export interface AttachmentQuotas {
  /** Attachments per message. */
  perMessage: number
  /** Bytes per person. */
  bytesPerPerson: number
  /** Attachments per person. */
  perPerson: number
  /** Months after which attachments are deleted; never if absent. */
  retentionMonths: number | undefined
  /** In milliseconds. */
  uploadTimeout: number
}

/** Limits of all knowledge of a person together, and the search in it. */
export interface KnowledgeSettings {
  bytesPerPerson: number
  filesPerPerson: number
  /** Characters that are kept of one file. */
  charactersPerFile: number
  /** The embedding model by its name in requests, with the dimensions that it is asked for; undefined for a search by words alone. */
  embedding: { model: string; dimensions: number | null } | undefined
  /** Weight of the search by words beside the search by meaning, which has 1. */
  wordsWeight: number
}

/** People who may read what links lead to, at most; each value includes those before it. */
export const linkReaders = ['off', 'people', 'everybody'] as const

/** Links to copies of conversations. */
export interface SharedLinkSettings {
  readers: (typeof linkReaders)[number]
  /** The groups whose members may share; all people if it is empty. */
  groups: readonly string[]
  /** The groups whose members may share with everybody; all if it is empty. */
  openGroups: readonly string[]
  /** Days for which a link may be valid. */
  maxDays: number
  /** Bytes of one sealed copy. */
  maxBytes: number
  /** Bytes of all sealed copies of a person. */
  bytesPerPerson: number
  perPerson: number
}

/** Size limits of a person's keychain. */
export interface KeychainQuota {
  maxEntries: number
  /** Bytes of all keys and values. */
  maxBytes: number
}

/** The forms in which browsers wrap keychains: that of the reference, or one with a salt of the person. */
export type KeychainForm = 'reference' | 'salted'

/** The five salts of the browser's cryptography. */
export interface Salts {
  userdata: string
  invitation: string
  ai: string
  passkey: string
  backup: string
}

/** The settings that the front end may know. */
export interface PublicSettings {
  salts: Salts
  passkey: { allowPaste: boolean; restrictCharacters: boolean; keychainForm: KeychainForm }
  avatars: FileRules
  files: FileRules
}

export interface FileRules {
  /** In bytes. */
  maxFileSize: number
  allowedMimeTypes: readonly string[]
  /** File extensions of these types, without a dot. */
  allowedExtensions: readonly string[]
}
