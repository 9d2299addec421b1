/** Purposes of the sealed columns. */
export const API_KEY = 'ai_providers.api_key'
export const FURTHER_API_KEY = 'provider_servers.api_key'
export const SERVER_KEY = 'mcp_servers.api_key'
export const SERVER_CONFIG = 'mcp_servers.additional_config'
export const SERVER_CLIENT_SECRET = 'mcp_servers.oauth_client_secret'
export const CONNECTION_CLIENT = 'mcp_connections.client'
export const CONNECTION_TOKENS = 'mcp_connections.tokens'
/** Purpose of the requests of people who are at the authorization server of a tool server. */
export const TOOL_ACCOUNT = 'pending tool account'
export const FILE_KEY = 'files.key'
/** Purpose of the fingerprints of knowledge files. */
export const KNOWLEDGE_FINGERPRINT = 'knowledge_files.fingerprint'
export const AUDIT_ANCHOR = 'audit_heads.hash'
export const AUDIT_REMOVAL = 'audit_heads.removed_hash'
export const USERDATA = 'frontend_migration_userdata.data'
export const ASSISTANT_TEXTS = 'assistant_versions.texts'
/** Purpose of the ids of starters, which are made of their texts. */
export const ASSISTANT_STARTER = 'assistant starter'
/** Purposes of the questions whether a program may call a tool, and of those that the program itself asks. */
export const TOOL_QUESTIONS = 'tool questions'
export const TOOL_REQUEST_STATE = 'tool request state'
/** Purposes of sealed texts that leave the service and come back. */
export const OAUTH_CLIENT = 'oauth client'
export const CITATION = 'citation'
export const OAUTH_REQUEST = 'oauth request'
/** Purpose of the codes from which the tokens of programs are made. */
export const OAUTH_TOKEN = 'oauth token'

/** Seals secrets with the application key. Text sealed for one purpose cannot be opened for another. */
export interface Vault {
  seal(plain: string, purpose: string): string
  /** Throws if the key is unknown or the text was changed. */
  open(sealed: string, purpose: string): string
  /** Computes the HMAC-SHA-256 of a text under a key for the purpose: by the current key first, then by each previous one. */
  computeMacs(text: string, purpose: string): readonly Buffer[]
  /** Seals the text with the current key; returns it unchanged if it already is, or cannot be opened. */
  renew(sealed: string, purpose: string): string
}
