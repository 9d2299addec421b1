/** What the sealed columns are sealed for. */
export const API_KEY = 'ai_providers.api_key'
export const FURTHER_API_KEY = 'provider_servers.api_key'
export const SERVER_KEY = 'mcp_servers.api_key'
export const SERVER_CONFIG = 'mcp_servers.additional_config'
export const FILE_KEY = 'files.key'
export const AUDIT_ANCHOR = 'audit_heads.hash'
export const USERDATA = 'frontend_migration_userdata.data'

/** Seals secrets with the application key. The purpose is bound in: what was sealed for one opens for no other. */
export interface Vault {
  seal(plain: string, purpose: string): string
  /** Throws where the key is not known or the text was changed. */
  open(sealed: string, purpose: string): string
  /** The text sealed with the current key, or as it is where it already was or cannot be opened. */
  renew(sealed: string, purpose: string): string
}
