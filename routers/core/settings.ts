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
  /** Of this service. */
  version: string
  /** The word by which front ends know this service: in addresses, cookies, ids and titles. */
  brand: string
  baseUrl: string
  /** The login source whose sign-ins bind people who are bound to none, by their username. */
  bindingSource: LoginSourceName | undefined
  allowExternalCommunication: boolean
  allowExternalApps: boolean
  allowUserTokenCreation: boolean
  /** Whether programs may have a model answer in rooms. */
  allowProgramsInRooms: boolean
  /** What calls the AI user in a text, with its `@`. */
  aiHandle: string
  aiRequestsPerMinute: number
  /** Whether requests of programs of other APIs are refused for members that are not known. */
  strictParameters: boolean
  /** Whether the demo provider answers. */
  servesDemo: boolean
  tools: ToolSettings
  /** For how many whole months calls are kept one by one; for ever where absent. */
  usageRetentionMonths: number | undefined
  /** How much of the address of a caller the audit log keeps. */
  auditAddresses: 'full' | 'network' | 'none'
  /** After how many months entries of the audit log are removed. */
  auditRetentionMonths: number
  /** Of a session after its last use, in milliseconds. */
  sessionLifetime: number
  /** For how long after a sign-in a session may do what takes a fresh one, in milliseconds. */
  freshSessionTime: number
  /** What an answer is held for at most, in tokens, where its model says nothing less. */
  maxOutputTokens: number
  /** Of all files of an AI request together, in bytes. */
  maxPromptFiles: number
  /** How long an AI request waits for the text of a file that is still being read, in milliseconds. */
  textWait: number
  defaultLocale: string
  /** Whether the answer of a mutation tells the positions that it wrote to the change log. */
  syncLog: boolean
  /** Largest content of a message in a room, in characters of its ciphertext. */
  messageSize: number
  /** Whether messages that are encrypted with an earlier key of their room are refused. */
  enforcesNewKeys: boolean
  keychain: KeychainQuota
  rooms: RoomQuotas
  conversations: ConversationQuotas
  attachments: AttachmentQuotas
  peopleSearchesPerMinute: number
  /** For how long a connect request of an app can be answered, in seconds. */
  connectRequestSeconds: number
  connectionsPerMinute: number
  profileChangesPerMinute: number
  linkPreviewsPerMinute: number
  realtime: RealtimeKeys
  public: PublicSettings
}

interface ToolSettings {
  /** How long a call waits for the person to allow it, in milliseconds. */
  approvalTimeout: number
  /** How long one that was given for a conversation holds, in milliseconds. */
  approvalLifetime: number
  /** How long a question by which an answer ended can be answered, in milliseconds. */
  questionLifetime: number
  /** How long one may run, in milliseconds, where its server has no time of its own. */
  timeout: number
  /** The largest result, in bytes. */
  maxResult: number
  /** How many one answer calls at the same time. */
  atOnce: number
  /** How often each tool that a provider runs itself may run for one request to it. */
  nativeUses: number
  /** How often models and tool servers are asked whether they answer, in milliseconds. */
  statusCheckEvery: number
}

/** Where clients of the Pusher protocol connect, behind the path of the base URL. */
export const SOCKET_PATH = '/ws/transfer'

/** Where the JSON:API begins, behind the path of the base URL. */
export const apiPath = (brand: string) => `/api/${brand}/v1`

/** By what clients of the Pusher protocol are known. */
export interface RealtimeKeys {
  /** Public: it stands in the address. */
  key: string
  /** Signs who may subscribe to what. */
  secret: string
}

export interface RoomQuotas {
  /** In how many rooms a person may be. */
  perPerson: number
  /** How many members a room may have, the AI user included. */
  members: number
  /** How many records of what was disclosed to models a room keeps. */
  disclosures: number
  /** For how many months it keeps them; as long as itself where absent. */
  disclosureMonths: number | undefined
  /** How many invitations to a room may wait for an answer. */
  invitations: number
  /** In milliseconds. */
  invitationLifetime: number
}

export interface ConversationQuotas {
  perPerson: number
  /** Of one conversation. */
  messages: number
  /** In characters of its ciphertext. */
  messageSize: number
  /** Of all conversations of a person, without their files. */
  bytesPerPerson: number
}

export interface AttachmentQuotas {
  /** How many a message may have. */
  perMessage: number
  /** How many bytes a person may keep. */
  bytesPerPerson: number
  /** How many a person may keep. */
  perPerson: number
  /** After how many months one is deleted; never where absent. */
  retentionMonths: number | undefined
  /** In milliseconds. */
  uploadTimeout: number
}

/** How large a person's keychain may be. */
export interface KeychainQuota {
  maxEntries: number
  /** Of all keys and values. */
  maxBytes: number
}

/** The five salts of the browser's cryptography. */
export interface Salts {
  userdata: string
  invitation: string
  ai: string
  passkey: string
  backup: string
}

/** What the front end may know of how the service is set up. */
export interface PublicSettings {
  salts: Salts
  passkey: { allowPaste: boolean; restrictCharacters: boolean }
  avatars: FileRules
  files: FileRules
}

export interface FileRules {
  /** In bytes. */
  maxFileSize: number
  allowedMimeTypes: readonly string[]
  /** Of those kinds, without a dot. */
  allowedExtensions: readonly string[]
}
